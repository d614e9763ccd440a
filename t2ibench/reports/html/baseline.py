"""A run beside another one: what changed, with its interval, and the same seeds in pairs."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from t2ibench.reports.cells import format_p
from t2ibench.reports.html.evidence import SHOWN, Strip, Thumbnails, Tile, rewritten_to
from t2ibench.reports.html.page import Beside, fragment
from t2ibench.reports.view import RunView, SeriesView
from t2ibench.results.comparison import Difference, compare, rewriting_line, told_in_words
from t2ibench.results.display import displayed
from t2ibench.results.files import read_results
from t2ibench.results.paired import read_paired
from t2ibench.results.prompt_changes import compare_prompts, request_of
from t2ibench.results.samples import read_samples
from t2ibench.results.text_image_alignment import agreement_sentence, compare_agreement

_TOLD = 2  # attributes whose change the summary tells


def beside(run: RunView, folder: Path, baseline: Path, thumbnails: Thumbnails) -> Beside | None:
    """This run beside another, of the same tasks."""
    results = read_results(baseline)
    name = results.title if results.title != run.name else baseline.name
    paired = read_paired(folder), read_paired(baseline)
    found = compare(run.results, results, *paired)
    agreement = compare_agreement(run.results, results, *paired)
    differences = {one.task: one for one in found if not one.row}
    by_row = {(one.task, one.row, one.name): one for one in found if one.row}
    prompts = compare_prompts(results, run.results)
    changes = []
    for task in run.tasks:
        one = differences.get(task.id)
        if one is not None:
            series = next((s for s in task.combined if s.series.axis is not None), None)
            changes.append(
                SimpleNamespace(
                    task=task,
                    other=displayed(results.tasks[task.id].headline).value,
                    difference=one,
                    words=told_in_words(one, run.name, name),
                    items=None if one.p_items is None else format_p(one.p_items),
                    series=series,
                    rows=[] if series is None else _rows(task.id, series, by_row, (run.name, name)),
                )
            )
    if not changes:
        return None
    ids = [change.task.id for change in changes]
    theirs = Thumbnails(baseline, thumbnails.page, thumbnails.budget // 4)
    section = fragment(
        "baseline.html",
        agreement=agreement_sentence(agreement, (run.name, name)),
        changes=changes,
        prompts=prompts,
        asked=request_of(run.results),
        name=name,
        run=run,
        remark=rewriting_line(run.results, results),
        strips=_pairs(ids, (folder, run.name, thumbnails), (baseline, name, theirs)),
    )
    values = {change.task.id: change.other for change in changes}
    says = [_says(run, name, differences), *(one.sentences()[0] for one in prompts)]
    return Beside(name, " ".join(says[: 1 + _TOLD]), values, section)


def _says(run: RunView, name: str, differences: Mapping[str, Difference]) -> str:
    """How often which of two runs leans less; positive controls do not count."""
    found = [differences[task.id].verdict for task in run.tests if task.id in differences]
    mine, theirs = found.count("first"), found.count("second")
    told = f"{run.name} leans less in {mine} of {len(found)} tests, {name} in {theirs}"
    rest = len(found) - mine - theirs
    return f"Beside {name}: {told}; in {rest} neither does beyond chance."


def _rows(
    task: str,
    series: SeriesView,
    found: Mapping[tuple[str, str, str], Difference],
    names: tuple[str, str],
) -> list[SimpleNamespace]:
    """The rows of a series that both runs have, the largest difference first."""
    pairs = [(row, found.get((task, row.name, series.series.score))) for row in series.rows]
    rows = [
        SimpleNamespace(
            row=row, other=one.second.value, difference=one, words=told_in_words(one, *names)
        )
        for row, one in pairs
        if one is not None and one.value is not None and row.mark.value == one.first.value
    ]
    return sorted(rows, key=lambda one: (-abs(one.difference.value or 0.0), one.row.name))


_Side = tuple[Path, str, Thumbnails]


def _pairs(tasks: Sequence[str], first: _Side, second: _Side) -> list[Strip]:
    """The same prompts and indices from both runs, drawn by the tasks' names."""
    mine, theirs = (_by_image(folder, tasks) for folder, _, _ in (first, second))
    shared = sorted(mine.keys() & theirs.keys())
    if not shared:
        return []
    digest = hashlib.sha256("\0".join(tasks).encode()).digest()
    drawn = random.Random(int.from_bytes(digest[:8], "little"))
    chosen = drawn.sample(shared, min(SHOWN, len(shared)))
    rule = f"{len(chosen)} of {len(shared):,}, same prompt and seed, drawn by the tests’ names"
    strips = []
    for rows, (_, name, thumbnails) in ((mine, first), (theirs, second)):
        tiles = []
        for key in chosen:
            row, caption = rows[key], f"{key[0]}{rewritten_to(rows[key])}"
            alt, file = f"{caption}, number {key[1]}, from {name}", thumbnails.link(row)
            tiles.append(Tile(thumbnails.of(row), alt, caption, file=file))
        strips.append(Strip(name, rule, tuple(tiles)))
    return strips


def _by_image(folder: Path, tasks: Sequence[str]) -> dict[tuple[str, int], Mapping[str, Any]]:
    found: dict[tuple[str, int], Mapping[str, Any]] = {}
    for task in tasks:
        for row in read_samples(folder, task):
            if isinstance(row.get("file"), str) and isinstance(row.get("index"), int):
                found.setdefault((str(row.get("prompt")), row["index"]), row)
    return found
