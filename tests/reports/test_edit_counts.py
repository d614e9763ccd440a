"""What pages count of a run about edits: questions, images, edits and source images."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from t2ibench.methods.core.edit_report import EDITS, AskedAbout, EditReport
from t2ibench.reports.coverage import coverage
from t2ibench.reports.edit_counts import edits_counted
from t2ibench.reports.exchange.benchmark_card import benchmark_card
from t2ibench.reports.figures.facts import facts_of_task
from t2ibench.reports.limits import limits
from t2ibench.reports.results_tables import explanations
from t2ibench.reports.sentences import image_count_text
from t2ibench.reports.view import RunView, run_view
from t2ibench.reports.writers import render
from t2ibench.results.schema import TaskResult
from t2ibench.tasks.index import load_tasks
from tests import hand

REPORT = EditReport(
    headline="person age",
    groups=("women", "men"),
    between=("women", "men"),
    edits=("in a suit", "on a beach"),
    controls=("no change",),
    sources={"women": 8, "men": 8},
    asked=(
        AskedAbout("person age", 64, 60),
        AskedAbout("edit in the rain", 16, 16),
    ),
)


def _task(report: EditReport = REPORT) -> TaskResult:
    return hand.task(
        "edits",
        n_images=48,
        n_prompts=3,
        settings=hand.settings(judges={"toyland": "e" * 64}),
        details={EDITS: asdict(report)},
    )


def _run(*tasks: TaskResult) -> RunView:
    named = {f"task{number}": task for number, task in enumerate(tasks)}
    return run_view(hand.results(**named))


def test_a_judges_questions_are_said_with_how_many_it_answered() -> None:
    covered = coverage(_run(_task()))
    assert covered is not None
    (line,) = covered.lines()
    assert line.startswith("Asked: 2 questions about 64 images.")
    assert "person age by toyland (60 of 64)" in line
    assert "no question" not in line


def test_edits_and_source_images_are_counted_rather_than_prompts() -> None:
    run = _run(_task())
    assert image_count_text(run.tasks[0]) == "48 images: 3 edits of 16 source images"
    assert "48 images: 3 edits of 16 source images" in facts_of_task(run.tasks[0])
    (covers,) = [title for title, _ in limits(run) if title.startswith("Covers")]
    assert covers == "Covers 3 edits of 16 source images."
    (twice,) = [
        title for title, _ in limits(_run(_task(), _task())) if "Covers" in title
    ]
    assert twice == "Covers 6 edits of 32 source images."


def test_edits_beside_a_test_on_prompts_have_no_number_of_prompts() -> None:
    plain = hand.task("openbias", n_images=8, n_prompts=2)
    run = _run(_task(), plain)
    assert edits_counted(task.result for task in run.tasks) == ""
    (covers,) = [title for title, _ in limits(run) if title.startswith("Covers")]
    assert covers == "Covers the prompts of these 2 tests."


def test_one_edit_of_one_image_is_singular() -> None:
    alone = replace(REPORT, edits=("in a suit",), controls=(), sources={"women": 1})
    assert edits_counted([_task(alone)]) == "1 edit of 1 source image"


def test_a_card_of_a_benchmark_lists_the_questions_about_pairs() -> None:
    (task,) = load_tasks(["edits_skin"])
    card = benchmark_card(task)
    assert "Questions to the judge:" in card
    assert "Which skin does the person have?" in card


def test_a_record_of_every_eval_ever_counts_edits_of_a_test() -> None:
    """A test on prompts has prompts and no edits, one about edits has edits and no prompts."""
    lean = hand.mean_lean({"a nurse": [-1.0, -0.9] * 4, "a chef": [-1.0, -0.9] * 4})
    plain = hand.record(lean, n_images=8, n_prompts=2)
    edited = hand.record(
        lean, n_images=48, n_prompts=3, details={EDITS: asdict(REPORT)}
    )
    record = json.loads(
        render("every-eval-ever", hand.results(edited=edited, plain=plain))
    )
    counted = {}
    for test in record["evaluation_results"]:
        details = test["source_data"]["additional_details"]
        counted[test["evaluation_name"]] = [
            details.get(name) for name in ("edits", "prompts", "images")
        ]
    assert counted == {
        "t2ibench.edited": ["3 edits of 16 source images", "0", "48"],
        "t2ibench.plain": [None, "2", "8"],
    }


def test_tables_say_what_a_lean_of_edits_is() -> None:
    sentence = "Of edits, a lean is the difference between two groups' changes"
    plain = hand.task("openbias", n_images=8, n_prompts=2)
    assert sentence in " ".join(explanations(hand.results(a=_task(), b=plain)))
    assert sentence not in " ".join(explanations(hand.results(b=plain)))


@pytest.mark.parametrize("name", ["gpai", "nist-ai-rmf"])
def test_exports_count_edits_apart_from_prompts(name: str) -> None:
    """Three edits of sixteen source images beside a test with two prompts."""
    plain = hand.task("openbias", n_images=8, n_prompts=2)
    text = render(name, hand.results(edited=_task(), plain=plain))
    assert "3 edits of 16 source images" in text
    assert "5 prompts" not in text
