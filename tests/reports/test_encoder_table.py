"""Tests of words alone stand in a table, and a family of tests, of their own."""

from __future__ import annotations

import pytest

from t2ibench.reports.markdown import OF_ENCODERS, results_markdown
from t2ibench.reports.terminal import screen
from t2ibench.reports.view import run_view
from t2ibench.results.build import adjusted_run
from t2ibench.results.display import text_only
from t2ibench.results.schema import (
    GeneratorInfo,
    Headline,
    Results,
    Score,
    TaskResult,
    TaskSettings,
)


def task(method: str, p: float, n_images: int, **parts: object) -> TaskResult:
    return TaskResult.model_validate(
        {
            "version": 1,
            "method": method,
            "task_hash": "0" * 64,
            "family": method,
            "title": "by hand",
            "headline": Headline(value=0.5, p=p, scale="lean"),
            "scores": {"d": Score(value=1.0, p=p)},
            "n_images": n_images,
            "settings": TaskSettings(encoders={"toy-clip": "1" * 64}),
            **parts,
        }
    )


def results(**tasks: TaskResult) -> Results:
    return Results(
        t2ibench="0",
        model=GeneratorInfo(name="toy"),
        command=[],
        environment={},
        limited=False,
        tasks=tasks,
    )


BOTH = {"of_images": task("t2iat", 0.02, 8), "of_words": task("weat", 0.03, 0)}


def test_words_alone_come_second_with_the_line_that_says_what_they_describe() -> None:
    text = results_markdown(results(**BOTH))
    first, _, second = text.partition("## Text encoders")
    assert "| of_images" in first and "| of_words" not in first
    assert OF_ENCODERS in second
    assert "| of_words" in second and "| of_images" not in second


@pytest.mark.parametrize("width", [60, 120])
def test_the_terminal_counts_tests_of_words_and_shows_them_where_there_are_no_others(
    width: int,
) -> None:
    lines = [line.plain for line in screen(run_view(results(**BOTH)), width)]
    text = " ".join(" ".join(lines).split())
    assert text.index("of_images") < text.index("Words alone")
    assert "1 of 1 lean clearly" in text and "of_words" not in text
    alone = [line.plain for line in screen(run_view(results(of_words=BOTH["of_words"])), width)]
    assert any("of_words" in line and "+0.50" in line for line in alone)
    assert max(map(len, [*lines, *alone])) <= width


def test_p_values_are_adjusted_within_each_table() -> None:
    tasks = {**BOTH, "more_images": task("t2iat", 0.04, 8)}
    found = adjusted_run(tasks)
    assert list(found) == list(tasks)
    assert found["of_words"].headline.p_holm == pytest.approx(0.03)
    assert found["of_images"].headline.p_holm == pytest.approx(0.04)
    assert found["of_words"].scores["d"].p_holm == pytest.approx(0.03)


def test_images_that_are_missing_are_still_images() -> None:
    assert text_only(BOTH["of_words"])
    assert not text_only(task("t2iat", 0.5, 0))
    assert not text_only(task("weat", 0.5, 0, excluded={"refused": 3}))
