"""Edits of so few source images that nothing, or nearly nothing, can be tested."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.methods import score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.edits.mean_change import (
    BOTH_WAYS,
    LOSS,
    TOO_FEW,
    GroupChanges,
    difference_of_changes,
    mean_changes,
)
from t2ibench.settings import Settings
from tests.methods.edits.hand import GENDER, RAIN, HandEdits, edits_task

LEVEL = 0.95


def _of_prompts(women: str, men: str) -> MethodResult:
    """The result of an edit of one source image a prompt, of which the genders are given."""
    answers = {"female": women.split(), "male": men.split()}
    before: dict[str, dict[str, str]] = {}
    after: dict[tuple[str, str], dict[str, str]] = {}
    groups = []
    for shown, of_group in answers.items():
        prompts = [f"{shown} prompt {number}" for number in range(len(of_group))]
        name = {"female": "women", "male": "men"}[shown]
        groups.append({"name": name, "prompts": prompts})
        for prompt, answer in zip(prompts, of_group, strict=True):
            before[prompt] = {GENDER: shown}
            after[RAIN["instruction"], prompt] = {GENDER: answer}
    task = edits_task(
        groups=groups,
        edits=[RAIN],
        attributes=[
            {
                "name": "gender",
                "question": GENDER,
                "classes": ["male", "female"],
                "shown_by_group": {"women": "female", "men": "male"},
            }
        ],
        images_per_prompt=1,
    )
    return score(task, HandEdits(before, after), Settings())


def test_one_image_a_prompt_is_scored_and_its_halves_are_compared() -> None:
    result = _of_prompts("male female male female", "male male male male")
    assert result.headline.value == pytest.approx(0.5)
    # Of the first and third women both are lost, of the others none; no man is.
    assert result.controls["halves"].value == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("women", "men"),
    [("male", "male"), ("male female", "male"), ("male", "male male")],
)
def test_one_source_image_of_a_group_gives_a_reason(women: str, men: str) -> None:
    result = _of_prompts(women, men)
    assert result.headline.value is None
    assert result.headline.reason == TOO_FEW
    assert "halves" not in result.controls


def test_a_group_that_is_refused_wholly_gives_a_reason() -> None:
    result = _of_prompts("- - - -", "male male male male")
    assert result.headline.value is None
    assert result.excluded["refused"] == 4


@pytest.mark.parametrize("n_sources", [0, 1])
@pytest.mark.parametrize("n_edits", [0, 1, 3])
def test_changes_of_nearly_nobody_have_no_mean(n_sources: int, n_edits: int) -> None:
    few = GroupChanges("few", np.arange(n_sources), np.zeros((n_sources, n_edits, 1)))
    many = GroupChanges("many", np.arange(5), np.zeros((5, n_edits, 1)))
    assert mean_changes([few], LOSS, LEVEL)[0].value is None
    for first, second in ((few, many), (many, few), (few, few)):
        estimate = difference_of_changes(first, second, BOTH_WAYS, LEVEL)
        assert estimate.value is None and estimate.reason == TOO_FEW
