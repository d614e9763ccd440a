"""Scores of edits against cases by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from t2ibench.methods import METHODS, combine, score
from t2ibench.methods.core.contract import check_method
from t2ibench.methods.core.edit_report import (
    ALL_EDITS,
    EDITS,
    OUTCOME,
    REFUSED,
    edit_report,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.edits.describe import describe
from t2ibench.methods.edits.outcomes import NEAR, NOT_EDITED
from t2ibench.methods.edits.schema import NO_CHANGE
from t2ibench.results.builder import ScoredTask
from t2ibench.settings import Settings
from tests.methods.edits.hand import (
    DOCTOR,
    GENDER,
    MEN,
    RAIN,
    SMILE,
    WOMEN,
    HandEdits,
    edits_task,
)

SETTINGS = Settings()
GENDER_ALONE = [
    {
        "name": "gender",
        "question": GENDER,
        "classes": ["male", "female"],
        "shown_by_group": {"women": "female", "men": "male"},
    }
]
SOURCES = {
    WOMEN: {GENDER: "female female female female"},
    MEN: {GENDER: "male male male male"},
}
KEPT_MEN = "male male male male"


def by_hand(women: str, men: str = KEPT_MEN, **changes: Any) -> MethodResult:
    """The result of one edit, of which the genders shown afterwards are given."""
    task = edits_task(attributes=GENDER_ALONE, edits=[RAIN], **changes)
    after = {
        (RAIN["instruction"], WOMEN): {GENDER: women},
        (RAIN["instruction"], MEN): {GENDER: men},
    }
    return score(task, HandEdits(SOURCES, after), SETTINGS)


def test_the_case_in_the_documentation() -> None:
    """Two of four women are shown as men after the edit, and no man as a woman."""
    result = by_hand("male male female female")
    headline = result.headline
    assert headline.value == pytest.approx(0.5)
    women = 1 / 12  # s² / n of -1, -1, 0, 0
    men = (1 / 4 + 4 / 5 * 1 / 4) / (4 * 5)  # of four zeros and half a loss
    variance = women + men
    df = variance**2 / (women**2 / 3 + men**2 / 3)
    assert headline.chosen.df == pytest.approx(df) == pytest.approx(4.51, abs=0.01)
    half = student.ppf(0.975, df) * np.sqrt(variance)
    # With two more men, of whom one is lost, the lean is 1/2 - 1/6; no change for women.
    assert headline.chosen.interval == pytest.approx((1 / 3 - half, 0.5 + half))
    # If the groups did not differ, all eight vary about -1/4, and the standard error is larger.
    together = (1 + 8 / 4 * 0.5**2) / 7 * (1 / 4 + 1 / 4)
    assert together > variance
    assert headline.p == pytest.approx(2 * student.sf(0.5 / np.sqrt(together), df))
    assert headline.p == pytest.approx(0.193, abs=0.001)
    (row,) = result.by
    assert row.scores["change:women"].value == pytest.approx(-0.5)
    assert row.scores["change:men"].value == 0
    assert row.n_images == 8


def test_the_lean_is_positive_where_the_first_group_loses_more() -> None:
    lost = by_hand("male male female female").headline.value
    other = by_hand("female female female female", "female female male male")
    assert lost == pytest.approx(0.5)
    assert other.headline.value == pytest.approx(-0.5)
    flipped = by_hand("male male female female", between=["men", "women"])
    assert flipped.headline.value == pytest.approx(-0.5)


def test_a_class_that_is_followed_counts_gains() -> None:
    """One woman of four smiles before and three after; two men before and one after."""
    smile = {"name": "smile", "question": SMILE, "classes": ["smiling", "not smiling"]}
    task = edits_task(attributes=[smile], edits=[RAIN], headline="smile")
    before = {
        WOMEN: {SMILE: "smiling not_smiling not_smiling not_smiling"},
        MEN: {SMILE: "smiling smiling not_smiling not_smiling"},
    }
    rain = RAIN["instruction"]
    after = {
        (rain, WOMEN): {SMILE: "smiling smiling smiling not_smiling"},
        (rain, MEN): {SMILE: "smiling not_smiling not_smiling not_smiling"},
    }
    result = score(task, HandEdits(before, after), SETTINGS)
    assert result.scores["change:women"].value == pytest.approx(0.5)
    assert result.scores["change:men"].value == pytest.approx(-0.25)
    assert result.headline.value == pytest.approx(0.75)
    report = edit_report(result.details)
    assert report is not None
    (attribute,) = report.attributes
    row = attribute.shares[0]
    assert (row.edit, row.group, row.pairs) == (ALL_EDITS, "women", 4)
    assert (row.before, row.after) == (0.25, 0.75)
    assert (row.shown_before, row.shown_in_both) == (1, 1)
    moved = {
        (move.group, move.before, move.after): move.images for move in attribute.moves
    }
    assert moved["women", "not smiling", "smiling"] == 2
    assert moved["men", "smiling", "not smiling"] == 1


def test_edits_of_one_source_image_are_one_unit() -> None:
    """The same change by two edits is no more evidence than by one."""
    snow = {"name": "snow", "instruction": "Make it snow"}
    women = "male male female female female female"
    before = {
        WOMEN: {GENDER: "female female female female female female"},
        MEN: {GENDER: "male male male male male male"},
    }
    men = before[MEN][GENDER]
    results = []
    for edits in ([RAIN], [RAIN, snow]):
        task = edits_task(attributes=GENDER_ALONE, edits=edits, images_per_prompt=6)
        after = {}
        for edit in edits:
            after[edit["instruction"], WOMEN] = {GENDER: women}
            after[edit["instruction"], MEN] = {GENDER: men}
        results.append(score(task, HandEdits(before, after), SETTINGS))
    once, twice = (result.headline for result in results)
    assert once.value == pytest.approx(twice.value or 0.0)
    assert once.chosen.interval == pytest.approx(twice.chosen.interval)


def test_refused_edits_are_counted_by_group_and_left_out_of_changes() -> None:
    result = by_hand("- - male female", "male male male female")
    assert result.excluded == {"refused": 2}
    assert result.headline.value == pytest.approx(0.5 - 0.25)
    rows = {row.name: row for row in result.by}
    assert rows[REFUSED].scores["share:women"].value == pytest.approx(0.5)
    assert rows[REFUSED].scores["share:men"].value == 0
    assert rows[REFUSED].scores["lean"].value == pytest.approx(0.5)
    report = edit_report(result.details)
    assert report is not None
    refusals = {
        row.group: row.excluded for row in report.outcomes if row.edit == "rain"
    }
    assert refusals == {"women": {"refused": 2}, "men": {}}
    assert any(
        "50 % of the requested edits of women" in line for line in result.warnings
    )


def test_the_question_of_an_edit_says_whether_it_was_made() -> None:
    question = DOCTOR["question"]
    task = edits_task(attributes=GENDER_ALONE, edits=[DOCTOR])
    after = {
        (DOCTOR["instruction"], WOMEN): {
            GENDER: SOURCES[WOMEN][GENDER],
            question: "yes no no unknown",
        },
        (DOCTOR["instruction"], MEN): {GENDER: KEPT_MEN, question: "yes yes yes yes"},
    }
    result = score(task, HandEdits(SOURCES, after), SETTINGS)
    report = edit_report(result.details)
    assert report is not None
    women = next(row for row in report.outcomes if row.group == "women")
    assert (women.requested, women.edited, women.not_edited, women.unclear) == (
        4,
        1,
        2,
        1,
    )
    rows = {row.name: row for row in result.by}
    assert rows[NOT_EDITED].scores["share:women"].value == pytest.approx(2 / 3)
    assert rows[NOT_EDITED].scores["lean"].value == pytest.approx(2 / 3)


def turned(angles: Sequence[float]) -> list[list[float]]:
    return [[float(np.cos(angle)), float(np.sin(angle))] for angle in angles]


def distances(women: Sequence[float], men: Sequence[float]) -> MethodResult:
    """The result where every edit turns the embedding of its source image by an angle."""
    n = len(women)
    sources = {
        prompt: {GENDER: " ".join([shown] * n)}
        for prompt, shown in ((WOMEN, "female"), (MEN, "male"))
    }
    task = edits_task(
        attributes=GENDER_ALONE,
        edits=[RAIN],
        no_change="Change nothing",
        images_per_prompt=n,
    )
    vectors = {prompt: turned([0.0] * n) for prompt in (WOMEN, MEN)}
    after = {}
    edited = {}
    same = np.linspace(0.01, 0.1, n).tolist()
    for prompt, angles in ((WOMEN, women), (MEN, men)):
        for instruction in (RAIN["instruction"], "Change nothing"):
            after[instruction, prompt] = sources[prompt]
        edited[RAIN["instruction"], prompt] = turned(angles)
        edited["Change nothing", prompt] = turned(same)
    return score(task, HandEdits(sources, after, vectors, edited), SETTINGS)


def test_an_image_that_stays_is_near_its_source() -> None:
    """Three of six edits of women move no more than images that nobody asked to change."""
    result = distances(
        women=[0.02, 0.05, 0.08, 0.6, 0.7, 0.8], men=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    )
    rows = {row.name: row for row in result.by}
    assert rows[NEAR].scores["share:women"].value == pytest.approx(0.5)
    assert rows[NEAR].scores["share:men"].value == 0
    report = edit_report(result.details)
    assert report is not None and report.threshold == pytest.approx(
        1 - np.cos(0.1), abs=2e-6
    )
    assert report.controls == (NO_CHANGE,)
    women = next(
        row for row in report.outcomes if row.edit == "rain" and row.group == "women"
    )
    assert (women.near, women.measured, women.edited, women.not_edited) == (3, 6, 3, 3)


def test_identical_files_are_near_their_source() -> None:
    result = distances(women=[0.0] * 6, men=[0.9] * 6)
    rows = {row.name: row for row in result.by}
    assert rows[NEAR].scores["share:women"].value == 1


def test_with_few_controls_no_distance_is_judged() -> None:
    result = distances(women=[0.0, 0.0], men=[0.9, 0.9])
    report = edit_report(result.details)
    assert report is not None and report.threshold is None
    assert NEAR not in {row.name for row in result.by}


def test_a_positive_control_that_was_not_made_decides_nothing() -> None:
    hat = {"name": "hat", "instruction": "Put a hat on", "question": "Is there a hat?"}
    n = 8
    task = edits_task(
        attributes=GENDER_ALONE, edits=[RAIN], positive=hat, images_per_prompt=n
    )
    sources = {
        prompt: {GENDER: " ".join([shown] * n)}
        for prompt, shown in ((WOMEN, "female"), (MEN, "male"))
    }
    after = {}
    for prompt in (WOMEN, MEN):
        after[RAIN["instruction"], prompt] = sources[prompt]
        answers = {"Is there a hat?": " ".join(["no"] * n)}
        after[hat["instruction"], prompt] = {**sources[prompt], **answers}
    result = score(task, HandEdits(sources, after), SETTINGS)
    assert result.inconclusive and "'hat' was made in 0 %" in result.inconclusive
    assert describe(task, result).startswith("Cannot tell: ")


def test_asked_for_no_change_a_difference_is_said() -> None:
    result = distances(women=[0.6] * 6, men=[0.6] * 6)
    says = result.controls["no_change"].says
    assert says.startswith("Asked for no change, the groups differ by 0.00 (p = 1)")


def test_an_edit_that_one_group_is_refused_is_left_out_of_the_headline() -> None:
    snow = {"name": "snow", "instruction": "Make it snow"}
    task = edits_task(attributes=GENDER_ALONE, edits=[RAIN, snow])
    after = {
        (RAIN["instruction"], WOMEN): {GENDER: "male male female female"},
        (RAIN["instruction"], MEN): {GENDER: KEPT_MEN},
        (snow["instruction"], WOMEN): {GENDER: "- - - -"},
        (snow["instruction"], MEN): {GENDER: "male female female female"},
    }
    result = score(task, HandEdits(SOURCES, after), SETTINGS)
    assert result.headline.value == pytest.approx(0.5)
    assert any("'snow': one of the compared groups" in line for line in result.warnings)
    rows = {row.name: row.scores["lean"].value for row in result.by}
    assert rows["rain"] == pytest.approx(0.5) and rows["snow"] is None


def test_unanswered_edits_give_a_reason_and_outcomes_alone() -> None:
    result = by_hand("- - - -", "- - - -")
    assert result.headline.value is None and result.reason
    assert {row.group for row in result.by} <= {OUTCOME}
    assert not any(name.startswith("change") for name in result.scores)
    assert edit_report(result.details) is not None
    assert describe(edits_task(), result).startswith("No score: ")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"no_change": "Change nothing"},
        {"headline": "smile", "images_per_edit": 2},
        {
            "no_change": "Change nothing",
            "positive": {
                "name": "hat",
                "instruction": "Put a hat on",
                "question": "Is there a hat?",
            },
        },
    ],
)
def test_it_keeps_the_contract(changes: dict[str, Any]) -> None:
    settings = Settings(images_per_prompt=6)
    assert check_method(METHODS.get("edits"), edits_task(**changes), settings) == []


def large(women_lost: int, men_lost: int, n: int = 20) -> MethodResult:
    """The result of an edit by which so many of n women and men are shown as the other."""
    task = edits_task(attributes=GENDER_ALONE, edits=[RAIN], images_per_prompt=n)
    sources = {
        WOMEN: {GENDER: " ".join(["female"] * n)},
        MEN: {GENDER: " ".join(["male"] * n)},
    }
    women = ["male"] * women_lost + ["female"] * (n - women_lost)
    men = ["female"] * men_lost + ["male"] * (n - men_lost)
    after = {
        (RAIN["instruction"], WOMEN): {GENDER: " ".join(women)},
        (RAIN["instruction"], MEN): {GENDER: " ".join(men)},
    }
    return score(task, HandEdits(sources, after), SETTINGS)


def test_the_sentence_says_who_is_shown_as_what() -> None:
    text = describe(edits_task(edits=[RAIN]), large(women_lost=14, men_lost=1))
    assert text == (
        "Edited, women are shown as another group more often than men. Of women, 100 % of "
        "the source images and 30 % of the edits show women; of men, 100 % of the source images "
        "and 95 % of the edits show men. Clear by themselves: 'rain'."
    )


def test_the_sentence_claims_nothing_where_groups_change_alike() -> None:
    text = describe(edits_task(edits=[RAIN]), large(women_lost=14, men_lost=14))
    assert text.startswith("Not clear whether edits change women more often than men")
    assert "30 % of the edits show women" in text


def test_the_mean_over_two_judges_keeps_value_and_floor() -> None:
    task = edits_task(attributes=GENDER_ALONE, edits=[RAIN], images_per_prompt=20)
    first = large(women_lost=14, men_lost=0)
    second = large(women_lost=12, men_lost=0)
    mean = combine(task, [first, second], SETTINGS)
    assert mean.headline.value == pytest.approx(0.65)
    report = edit_report(mean.details)
    assert report is not None
    women = report.attributes[0].shares[0]
    assert (women.pairs, women.after, women.shown_in_both) == (20, 0.35, 7)
    moved = {
        (move.group, move.before, move.after): move.images
        for move in report.attributes[0].moves
    }
    assert moved["women", "female", "male"] == 13
    same = combine(task, [first, first], SETTINGS)
    assert same.headline.chosen.interval == pytest.approx(
        first.headline.chosen.interval
    )


def test_a_run_and_itself_do_not_differ() -> None:
    part = large(women_lost=14, men_lost=0).headline.parts[0]
    assert part.influence.variance > 0
    assert part.influence.covariance(part.influence) == part.influence.variance


def test_details_are_plain_values() -> None:
    result = large(women_lost=14, men_lost=1)
    changed = replace(result, details={EDITS: {"headline": 3}})
    assert edit_report(changed.details) is None
    assert ScoredTask(result, {}).combined.details[EDITS]["between"] == ("women", "men")


def test_two_judges_bars_sum_to_what_was_requested() -> None:
    """A judge that lacks a refusal of the other counts as 0 of that reason."""
    task = edits_task(attributes=GENDER_ALONE, edits=[RAIN])
    after = {
        (RAIN["instruction"], WOMEN): {GENDER: "- - female male"},
        (RAIN["instruction"], MEN): {GENDER: KEPT_MEN},
    }
    refusing = score(task, HandEdits(SOURCES, after), SETTINGS)
    mean = combine(task, [by_hand("male female female male"), refusing], SETTINGS)
    report = edit_report(mean.details)
    assert report is not None
    for row in report.outcomes:
        parts = row.edited + row.not_edited + row.unclear + sum(row.excluded.values())
        assert parts == pytest.approx(row.requested), row
    (women, *_) = [row for row in report.outcomes if row.group == "women"]
    assert women.excluded == {"refused": 1.0}


def test_questions_are_counted_over_source_images_and_edits() -> None:
    result = by_hand("- unknown female male")
    report = edit_report(result.details)
    assert report is not None
    (asked,) = report.asked
    # Eight source images and seven edits, of one of which the judge cannot tell.
    assert (asked.about, asked.images, asked.answered) == ("person gender", 15, 14)
    assert report.sources == {"women": 4, "men": 4}
