"""The writer every-eval-ever, field by field against schema 0.3.0 (see docs/exchange.md)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from t2ibench.methods.core.scales import EXCESS, LEAN, MEAN_SQUARE, Scale
from t2ibench.reports.exchange.exported_tests import size_of
from t2ibench.reports.writers import render
from t2ibench.results import read_results
from t2ibench.results.display import IntervalMark
from tests.reports.exchange.runs import NASTY, renamed, several_tests

SUBMISSIONS = sorted(
    (Path(__file__).parents[3] / "leaderboard" / "submissions").iterdir()
)
# What the schema requires, and the values that it names.
TOP = {
    "schema_version",
    "evaluation_id",
    "retrieved_timestamp",
    "source_metadata",
    "model_info",
    "eval_library",
    "evaluation_results",
}
RESULT = {"evaluation_name", "source_data", "metric_config", "score_details"}
CONTINUOUS = {"lower_is_better", "score_type", "min_score", "max_score"}
RELATIONSHIPS = {"first_party", "third_party", "collaborative", "other"}


def written(results: Any) -> dict[str, Any]:
    def refused(constant: str) -> float:
        raise AssertionError(f"{constant} is no JSON")

    record: dict[str, Any] = json.loads(
        render("every-eval-ever", results), parse_constant=refused
    )
    return record


def details_of(value: Any) -> list[dict[str, Any]]:
    """Every `additional_details`, at any depth, and the details of scores."""
    inside = value.values() if isinstance(value, dict) else value
    deeper = [
        details
        for part in inside
        if isinstance(part, dict | list)
        for details in details_of(part)
    ]
    if not isinstance(value, dict):
        return deeper
    own = [value[key] for key in ("additional_details", "details") if key in value]
    return [*own, *deeper]


def check(record: dict[str, Any]) -> None:
    """Raise an error where the record is not what the schema asks for."""
    assert record.keys() - {"evaluation_timestamp"} == TOP
    assert record["schema_version"] == "0.3.0"
    assert record["retrieved_timestamp"].isdigit()
    source = record["source_metadata"]
    assert source["source_type"] in {"documentation", "evaluation_run"}
    assert source["evaluator_relationship"] in RELATIONSHIPS
    assert isinstance(source["source_organization_name"], str)
    assert {"name", "version"} <= record["eval_library"].keys()
    model = record["model_info"]
    assert isinstance(model["name"], str) and isinstance(model["id"], str)
    about = model["additional_details"]
    assert about["deployment_type"] in {
        "self_deployed",
        "externally_managed",
        "unknown",
    }
    assert about["model_availability"] in {
        "open_weights",
        "closed_weights",
        "unknown",
    }
    for details in details_of(record):
        assert all(isinstance(text, str) and text for text in details.values())
    for result in record["evaluation_results"]:
        check_result(result)


def check_result(result: dict[str, Any]) -> None:
    assert result.keys() >= RESULT and isinstance(result["evaluation_name"], str)
    assert result["source_data"]["source_type"] == "other"
    assert isinstance(result["source_data"]["dataset_name"], str)
    metric = result["metric_config"]
    assert metric.keys() >= CONTINUOUS and metric["score_type"] == "continuous"
    assert metric["lower_is_better"] is True
    for end in (metric["min_score"], metric["max_score"]):
        assert isinstance(end, float) or end in {"Infinity", "-Infinity"}
    score = result["score_details"]["score"]
    assert isinstance(score, float)
    assert float(metric["min_score"]) <= score <= float(metric["max_score"])
    uncertainty = result["score_details"]["uncertainty"]
    assert isinstance(uncertainty["num_samples"], int)
    interval = uncertainty.get("confidence_interval")
    if interval is not None:
        assert interval["lower"] <= score <= interval["upper"]
        assert 0 < interval["confidence_level"] < 1


@pytest.mark.parametrize("folder", SUBMISSIONS, ids=lambda folder: folder.name)
def test_every_submission_is_a_record_of_the_schema(folder: Path) -> None:
    record = written(read_results(folder))
    check(record)
    assert record["evaluation_results"]


def test_a_lean_to_the_low_side_is_no_low_score() -> None:
    record = written(several_tests())
    check(record)
    by_name = {
        result["evaluation_name"]: result["score_details"]
        for result in record["evaluation_results"]
    }
    assert set(by_name) == {"t2ibench.lean", "t2ibench.square"}
    lean = by_name["t2ibench.lean"]
    assert lean["score"] > 0.9 and float(lean["details"]["value"]) < -0.9
    interval = lean["uncertainty"]["confidence_interval"]
    assert interval["lower"] == -float(lean["details"]["ci_high"])
    left_out = record["source_metadata"]["additional_details"]
    assert left_out["left_out.undecided"] == "its halves differ"
    assert "positive control" in left_out["left_out.control"]


def test_the_same_results_have_the_same_id() -> None:
    first = written(several_tests())
    assert written(several_tests())["evaluation_id"] == first["evaluation_id"]
    other = written(renamed(several_tests(), "org/other"))
    assert other["evaluation_id"] != first["evaluation_id"]
    assert other["evaluation_id"].count("/") == 2


def test_text_that_is_not_to_be_trusted_stays_text() -> None:
    hostile = f"{NASTY} \U000e0041 \x1b"
    results = renamed(several_tests(hostile), hostile)
    record = written(results)
    check(record)
    assert record["model_info"]["id"] == hostile
    assert render("every-eval-ever", results).isascii()


def mark(value: float, low: float | None, high: float | None, scale: Scale) -> Any:
    return IntervalMark(value, low, high, "clear", None, scale=scale)


def test_a_size_is_the_distance_from_balance() -> None:
    points = Scale("points", directed=True, end=50.0)
    inside = size_of(mark(-0.1, -0.3, 0.2, LEAN))
    assert (inside.value, inside.low, inside.high) == (0.1, 0.0, 0.3)
    outside = size_of(mark(-0.4, -0.6, -0.2, LEAN))
    assert (outside.value, outside.low, outside.high) == (0.4, 0.2, 0.6)
    without = size_of(mark(-0.4, None, None, LEAN))
    assert (without.low, without.high, without.most) == (None, None, 1.0)
    square = size_of(mark(0.4, 0.2, 0.6, MEAN_SQUARE))
    assert (square.value, square.least, square.most) == (0.4, 0.0, 1.0)
    # Below 0 concepts lean less than everyday words, which is no lean to another side.
    assert size_of(mark(-0.4, -0.6, -0.2, EXCESS)).value == -0.4
    assert size_of(mark(-7.0, -9.0, 3.0, points)).most == math.inf
