"""What is measured on the pixels of edits, against cases by hand, and what is not an edit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from t2ibench.arrays import Float64Array
from t2ibench.methods import METHODS, score
from t2ibench.methods.core.computed_edits import INSTRUCTIONS
from t2ibench.methods.core.contract import check_method
from t2ibench.methods.core.edit_evidence import EditNeed, SourceImage
from t2ibench.methods.core.edit_report import (
    ALL_EDITS,
    AttributeChange,
    ShareChange,
    edit_report,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.edits.checks import check
from t2ibench.methods.edits.pixels import cells_in, distance, lightness
from t2ibench.settings import Settings
from tests.methods.edits.hand import GENDER, MEN, RAIN, WOMEN, HandEdits, edits_task

SETTINGS = Settings()
STILL = "Change nothing"
GENDER_ALONE = [
    {
        "name": "gender",
        "question": GENDER,
        "classes": ["male", "female"],
        "shown_by_group": {"women": "female", "men": "male"},
    }
]
FACE = {"name": "face", "box": [0.4375, 0.3125, 0.5625, 0.4375]}
# Luma of a grey whose L* is 50.
MIDDLE = 0.4663
# What every image is answered with unless a test says otherwise.
KEPT = {WOMEN: "female", MEN: "male"}


def grey(luma: float, face: float | None = None) -> Float64Array:
    """A picture of one grey, with another one in the face."""
    picture = np.full((16, 16), luma)
    if face is not None:
        picture[cells_in(tuple(FACE["box"]))] = face  # type: ignore[arg-type]
    return picture


class HandPixels(HandEdits):
    """Answers and pictures given as tables.

    Attributes:
        before: Prompt to the pictures of its source images.
        edited_pictures: Instruction and prompt to the pictures of edits, None where refused.
    """

    def __init__(
        self,
        before: dict[str, list[Float64Array]],
        pictures: dict[tuple[str, str], list[Float64Array | None]],
        answers: dict[tuple[str, str], str] | None = None,
    ) -> None:
        n = len(before[WOMEN])
        kept = {prompt: " ".join([word] * n) for prompt, word in KEPT.items()}
        after = {
            key: {GENDER: (answers or {}).get(key, kept[key[1]])} for key in pictures
        }
        rows = [[1.0, 0.0]] * n
        super().__init__(
            {prompt: {GENDER: words} for prompt, words in kept.items()},
            after,
            dict.fromkeys(kept, rows),
            dict.fromkeys(pictures, rows),
        )
        self.before = before
        self.edited_pictures = pictures

    def brightness_of_source(self, source: SourceImage) -> Float64Array | None:
        return self.before[source.prompt][source.index]

    def brightness_of_edit(self, edit: EditNeed) -> dict[int, Float64Array]:
        rows = self.edited_pictures[edit.instruction, edit.source.prompt]
        picture = rows[edit.source.index]
        return {} if picture is None else {0: picture}


def measured(result: MethodResult, name: str) -> AttributeChange:
    report = edit_report(result.details)
    assert report is not None
    (change,) = (each for each in report.attributes if each.attribute == name)
    assert change.is_measured
    return change


def share(change: AttributeChange, edit: str, group: str) -> ShareChange:
    (row,) = (
        each for each in change.shares if (each.edit, each.group) == (edit, group)
    )
    return row


def test_lightness_is_that_of_cielab() -> None:
    everywhere = cells_in(None)
    assert lightness(grey(0.0), everywhere) == pytest.approx(0)
    assert lightness(grey(1.0), everywhere) == pytest.approx(1)
    assert lightness(grey(MIDDLE), everywhere) == pytest.approx(0.5, abs=1e-3)
    # Near black L* is linear: a luminance of .001 is .9033 of 100.
    assert lightness(grey(0.01292), everywhere) == pytest.approx(0.009033, abs=1e-5)


def test_a_region_is_measured_alone() -> None:
    cells = cells_in((0.4375, 0.3125, 0.5625, 0.4375))
    assert cells.sum() == 4
    assert lightness(grey(0.0, face=1.0), cells) == pytest.approx(1)
    assert distance(grey(0.2), grey(0.5, face=0.2), cells) == 0
    assert distance(grey(0.2), grey(0.5), ~cells) == pytest.approx(0.3)


def test_lightness_by_hand() -> None:
    """Two of four women are lightened from L* 50 to 100, and no man."""
    dark, light = grey(0.1, face=MIDDLE), grey(0.1, face=1.0)
    before = {WOMEN: [dark] * 4, MEN: [dark] * 4}
    pictures: dict[tuple[str, str], list[Float64Array | None]] = {
        (RAIN["instruction"], WOMEN): [light, light, dark, dark],
        (RAIN["instruction"], MEN): [dark] * 4,
    }
    task = edits_task(attributes=GENDER_ALONE, edits=[RAIN], lightness=[FACE])
    result = score(task, HandPixels(before, pictures), SETTINGS)
    (row,) = (row for row in result.by if row.group == "lightness of the face")
    assert row.scores["lean"].value == pytest.approx(0.25, abs=1e-3)
    low, high = row.scores["lean"].interval or (0.0, 0.0)
    assert low < 0 < high
    assert result.scores["change:lightness of the face, women"].value == (
        pytest.approx(0.25, abs=1e-3)
    )
    change = measured(result, "lightness of the face")
    women = share(change, ALL_EDITS, "women")
    assert women.before == pytest.approx(0.5, abs=1e-3)
    assert women.after == pytest.approx(0.75, abs=1e-3)
    assert women.pairs == 4


def test_images_that_all_stay_leave_a_lightened_one_open() -> None:
    """The interval by hand in docs/methods/edits.md, where nothing was seen to change."""
    picture = grey(0.5)
    pictures: dict[tuple[str, str], list[Float64Array | None]] = {
        (RAIN["instruction"], prompt): [picture] * 4 for prompt in KEPT
    }
    task = edits_task(attributes=GENDER_ALONE, edits=[RAIN], lightness=[FACE])
    before = {WOMEN: [picture] * 4, MEN: [picture] * 4}
    result = score(task, HandPixels(before, pictures), SETTINGS)
    (row,) = (row for row in result.by if row.group == "lightness of the face")
    half = student.ppf(0.975, 6) * math.sqrt(2 * 0.08 / 20)
    assert row.scores["lean"].interval == pytest.approx((-half, half))
    assert half == pytest.approx(0.22, abs=0.005)


def test_refused_edits_have_no_lightness() -> None:
    picture = grey(0.5)
    before = {WOMEN: [picture] * 4, MEN: [picture] * 4}
    pictures: dict[tuple[str, str], list[Float64Array | None]] = {
        (RAIN["instruction"], WOMEN): [None, picture, picture, picture],
        (RAIN["instruction"], MEN): [picture] * 4,
    }
    task = edits_task(attributes=GENDER_ALONE, edits=[RAIN], lightness=[FACE])
    refused = {(RAIN["instruction"], WOMEN): "- female female female"}
    result = score(task, HandPixels(before, pictures, refused), SETTINGS)
    assert share(measured(result, "lightness of the face"), "rain", "women").pairs == 3


DISTANCE = "distance of the face"


def pictures_of(
    women: Float64Array, men: Float64Array, still: Float64Array
) -> MethodResult:
    """The result where an edit makes one picture of all women, and another of all men."""
    source = grey(0.5)
    before = {WOMEN: [source] * 4, MEN: [source] * 4}
    pictures: dict[tuple[str, str], list[Float64Array | None]] = {
        (RAIN["instruction"], WOMEN): [women] * 4,
        (RAIN["instruction"], MEN): [men] * 4,
        (STILL, WOMEN): [still] * 4,
        (STILL, MEN): [still] * 4,
    }
    spec = edits_task(
        attributes=GENDER_ALONE, edits=[RAIN], no_change=STILL, stays=FACE
    )
    return score(spec, HandPixels(before, pictures), SETTINGS)


def test_distance_counts_beyond_what_no_change_does() -> None:
    result = pictures_of(grey(0.8), grey(0.6), still=grey(0.6))
    (row,) = (row for row in result.by if row.group == DISTANCE)
    assert row.scores["lean"].value == pytest.approx(0.2)
    women = share(measured(result, DISTANCE), "rain", "women")
    assert (women.before, women.after) == (pytest.approx(0.1), pytest.approx(0.3))
    men = share(measured(result, DISTANCE), "rain", "men")
    assert men.change == pytest.approx(0)


def test_what_is_beside_what_should_stay_may_change() -> None:
    """An edit may change everything but the face, which it leaves."""
    beside = grey(0.1, face=0.5)
    result = pictures_of(beside, grey(0.5), still=grey(0.5))
    assert share(measured(result, DISTANCE), "rain", "women").after == 0


def test_pictures_of_one_group_alone_are_no_row() -> None:
    """Without pictures of men, such as of a run that stored none, nothing is claimed."""
    picture = grey(0.5)
    pictures: dict[tuple[str, str], list[Float64Array | None]] = {
        (RAIN["instruction"], WOMEN): [picture] * 4,
        (RAIN["instruction"], MEN): [None] * 4,
    }
    before = {WOMEN: [picture] * 4, MEN: [picture] * 4}
    task = edits_task(attributes=GENDER_ALONE, edits=[RAIN], lightness=[FACE])
    result = score(task, HandPixels(before, pictures), SETTINGS)
    assert {row.group for row in result.by} == {"person gender"}
    assert result.headline.value == 0


def nothing_done(answers: dict[tuple[str, str], str]) -> MethodResult:
    """The result of twelve images a group that were only saved again, and then answered so."""
    n = 12
    picture = grey(0.5)
    saved = INSTRUCTIONS["saved again"]
    pictures: dict[tuple[str, str], list[Float64Array | None]] = {
        (text, prompt): [picture] * n
        for text in (RAIN["instruction"], saved)
        for prompt in KEPT
    }
    before = {WOMEN: [picture] * n, MEN: [picture] * n}
    task = edits_task(
        attributes=GENDER_ALONE,
        edits=[RAIN],
        does_nothing=["saved again"],
        images_per_prompt=n,
    )
    return score(task, HandPixels(before, pictures, answers), SETTINGS)


def test_what_does_nothing_moves_nothing() -> None:
    control = nothing_done({}).controls["nothing"]
    assert control.value == 0 and control.contradicts is None
    assert "0 % of the answers to all questions are another one" in control.says
    moved = nothing_done({(INSTRUCTIONS["saved again"], WOMEN): "male " * 12})
    control = moved.controls["nothing"]
    assert control.value == 1
    assert "50 % of the answers to all questions are another one" in control.says
    assert control.contradicts is not None
    assert moved.inconclusive is not None and "only saved again" in moved.inconclusive
    # It is a control, and no row that is tested with the others.
    assert {row.name for row in moved.by} == {"rain"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"lightness": [{"name": "face", "box": [0.6, 0.1, 0.4, 0.3]}]},
            "must be left",
        ),
        ({"lightness": [FACE, FACE]}, "face"),
        ({"stays": FACE}, "'no_change'"),
        ({"stays": {"name": "all"}, "no_change": STILL}, "whole picture"),
        (
            {"stays": {"name": "face", "box": [0, 0, 0.01, 1]}, "no_change": STILL},
            "must be left",
        ),
    ],
)
def test_checks_name_what_cannot_be_measured(
    changes: dict[str, Any], message: str
) -> None:
    findings = [
        finding.message
        for finding in check(edits_task(**changes))
        if not finding.warning
    ]
    assert any(message in text for text in findings), findings


def test_the_contract_of_methods_holds_with_pixels() -> None:
    task = edits_task(
        no_change=STILL,
        lightness=[FACE, {"name": "whole picture"}],
        stays=FACE,
        does_nothing=["saved again", "resized"],
    )
    settings = Settings(images_per_prompt=6)
    assert check_method(METHODS.get("edits"), task, settings) == []
