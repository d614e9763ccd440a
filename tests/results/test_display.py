"""What a result shows, one rule for every page and for data frames; whether people checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.results.display import displayed, row_state, state_of
from t2ibench.results.judge_checks import explaining_mistakes, judges_said
from t2ibench.results.schema import Headline, Results, Row, Score, TaskResult
from tests import hand


def lean(
    value: float | None, half: float = 0.1, band: float = 0.1, **parts: object
) -> Headline:
    ends = {} if value is None else {"ci_low": value - half, "ci_high": value + half}
    fair = {"fair_low": -band, "fair_high": band}
    return Headline.model_validate(
        {"value": value, "scale": "lean", **ends, **fair, **parts}
    )


BEYOND = {"p": 0.001, "p_holm": 0.01}
WITHIN = {"p": 0.2, "p_holm": 1.0}
WIDE = Headline(
    value=0.01, ci_low=0.0, ci_high=0.25, p=0.4, p_holm=1.0, scale="mean_square"
)


@pytest.mark.parametrize(
    ("headline", "inconclusive", "state"),
    [
        (lean(0.5, **BEYOND), None, "clear"),
        (lean(-0.5, **BEYOND), None, "clear"),
        (lean(0.5, p=0.01, p_holm=0.2), None, "not_clear"),
        (lean(0.3, band=0.4, **BEYOND), None, "not_clear"),
        (lean(0.9, **BEYOND), "its halves differ", "cannot_tell"),
        (lean(None), None, "no_score"),
        (lean(0.9), None, "cannot_tell"),
        (lean(0.0, 0.23, **WITHIN), None, "none_above"),
        (lean(0.0, 0.23, scale="excess", **WITHIN), None, "not_clear"),
        (lean(0.1, 0.13, **WITHIN), None, "none_above"),
        (lean(0.1, 0.15, **WITHIN), None, "not_clear"),  # .25 is still possible
        (lean(-0.21, 0.15, **WITHIN), None, "not_clear"),
        (lean(0.0, 0.25, **WITHIN), None, "cannot_tell"),
        # wide, but balance is ruled out
        (lean(0.3, 0.29, **WITHIN), None, "not_clear"),
        (lean(0.3, 0.31, **WITHIN), None, "cannot_tell"),
        (WIDE, None, "cannot_tell"),  # the root's end is at .5
        (WIDE.model_copy(update={"ci_high": 0.05}), None, "none_above"),
        (WIDE.model_copy(update={"ci_high": 0.09}), None, "not_clear"),
    ],
)
def test_a_headline_shows_the_state_that_its_test_gives(
    headline: Headline, inconclusive: str | None, state: str
) -> None:
    assert state_of(hand.task(headline=headline, inconclusive=inconclusive)) == state


def test_shown_numbers_lie_within_the_range_of_the_quantity() -> None:
    lean_mark = displayed(lean(1.07, 0.99))
    assert (lean_mark.value, lean_mark.high, lean_mark.cut) == (1.0, 1.0, True)
    assert lean_mark.low == pytest.approx(0.08)
    assert not displayed(lean(0.9)).cut
    square = Headline(value=1.1, ci_low=0.81, ci_high=1.3, scale="mean_square")
    assert (displayed(square).value, displayed(square).low) == (1.0, 0.9)


def test_a_row_is_clear_by_its_own_correction() -> None:
    assert row_state(Score(value=0.4, p=0.01, p_holm=0.04)) == "clear"
    assert row_state(Score(value=0.4, p=0.01, p_holm=0.06)) == "not_clear"
    assert row_state(Score(value=0.4)) == "not_clear"
    assert row_state(Score(value=None)) == "no_score"


def test_tasks_are_as_pages_show_them_and_rows_and_scores_have_a_line_each() -> None:
    lean = hand.record(hand.mean_lean({"a": [1.0, 1.0, 1.0, -1.0], "b": [1.0] * 4}))
    square = hand.record(hand.mean_square({"a": [1.0] * 12, "b": [-1.0] * 12}))
    results = hand.results(lean=lean, square=square)
    frame = results.to_pandas()
    assert list(frame.index) == ["lean", "square"]
    assert frame.loc["lean", "value"] == pytest.approx(0.75)
    assert frame.loc["square", "scale"] == "rms lean"
    assert frame.loc["square", "square"] == square.headline.square
    assert frame.loc["square", "value"] ** 2 == pytest.approx(square.headline.square)
    assert frame.loc["lean", "n_images"] == 8
    results = hand.results(one=lean)
    scores = results.to_pandas("scores")
    rows = scores[scores["row"].notna()]
    assert list(rows["row"]) == ["a", "b"] and list(rows["score"]) == ["lean", "lean"]
    assert list(rows["value"]) == [0.5, 1.0]
    head = scores[scores["score"] == "headline"].iloc[0]
    assert (head["state"], head["fair_low"]) == (state_of(lean), lean.headline.fair_low)


def test_a_row_is_drawn_where_its_score_is_tested() -> None:
    task = hand.record(hand.mean_lean({"a": [1.0, 1.0], "b": [1.0, -1.0], "c": [1.0]}))
    numbers = ({"p": 0.001}, {"p": 0.4}, {"p": None})
    by = [
        row.model_copy(
            update={"scores": {"lean": row.scores["lean"].model_copy(update=number)}}
        )
        for row, number in zip(task.by, numbers, strict=True)
    ]
    rows = hand.results(one=task.model_copy(update={"by": by})).to_pandas("scores")
    rows = rows[rows["row"].notna()]
    assert list(rows["state"].dropna()) == ["clear", "not_clear"]
    assert rows["state"].isna().tolist() == [False, False, True]


def test_frames_of_several_runs_can_be_put_together_and_say_why_there_is_no_score(
    tmp_path: Path,
) -> None:
    lean = hand.mean_lean({"a": [1.0] * 20, "b": [1.0] * 19 + [-1.0]})
    undecided = {"inconclusive": "the encoder does not see it"}
    without = hand.record(lean).model_copy(
        update={
            "headline": Headline(reason="no image of: a"),
            "reason": "no image of: a",
        }
    )
    wide = Headline(
        value=0.0, ci_low=-0.5, ci_high=0.5, p=0.9, p_holm=0.9, scale="lean"
    )
    tasks = {
        "decided": hand.record(lean),
        "failed": hand.record(lean).model_copy(update=undecided),
        "without": without,
        "wide": hand.record(lean).model_copy(update={"headline": wide}),
    }
    runs = [
        hand.results(**tasks).in_folder(tmp_path / name)
        for name in ("step-1", "step-2")
    ]
    frames = pd.concat([run.to_pandas() for run in runs])
    assert list(frames["run"]) == ["step-1"] * 4 + ["step-2"] * 4
    assert set(frames["model"]) == {runs[0].model.name}
    (first, *_) = (frame for _, frame in frames.groupby("run"))
    assert first.loc["decided", "state"] == "clear"
    assert list(first.index[first["reason"].isna()]) == ["decided"]
    assert "neither balance nor a lean of 0.24" in first.loc["wide", "reason"]
    assert first.loc["failed", "reason"] == "the encoder does not see it"
    assert first.loc["without", "reason"] == "no image of: a"
    scores = pd.concat([run.to_pandas("scores") for run in runs])
    assert set(scores["run"]) == {"step-1", "step-2"}
    named = runs[0].model_copy(update={"name": "mine"})
    assert set(named.to_pandas()["run"]) == {"mine"}


def test_completion_shows_what_a_result_has_and_not_what_every_model_of_pydantic_has() -> (
    None
):
    results = hand.results(one=hand.record(hand.mean_lean({"a": [1.0], "b": [1.0]})))
    members = {"title", "folder", "partial", "to_pandas", "to_json", "with_earlier"}
    for listed, fields in ((dir(results), {"tasks", "model"}), (dir(Results), set())):
        public = {name for name in listed if not name.startswith("_")}
        assert public >= members | fields
        assert not public & {
            "parse_obj",
            "schema",
            "construct",
            "model_dump",
            "copy",
            "json",
        }
    assert {"headline", "by", "reason"} <= set(dir(results.tasks["one"]))
    # They are there all the same.
    assert Results.model_validate(results.model_dump(by_alias=True)) == results


def test_no_results_are_an_empty_frame_with_columns_and_an_unknown_table_is_one_line() -> (
    None
):
    frame = hand.results().to_pandas()
    assert len(frame) == 0 and "ci_low" in frame.columns
    with pytest.raises(T2IBenchError, match="Did you mean 'scores'"):
        hand.results().to_pandas("score")  # type: ignore[arg-type]


CHECK = {
    "bias": "person gender",
    "verdict": "use corrected",
    "reason": "it errs",
    "images": 268,
}


def result(judges: list[str], labels: int = 0, **details: Any) -> TaskResult:
    settings = hand.settings(judges=dict.fromkeys(judges, "0" * 64))
    by = [Row(name="person gender", scores={"n_labels": Score(value=float(labels))})]
    return hand.task("openbias", by=by, settings=settings, details=details)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (result([]), ""),
        (result(["clip"]), "clip, unchecked by people: its mistakes"),
        (result(["clip", "vlm"]), "clip and vlm, unchecked by people: their mistakes"),
        (result(["clip"], labels=40), "checked by people on these images: 40 labels"),
        (
            result(["clip"], judge_checks=[CHECK]),
            "268 labelled images: corrected by its errors",
        ),
        (
            result(["clip"], judge_checks=[{**CHECK, "verdict": "do not use"}]),
            "use (it errs)",
        ),
        (
            result(["clip"], judge_checks=[CHECK], biases=[{"bias": "age"}]),
            "unchecked about age",
        ),
        (result(["answers by anna"]), "Answered by anna; nobody else checked"),
        (result(["labels by anna"]), "Answered by anna; nobody else checked"),
        (result(["answers:people.csv"]), "by=NAME says who answered"),
    ],
)
def test_a_judge_is_described_by_its_check(task: TaskResult, said: str) -> None:
    assert said in judges_said(task) and bool(said) == bool(judges_said(task))


def test_a_judges_mistakes_that_would_explain_its_counts() -> None:
    """A root of .4 takes 20 % wrong answers: of 50 men and 50 women 20 women called men."""
    counted = result(["clip"], biases=[{"bias": "person gender"}])
    headline = Headline(value=0.2, ci_low=0.16, ci_high=0.3, scale="mean_square")
    clear = counted.model_copy(update={"headline": headline})
    assert explaining_mistakes(clear) == pytest.approx(0.2)
    assert "wrong about 20 % of the images or more" in judges_said(clear)
    within = headline.model_copy(update={"ci_low": -0.01})
    nothing = counted.model_copy(update={"headline": within})
    assert explaining_mistakes(nothing) is None
    assert judges_said(nothing).endswith("its mistakes are in every count.")
    guided = result(["clip"]).model_copy(update={"headline": headline})
    assert explaining_mistakes(guided) is None
