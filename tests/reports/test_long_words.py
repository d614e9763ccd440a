"""Pages whose every name holds a word of thousands of letters never scroll sideways."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from t2ibench.reports.comparison import read_comparison
from t2ibench.reports.figures.plane import axes_of
from t2ibench.reports.html.comparison_page import comparison_html
from t2ibench.reports.html.frontier_page import frontier_html
from t2ibench.reports.html.inline import run_html
from t2ibench.reports.html.page import report_html
from t2ibench.reports.html.trend_page import trend_html
from t2ibench.reports.several_runs_axes import axes_of as axes_of_runs
from t2ibench.reports.view import run_view
from t2ibench.results.compared_runs import read_runs
from t2ibench.results.schema import Results
from t2ibench.results.several_runs import compare_runs
from tests.apps.explorer.page import Watch
from tests.conftest import copied
from tests.reports.test_frontier_page import two_remedies

WORD = "m" * 3000
WIDTHS = (390, 1280)
# Keys of results.json that hold text of tasks, models, prompts and judges.
FREE_TEXT = {
    *("title", "direction", "notes", "warnings", "says", "reason", "inconclusive"),
    *("contradicts", "lowest_prompt", "highest_prompt", "revision", "command"),
}


def lengthened(content: Any, key: str = "") -> Any:
    """A part of results.json, with a long word behind each free text and each row's name."""
    if isinstance(content, dict):
        named = {name: lengthened(part, name) for name, part in content.items()}
        if key == "encoders" or key == "judges":
            return {f"{name}{WORD}": part for name, part in named.items()}
        return named
    if isinstance(content, list):
        rows = key == "by"
        return [
            lengthened(part | {"name": f"{part['name']}{WORD}"} if rows else part, key)
            for part in content
        ]
    is_free = key in FREE_TEXT and isinstance(content, str)
    return f"{content} {WORD}" if is_free else content


def long_results(run: Path, name: str) -> Results:
    """The results of a run, with long words in all of their texts."""
    content = json.loads((run / "results.json").read_text(encoding="utf-8"))
    content["tasks"] = {
        task: lengthened(record) for task, record in content["tasks"].items()
    }
    del content["checksum"]
    content["model"] |= {"name": f"{name}{WORD}", "revision": WORD}
    return Results.model_validate(content)


def report(run: Path, root: Path) -> str:
    return report_html(run_view(long_results(run, "toyland")))


def inline(run: Path, root: Path) -> str:
    """A run inside another page, as a notebook shows it."""
    summary = run_html(long_results(run, "toyland"))
    return f"<!doctype html><meta name=viewport content=width=device-width>{summary}"


def long_runs(run: Path, root: Path, count: int) -> list[Path]:
    """Folders of runs with such results."""
    folders = [copied(run, root / f"run-{number}") for number in range(count)]
    for folder in folders:
        changed = long_results(run, folder.parent.name)
        (folder / "results.json").write_text(changed.to_json(), encoding="utf-8")
    return folders


def comparison(run: Path, root: Path) -> str:
    first, second = long_runs(run, root, 2)
    return comparison_html(read_comparison(first, second))


def trend(run: Path, root: Path) -> str:
    paths = [str(folder) for folder in long_runs(run, root, 3)]
    runs = compare_runs(read_runs(paths, ()), ordered=True)
    return trend_html(runs, axes_of_runs(runs), left_out=WORD)


def frontier(run: Path, root: Path) -> str:
    return frontier_html(two_remedies(f"faulty{WORD}"), axes_of("lean,diversity"))


PAGES = (report, inline, comparison, trend, frontier)


@pytest.mark.parametrize("page_of", PAGES)
def test_a_word_of_thousands_of_letters_breaks(
    browser: Any,
    shared_run: Path,
    tmp_path: Path,
    page_of: Callable[[Path, Path], str],
) -> None:
    page_file = tmp_path / "page.html"
    page_file.write_text(page_of(shared_run, tmp_path), encoding="utf-8")
    for width in WIDTHS:
        watch = Watch(browser, "file://", viewport={"width": width, "height": 900})
        watch.page.goto(page_file.as_uri())
        assert WORD in watch.page.content()
        watch.page.evaluate(
            "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
        )
        across = watch.page.evaluate("document.documentElement.scrollWidth")
        assert across <= width
        watch.close()
