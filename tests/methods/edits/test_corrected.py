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
        self, judged: dict[str, str], before: dict[str, str], after: dict[str, str]
    ) -> None:
        instruction = RAIN["instruction"]
        tables = {
            (instruction, prompt): {GENDER: words} for prompt, words in judged.items()
        }
        super().__init__({}, tables)
        self.sources = LabelledSources(before)
        self._labels = after

    def labels_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        labels = labelled(self._labels[edit.source.prompt])
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
    judged = {WOMEN: judged_women, MEN: KEPT_MEN}
    evidence = LabelledEdits(
        judged, {WOMEN: before, MEN: KEPT_MEN}, {WOMEN: women, MEN: men}
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
    assert "By people's labels of pairs the lean is +0.25" in describe(TASK, scored)


def test_a_judge_without_errors_is_not_corrected() -> None:
    scored = result(lost(9), lost(9))
    assert scored.scores["lean_corrected"].value == pytest.approx(0.75)


def test_what_a_sample_shows_is_taken_off_all() -> None:
    """Ten of twelve pairs are labelled; of these the judge wrongly loses one."""
    women = "- - " + lost(6, n=10)
    scored = result(lost(9), women)
    # The judge loses seven of the ten.
    assert scored.scores["lean_corrected"].value == pytest.approx(0.75 - 0.1)


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
