"""results.json, its tables, and what a reader sees of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.estimate import Estimate, average
from t2ibench.reports.markdown import results_markdown, results_table
from t2ibench.results import read_results
from t2ibench.results.build import adjusted_run, headline_record, rounded, score_record
from t2ibench.results.schema import (
    EncoderScores,
    GeneratorInfo,
    Headline,
    Results,
    Row,
    Score,
    TaskResult,
    TaskSettings,
)

SETTINGS = TaskSettings(
    images_per_prompt=None, limit=None, seed=0, n_permutations=9, n_bootstrap=9, level=0.95,
    encoders={"toyland": "f"},
)  # fmt: skip


def task(p: float | None, **changes: object) -> TaskResult:
    options = {
        "version": 1, "method": "t2iat", "task_hash": "h", "family": "t2iat", "title": "t",
        "headline": Headline(value=0.5, ci_low=0.4, ci_high=0.6, p=p, null=0.1, debiased=0.4),
        "scores": {"d": Score(value=1.0, p=p), "S": Score(value=0.1)},
        "n_images": 10, "n_prompts": 5, "settings": SETTINGS,
    }  # fmt: skip
    return TaskResult(**{**options, **changes})


def results(**tasks: TaskResult) -> Results:
    return Results(
        t2ibench="0", model=GeneratorInfo(name="m | <b>"), command=["t2ibench", "run"],
        environment={}, limited=False, tasks=tasks,
    )  # fmt: skip


def test_a_headline_is_a_magnitude_with_its_null() -> None:
    boot = np.linspace(-0.6, -0.2, 1001)
    null = np.array([-0.1, 0.1, 0.3, -0.3])
    found = headline_record(Estimate(-0.4, boot, null, p=0.01, test="exact", signed=True), 0.95)
    assert found.value == pytest.approx(0.4)
    assert (found.ci_low, found.ci_high) == pytest.approx((0.21, 0.59))
    assert found.null == pytest.approx(0.2)
    assert found.debiased == pytest.approx(0.25)
    covering = headline_record(Estimate(0.1, np.linspace(-0.2, 0.4, 1001), signed=True), 0.95)
    assert covering.ci_low == 0.0
    smaller = headline_record(Estimate(0.1, boot, null, signed=True), 0.95)
    assert smaller.debiased == 0.0  # never below


def test_a_missing_value_stays_missing() -> None:
    found = score_record(Estimate(None, reason="no image"), 0.95)
    assert found.value is None and found.ci_low is None and found.reason == "no image"
    undefined = score_record(Estimate(float("nan"), np.array([1.0]), p=0.3), 0.95)
    assert undefined.value is None and undefined.p is None and undefined.reason
    assert headline_record(Estimate(None, reason="no image"), 0.95).reason == "no image"


def test_the_mean_of_encoders_is_tested_on_the_mean_null() -> None:
    one = Estimate(1.0, np.array([0.9, 1.1]), np.array([-1.0, 0.0, 1.0, 0.5]), 0.5, "exact")
    two = Estimate(0.0, np.array([0.1, -0.1]), np.array([0.0, 1.0, 0.0, 0.5]), 1.0, "exact")
    both = average([one, two])
    assert both.value == pytest.approx(0.5)
    assert both.boot == pytest.approx([0.5, 0.5])
    assert both.p == pytest.approx(1.0)  # all four means are at least 0.5 away from 0
    assert average([one, Estimate(None, reason="x")]).reason == "x"


def test_adjustment_is_over_the_run_and_by_name() -> None:
    found = {"a": task(0.01), "b": task(0.04), "c": task(None)}
    found = adjusted_run(found)
    assert [one.headline.p_holm for one in found.values()] == pytest.approx([0.02, 0.04, None])
    assert found["a"].scores["d"].p_bh == pytest.approx(0.02)
    assert found["a"].scores["S"].p_holm is None


def test_the_file_round_trips_and_is_strict(tmp_path: Path) -> None:
    before = results(b=task(0.5), a=task(None, reason="no images"))
    text = before.to_json()
    (tmp_path / "results.json").write_text(text)
    assert list(json.loads(text)["tasks"]) == ["a", "b"]
    assert json.loads(text)["schema"] == 2
    assert read_results(tmp_path).to_json() == text
    data = json.loads(text)
    data["tasks"]["a"]["headlin"] = 1
    (tmp_path / "results.json").write_text(json.dumps(data))
    with pytest.raises(T2IBenchError, match="not a results file of schema 2"):
        read_results(tmp_path)
    with pytest.raises(T2IBenchError, match="cannot be read"):
        read_results(tmp_path / "nowhere")


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_NUMBER = st.none() | st.floats(allow_nan=False, allow_infinity=False)
_VALUES = dict.fromkeys(("value", "ci_low", "ci_high", "p", "p_holm", "p_bh"), _NUMBER)
_SCORE = st.builds(
    Score, **_VALUES, test=st.sampled_from([None, "exact", "monte_carlo", "binomial"]),
    n_draws=st.none() | st.integers(0), reason=st.none() | _TEXT,
)  # fmt: skip
_HEADLINE = st.builds(Headline, **_VALUES, null=_NUMBER, debiased=_NUMBER)
_SCORES = st.dictionaries(_TEXT, _SCORE, max_size=2)
_ROWS = st.lists(st.builds(Row, name=_TEXT, group=st.none() | _TEXT, scores=_SCORES), max_size=2)
_ENCODER = st.builds(EncoderScores, headline=_HEADLINE, scores=_SCORES, by=_ROWS)
_DETAIL = st.recursive(
    _NUMBER | st.booleans() | st.integers() | _TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
    max_leaves=4,
)
_TASK = st.builds(
    task, st.none(), headline=_HEADLINE, scores=_SCORES, by=_ROWS,
    by_encoder=st.dictionaries(_TEXT, _ENCODER, max_size=2), signs_agree=st.none() | st.booleans(),
    warnings=st.lists(_TEXT, max_size=2), details=st.dictionaries(_TEXT, _DETAIL, max_size=2),
)  # fmt: skip


@settings(max_examples=25)
@given(tasks=st.dictionaries(_TEXT, _TASK, max_size=2))
def test_any_results_round_trip(
    tasks: dict[str, TaskResult], tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = results().model_copy(update={"tasks": tasks})
    file = tmp_path_factory.getbasetemp() / "any-results.json"
    file.write_text(before.to_json(), encoding="utf-8")
    after = read_results(file)
    assert after == before
    assert after.to_json() == before.to_json()


def test_markdown_says_what_a_reader_must_know() -> None:
    text = results_markdown(
        results(
            a=task(0.5, warnings=["the <b>manipulation</b> may have failed"], signs_agree=False),
            b=task(None, headline=Headline(reason="no images"), reason="no images",
                   excluded={"filtered": 3}),
        )
    )  # fmt: skip
    assert "| a" in text and "[0.400, 0.600]" in text and "d = +1.000" in text
    assert "3 filtered" in text
    assert "`b` has no score: no images" in text
    assert "do not agree on the sign" in text
    assert "<b>" not in text
    assert "null" in text.lower()


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_table_fits_the_terminal(width: int) -> None:
    found = results(t2iat_names_european_african_american=task(0.00001), a=task(None))
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(results_table(found, width))
    lines = console.export_text().splitlines()
    assert all(len(line) <= width for line in lines)
    whole = "\n".join(lines)
    assert "t2iat_names_european_african_am" in whole and "0.500" in whole
    assert ("Excluded" in whole) == (width == 200)


def test_numbers_are_rounded_to_what_means_something() -> None:
    assert rounded(0.1 + 0.2) == 0.3
    assert rounded(float("nan")) is None and rounded(None) is None
