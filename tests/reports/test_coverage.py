"""The first lines of every page: what was asked, who answered, and what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from t2ibench.methods.core.headline import Control
from t2ibench.reports.coverage import Coverage, coverage
from t2ibench.reports.exclusions import excluded_of
from t2ibench.reports.files import task_files
from t2ibench.reports.html.page import report_html
from t2ibench.reports.html.sections import run_sections
from t2ibench.reports.limits import limits
from t2ibench.reports.view import run_view
from t2ibench.results.files import read_results
from t2ibench.results.people import AskedQuestion
from t2ibench.results.schema import Results, TaskResult
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


def judged(n_images: int = 20, **changes: Any) -> TaskResult:
    """A test about whose twenty images a model answered one question."""
    return hand.task(
        "openbias",
        n_images=n_images,
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


@pytest.mark.parametrize("answered", [0, 12])
def test_images_that_people_left_unanswered_are_not_missing(answered: int) -> None:
    task = judged(
        n_images=answered,
        excluded={"missing": 20 - answered + 3, "refused": 2, "repeated": 1},
        questions=[asked("person gender", answered)],
    )
    # Twenty distinct images, one that repeats another, and three that do not exist.
    (line,) = covered(a=task).lines()
    assert line.endswith("Images: 21 of 26, 3 missing, 2 refused.")


def test_images_outside_of_a_labelled_sample_are_images_all_the_same() -> None:
    gender = AskedQuestion(
        about="person gender", images=20, answered=4, by={"anna": 4}, sampled=True
    )
    by_people = judged(
        n_images=4, excluded={"not labelled": 16, "refused": 5}, questions=[gender]
    )
    # Results of earlier versions have no questions.
    earlier = by_people.model_copy(update={"questions": []})
    for task in (by_people, earlier):
        (line,) = covered(a=task).lines()
        assert line.endswith("Images: 20 of 25, none missing, 5 refused.")
        assert excluded_of(task)[0] == 25


def test_without_a_folder_a_page_says_that_tests_may_share_images() -> None:
    run = run_view(hand.results(a=judged(n_prompts=2), b=judged(n_prompts=2)))
    found = coverage(run)
    assert found is not None and found.lines()[0].endswith(
        "Images: 40 of 40, none missing, none refused, counted once for each test."
    )
    assert limits(run)[-1][0] == "Covers the prompts of these 2 tests."
    alone = run_view(hand.results(a=judged(n_prompts=2)))
    assert limits(alone)[-1][0] == "Covers these 2 prompts."


def test_prompts_that_tests_share_count_once_and_images_for_each(
    shared_run: Path,
) -> None:
    results = read_results(shared_run)
    run = run_view(results, task_files(results, shared_run))
    made = hand.stored(shared_run, "attempts")
    found = coverage(run)
    assert found is not None and not found.images.not_made
    assert found.images.once_a_test
    assert found.images.total == sum(task.result.n_images for task in run.tasks)
    assert found.images.total > len(made)
    assert any("counted once for each test" in line for line in found.lines())
    prompts = {attempt["prompt"] for attempt in made}
    assert limits(run)[-1][0] == f"Covers these {len(prompts):,} prompts."


def test_images_without_an_embedding_are_not_missing(shared_run: Path) -> None:
    results = read_results(shared_run)
    name = "t2iat_science_arts"
    task = results.tasks[name]
    unread = task.model_copy(
        update={"n_images": task.n_images - 3, "excluded": {"missing": 3}}
    )
    alone = results.model_copy(update={"tasks": {name: unread}})
    specs = task_files(results, shared_run)
    without_folder = Results.model_validate(alone.model_dump())
    for given, made in ((alone, task.n_images), (without_folder, task.n_images - 3)):
        found = coverage(run_view(given, specs))
        assert found is not None
        assert (found.images.made, found.images.total) == (made, task.n_images)


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


def test_judges_that_only_check_guided_images_are_named(shared_run: Path) -> None:
    results = read_results(shared_run)
    name = "t2iat_science_arts"
    task = results.tasks[name]
    settings = task.settings.model_copy(update={"judges": {"toyland": "0" * 64}})
    checked = {
        name: task.model_copy(
            update={
                "settings": settings,
                "controls": {"obedience": Control(says="All show it.")},
            }
        )
    }
    only = results.model_copy(update={"tasks": checked})
    found = coverage(run_view(only, task_files(results, shared_run)))
    assert found is not None
    (asked, *_) = found.parts()
    assert asked == ("Asked", "toyland, whether guided images show what was asked for")


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


def test_two_tests_by_one_judge_say_once_what_it_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of them says besides which mistakes would explain its counts: that is cut off."""
    plain = "Answered by toyland: its mistakes are in every count"
    explained = f"{plain}, and a model without bias would read this if it erred often."
    sentences = iter([f"{plain}.", explained])
    monkeypatch.setattr(
        "t2ibench.reports.limits.judges_said", lambda _: next(sentences)
    )
    run = run_view(hand.results(a=judged(), b=judged()))
    (said,) = [text for title, text in limits(run) if title.startswith("One judge")]
    assert said == f"{plain}."
