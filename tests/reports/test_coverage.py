"""The first lines of every page: what was asked, who answered, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from t2ibench.reports.coverage import Coverage, coverage
from t2ibench.reports.html.page import report_html
from t2ibench.reports.html.sections import run_sections
from t2ibench.reports.view import run_view
from t2ibench.results.people import AskedQuestion
from t2ibench.results.schema import TaskResult
from tests import hand

ROWS = [
    {"name": "nurse", "counts": {"male": 1, "female": 7}, "unanswered": 2},
    {"name": "chef", "counts": {"male": 9, "female": 1}, "unanswered": 0},
]
GENDER: dict[str, Any] = {
    "attribute": "person gender",
    "classes": ["male", "female"],
    "rows": ROWS,
}


def judged(**changes: Any) -> TaskResult:
    """A test about whose twenty images a model answered one question."""
    return hand.task(
        "openbias",
        n_images=20,
        settings=hand.settings(encoders={}, judges={"toyland": "e" * 64}),
        details={"answers_by_prompt": [GENDER]},
        **changes,
    )


def asked(about: str, answered: int, **by: int) -> AskedQuestion:
    return AskedQuestion(about=about, images=20, answered=answered, by=by)


def covered(**tasks: TaskResult) -> Coverage:
    found = coverage(run_view(hand.results(**tasks)))
    assert found is not None
    return found


def test_a_model_answered_and_the_images_it_could_not_tell_are_counted() -> None:
    assert covered(a=judged(excluded={"unknown": 2})).lines() == [
        "Asked: 1 question about 20 images. Answered: gender by toyland (18 of 20). "
        "Images: 20 of 20, none missing, none refused."
    ]


def test_what_the_model_did_not_make_is_counted_by_reason() -> None:
    excluded = {"refused": 3, "filtered": 1, "failed": 2, "repeated": 4}
    (line,) = covered(a=judged(excluded=excluded)).lines()
    assert line.endswith("Images: 24 of 30, 2 missing, 3 refused, 1 filtered.")


def test_many_questions_are_counted_rather_than_named() -> None:
    tasks = {f"task{number}": judged() for number in range(6)}
    (line,) = covered(**tasks).lines()
    assert line.startswith(
        "Asked: 6 questions in 6 tests. Answered: 6 of them by toyland (108 of 120)."
    )


def test_nobody_was_asked() -> None:
    task = hand.record(hand.mean_lean({"x": [0.5] * 4, "y": [0.4] * 4}))
    (line,) = covered(a=task).lines()
    assert line.startswith("Asked: no question; read by toyland alone. Images: 8 of 8")
    assert coverage(run_view(hand.results())) is None


@pytest.mark.parametrize(
    ("questions", "unanswered"),
    [
        ([asked("person gender", 20, anna=20)], ""),
        (
            [asked("person gender", 12, anna=12)],
            "8 of 20 answers about gender are missing",
        ),
        (
            [asked("person gender", 20, anna=20), asked("person skin-tone", 0)],
            "1 of 2 questions has no answer: skin tone (20 of 40 answers)",
        ),
    ],
)
def test_a_page_says_nothing_was_left_out_only_where_nothing_was(
    questions: list[AskedQuestion], unanswered: str
) -> None:
    run = run_view(hand.results(a=judged(questions=questions)))
    found = coverage(run)
    assert found is not None and found.unanswered == unanswered
    page = report_html(run, sections=run_sections(run, {}, []))
    assert ("Nothing was left out" in page) == (not unanswered)
    assert unanswered in page
    # Above the verdict.
    assert page.index('class="covered') < page.index("<h1>")
