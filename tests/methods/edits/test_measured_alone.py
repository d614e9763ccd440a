"""Pixels are measured, tested and told where nobody answers about source images and edits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from t2ibench.methods import METHODS, score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.edits.score import NO_ANSWER
from tools.calibration.cells import SETTINGS
from tools.calibration.edit_pixels import PixelWorld

_LIGHTNESS = "lightness of the face"


def _results(lightened: tuple[float, float]) -> tuple[MethodResult, MethodResult, str]:
    """The result of a data set with its answers and without, and its sentence without."""
    world = PixelWorld("some lightened", (40, 40), lightened)
    task = world.task()
    evidence = world.draw(task, np.random.default_rng(1))
    unknown = {
        asked: ["unknown"] * len(answers)
        for asked, answers in evidence.sources.replies.items()
    }
    silent = replace(evidence, sources=replace(evidence.sources, replies=unknown))
    without = score(task, silent, SETTINGS)
    described = METHODS.get("edits").describe(task, without)
    return score(task, evidence, SETTINGS), without, described


def test_rows_of_pixels_and_outcomes_stay_without_answers() -> None:
    answered, without, described = _results((0.6, 0.0))
    assert without.reason == NO_ANSWER and without.headline.value is None
    kept = {(row.group, row.name): row for row in without.by}
    same = {
        (row.group, row.name): row for row in answered.by if row.group == _LIGHTNESS
    }
    assert len(same) == 4
    for key, row in same.items():
        assert kept[key].scores["lean"].p == row.scores["lean"].p
        assert kept[key].scores["lean"].interval == row.scores["lean"].interval
    assert not any(row.group == "person group" for row in without.by)
    assert f"change:{_LIGHTNESS}, first" in without.scores
    assert f"clearly change the {_LIGHTNESS}, measured on the pixels" in described


def test_without_a_difference_no_edit_is_named() -> None:
    *_, described = _results((0.0, 0.0))
    assert f"No edit clearly changes the {_LIGHTNESS}, measured" in described
