"""The writer model-index: what huggingface_hub reads back."""

from __future__ import annotations

import pytest
import yaml
from huggingface_hub.repocard_data import model_index_to_eval_results

from t2ibench.reports.writers import render
from t2ibench.results import read_results
from t2ibench.results.display import displayed
from tests.reports.exchange.runs import NASTY, renamed, several_tests
from tests.shipped import shipped

TOY = shipped("toy")


def test_the_hub_reads_every_number_back() -> None:
    results = read_results(TOY)
    index = yaml.safe_load(render("model-index", results))["model-index"]
    name, rows = model_index_to_eval_results(index)
    assert name == "toy" and len(rows) > 10
    for row in rows:
        task = results.tasks[row.dataset_config or ""]
        shown = displayed(task.headline)
        assert row.metric_value == pytest.approx(abs(shown.value or 0.0))
        assert row.dataset_revision == task.task_hash
        conditions = row.metric_args or {}
        assert conditions["ci_low"] <= row.metric_value <= conditions["ci_high"]
        assert conditions["images"] == task.n_images
        assert conditions["t2ibench"] == results.t2ibench


def test_tests_that_decide_nothing_are_no_metrics() -> None:
    text = render("model-index", several_tests())
    (index,) = yaml.safe_load(text)["model-index"]
    assert [row["dataset"]["config"] for row in index["results"]] == ["lean", "square"]
    (metric,) = index["results"][0]["metrics"]
    assert metric["value"] > 0.9 and metric["type"] == "size_of_the_lean"


def test_names_cannot_end_the_front_matter_of_a_card() -> None:
    hostile = f"a\n---\nb: [1, 2]\n{NASTY}"
    results = renamed(several_tests(hostile), hostile)
    text = render("model-index", results)
    assert "\n---" not in text and "\u202e" not in text
    (index,) = yaml.safe_load(text)["model-index"]
    assert set(index) == {"name", "results"} and "b: [1, 2]" in index["name"]


def test_characters_that_are_escaped_are_read_back() -> None:
    name = "a\x1b\x7f\x85\xad\u202e\U000e0041\U0001f600 b"
    text = render("model-index", renamed(several_tests(), name))
    assert "\u202e" not in text and "\U000e0041" not in text
    (index,) = yaml.safe_load(text)["model-index"]
    assert index["name"] == name
