"""Changes corrected by people's labels of pairs, against cases by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from t2ibench.methods import score
from t2ibench.methods.core.edit_evidence import EditNeed
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.edits.describe import describe
from t2ibench.settings import Settings
from tests.methods.edits.hand import (
    GENDER,
    MEN,
    RAIN,
    WOMEN,
    HandEdits,
    edits_task,
    spoken,
)
from tests.methods.fakes import HandEvidence

NOT_LABELLED = "-"
N = 12
KEPT_WOMEN = " ".join(["female"] * N)
KEPT_MEN = " ".join(["male"] * N)
TASK = edits_task(
    attributes=[
        {
            "name": "gender",
            "question": GENDER,
            "classes": ["male", "female"],
            "shown_by_group": {"women": "female", "men": "male"},
        }
    ],
    edits=[RAIN],
    images_per_prompt=N,
)


SNOW = {"name": "snow", "instruction": "Make it snow"}
TWO_EDITS = TASK.model_copy(
    update={"edits": edits_task(edits=[RAIN, SNOW]).edits}, deep=True
)


class LabelledSources(HandEvidence):
    """Source images that a judge and people answer about."""

    def __init__(self, people: dict[str, str]) -> None:
        answers = {
            WOMEN: {GENDER: spoken(KEPT_WOMEN)},
            MEN: {GENDER: spoken(KEPT_MEN)},
        }
        super().__init__(answers=answers)
        self._people = people

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        return labelled(self._people[prompt])


class LabelledEdits(HandEdits):
    """Edits that a judge and people answer about, '-' where nobody labelled an image."""

    def __init__(
        self,
        judged: dict[tuple[str, str], str],
        before: dict[str, str],
        after: dict[tuple[str, str], str],
    ) -> None:
        tables = {key: {GENDER: words} for key, words in judged.items()}
        super().__init__({}, tables)
        self.sources = LabelledSources(before)
        self._labels = after

    def labels_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        labels = labelled(self._labels[edit.instruction, edit.source.prompt])
        index = edit.source.index
        return {0: labels[index]} if index in labels else {}


def labelled(words: str) -> dict[int, str]:
    return {
        number: word
        for number, word in enumerate(spoken(words))
        if word != NOT_LABELLED
    }


def lost(women: int, n: int = N) -> str:
    """Answers about women of whom so many are shown as men."""
    return " ".join(["male"] * women + ["female"] * (n - women))


def result(
    judged_women: str, women: str, men: str = KEPT_MEN, before: str = KEPT_WOMEN
) -> MethodResult:
    rain = RAIN["instruction"]
    evidence = LabelledEdits(
        judged={(rain, WOMEN): judged_women, (rain, MEN): KEPT_MEN},
        before={WOMEN: before, MEN: KEPT_MEN},
        after={(rain, WOMEN): women, (rain, MEN): men},
    )
    return score(TASK, evidence, Settings())


def test_labels_of_all_pairs_are_what_people_saw() -> None:
    """The judge loses nine of twelve women, and people three."""
    scored = result(lost(9), lost(3))
    assert scored.headline.value == pytest.approx(0.75)
    assert scored.scores["lean_corrected"].value == pytest.approx(0.25)
    assert scored.scores["change_corrected:women"].value == pytest.approx(-0.25)
    assert scored.scores["labelled_pairs:women"].value == N
    low, high = scored.scores["lean_corrected"].interval or (0.0, 0.0)
    assert low < 0.25 < high
    described = describe(TASK, scored)
    assert "People's labels of 12 and 12 pairs" in described
    assert "make the lean +0.25 (" in described
    assert "the headline and its test are the judge's." in described


def test_a_judge_without_errors_is_not_corrected() -> None:
    scored = result(lost(9), lost(9))
    assert scored.scores["lean_corrected"].value == pytest.approx(0.75)


def test_what_a_sample_shows_is_taken_off_all() -> None:
    """Ten of twelve pairs are labelled; of these the judge wrongly loses one."""
    women = "- - " + lost(6, n=10)
    scored = result(lost(9), women)
    # The judge loses seven of the ten.
    assert scored.scores["lean_corrected"].value == pytest.approx(0.75 - 0.1)


def test_every_edit_counts_alike_however_often_it_is_refused() -> None:
    """The judge wrongly loses all women in snow, of which two thirds were refused."""
    rain = RAIN["instruction"]
    snow = SNOW["instruction"]
    refused = " ".join([NOT_LABELLED] * 8)
    men = {(rain, MEN): KEPT_MEN, (snow, MEN): KEPT_MEN}
    of_judge = {(rain, WOMEN): KEPT_WOMEN, (snow, WOMEN): f"{refused} {lost(4, n=4)}"}
    of_people = {(rain, WOMEN): KEPT_WOMEN, (snow, WOMEN): f"{refused} {lost(0, n=4)}"}
    evidence = LabelledEdits(
        judged={**of_judge, **men},
        before={WOMEN: KEPT_WOMEN, MEN: KEPT_MEN},
        after={**of_people, **men},
    )
    scored = score(TWO_EDITS, evidence, Settings())
    assert scored.headline.value == pytest.approx(0.5)
    assert scored.scores["labelled_pairs:women"].value == N + 4
    assert scored.scores["change_corrected:women"].value == pytest.approx(0.0)
    assert scored.scores["lean_corrected"].value == pytest.approx(0.0)


def test_an_edit_that_one_group_lacks_counts_in_neither_part() -> None:
    """All women in snow were refused, and the judge wrongly loses all men in snow."""
    rain = RAIN["instruction"]
    snow = SNOW["instruction"]
    refused = " ".join([NOT_LABELLED] * N)
    evidence = LabelledEdits(
        judged={
            (rain, WOMEN): lost(3),
            (snow, WOMEN): refused,
            (rain, MEN): KEPT_MEN,
            (snow, MEN): KEPT_WOMEN,
        },
        before={WOMEN: KEPT_WOMEN, MEN: KEPT_MEN},
        after={
            (rain, WOMEN): lost(3),
            (snow, WOMEN): refused,
            (rain, MEN): KEPT_MEN,
            (snow, MEN): KEPT_MEN,
        },
    )
    scored = score(TWO_EDITS, evidence, Settings())
    assert scored.scores["labelled_pairs:men"].value == N
    assert scored.scores["lean_corrected"].value == pytest.approx(0.25)


def test_a_corrected_change_is_a_difference_of_shares() -> None:
    """The judge loses 10 of 12 women and 8 of the 10 labelled ones, people all of these."""
    women = "- - " + lost(10, n=10)
    scored = result(lost(10), women)
    change = scored.scores["change_corrected:women"]
    assert change.value == -1.0
    assert change.interval is not None and change.interval[0] == -1.0
    assert scored.scores["lean_corrected"].value == pytest.approx(1.0)


def test_a_sample_without_errors_does_not_show_that_there_are_none() -> None:
    """People agree with the judge about ten pairs, which a judge with 5 % of errors often does."""
    women = "- - " + lost(5, n=10)
    scored = result(lost(7), women)
    corrected = scored.scores["lean_corrected"]
    assert corrected.value == scored.headline.value
    low, high = corrected.interval or (0.0, 0.0)
    # With an eleventh source image about which the judge errs either way or not at all.
    inference = scored.headline.inference.by_question["fixed_prompts"]
    assert low < (inference.ci_low or 0.0)
    assert high > (inference.ci_high or 0.0) or high == 1.0


def test_pairs_that_the_judge_left_out_are_counted() -> None:
    judged = " ".join(["unknown"] * 2 + ["female"] * 10)
    scored = result(judged, lost(2))
    assert scored.scores["labelled_pairs:women"].value == 10
    assert scored.scores["labelled_pairs_left_out:women"].value == 2
    assert scored.scores["labelled_pairs_left_out:men"].value == 0


def test_pairs_count_that_are_labelled_on_both_sides() -> None:
    before = "- - - " + " ".join(["female"] * 9)
    scored = result(lost(9), lost(3), before=before)
    assert scored.scores["labelled_pairs:women"].value == 9
    assert scored.scores["lean_corrected"].value is None
    assert "at least 10" in (scored.scores["lean_corrected"].reason or "")


def test_without_labels_there_is_nothing_to_show() -> None:
    nothing = " ".join([NOT_LABELLED] * N)
    scored = result(lost(9), nothing, men=nothing)
    assert not [name for name in scored.scores if "corrected" in name]
    assert "labels" not in describe(TASK, scored)
