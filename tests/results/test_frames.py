"""Results as data frames."""

from __future__ import annotations

import math

import pytest

from t2ibench.errors import T2IBenchError
from tests import hand


def test_tasks_are_as_pages_show_them() -> None:
    results = hand.results(
        lean=hand.record(hand.mean_lean({"a": [1.0, 1.0, 1.0, -1.0], "b": [1.0] * 4})),
        square=hand.record(hand.mean_square({"a": [1.0] * 12, "b": [-1.0] * 12})),
    )
    frame = results.to_pandas()
    assert list(frame.index) == ["lean", "square"]
    assert frame.loc["lean", "value"] == pytest.approx(0.75)
    assert frame.loc["square", "scale"] == "rms lean"
    square = results.tasks["square"].headline.square
    assert square is not None
    assert frame.loc["square", "value"] == pytest.approx(math.sqrt(square))
    assert frame.loc["square", "square"] == square
    assert frame.loc["lean", "n_images"] == 8


def test_rows_and_scores_have_a_line_each() -> None:
    task = hand.record(hand.mean_lean({"a": [1.0, 1.0, 1.0, -1.0], "b": [1.0] * 4}))
    results = hand.results(one=task)
    rows = results.to_pandas("rows")
    assert list(rows["name"]) == ["a", "b"] and list(rows["score"]) == ["lean", "lean"]
    assert list(rows["value"]) == [0.5, 1.0] and list(rows["state"]) == ["not_clear"] * 2
    assert len(results.to_pandas("scores")) == len(task.scores)


def test_what_is_not_tested_shows_nothing() -> None:
    task = hand.record(hand.mean_lean({"a": [1.0, 1.0, -1.0]}))
    score = task.by[0].scores["lean"].model_copy(update={"p": None, "p_holm": None})
    row = task.by[0].model_copy(update={"scores": {"lean": score}})
    rows = hand.results(one=task.model_copy(update={"by": [row]})).to_pandas("rows")
    assert list(rows["state"]) == [None]


def test_no_results_are_an_empty_frame_with_columns() -> None:
    frame = hand.results().to_pandas()
    assert len(frame) == 0 and "ci_low" in frame.columns


def test_an_unknown_table_is_one_line() -> None:
    with pytest.raises(T2IBenchError, match="Did you mean 'rows'"):
        hand.results().to_pandas("row")  # type: ignore[arg-type]
