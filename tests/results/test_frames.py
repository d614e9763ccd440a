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
    assert list(rows["value"]) == [0.5, 1.0]
    assert len(results.to_pandas("scores")) == len(task.scores)


def test_a_row_shows_something_where_its_score_is_tested() -> None:
    task = hand.record(hand.mean_lean({"a": [1.0, 1.0], "b": [1.0, -1.0], "c": [1.0]}))
    numbers = ({"p": 0.001}, {"p": 0.4}, {"p": None})
    by = [
        row.model_copy(update={"scores": {"lean": row.scores["lean"].model_copy(update=number)}})
        for row, number in zip(task.by, numbers, strict=True)
    ]
    rows = hand.results(one=task.model_copy(update={"by": by})).to_pandas("rows")
    assert list(rows["state"].dropna()) == ["clear", "not_clear"]
    assert rows["state"].isna().tolist() == [False, False, True]


def test_no_results_are_an_empty_frame_with_columns() -> None:
    frame = hand.results().to_pandas()
    assert len(frame) == 0 and "ci_low" in frame.columns


def test_an_unknown_table_is_one_line() -> None:
    with pytest.raises(T2IBenchError, match="Did you mean 'rows'"):
        hand.results().to_pandas("row")  # type: ignore[arg-type]
