"""A model as its pages show it: nothing that a stranger wrote is hidden, reordered or endless."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from t2ibench.leaderboard.names import visible
from t2ibench.leaderboard.ranks import Rank
from t2ibench.leaderboard.strata import Overall, Stratum
from t2ibench.leaderboard.table import Cell, Entry
from t2ibench.reports.html.words import ticks
from t2ibench.reports.view import FamilyView, RunView, TaskView, run_view
from t2ibench.results.display import IntervalMark as Mark
from t2ibench.results.display import State
from t2ibench.results.schema import Results
from t2ibench.store.evidence import slug
from t2ibench.tasks.index import build_index

# Levels at which images were generated again.
DRAWN_LEVELS = ("reproduced", "partly reproduced")
TOYS = ("toy", "toy-fair", "toyland")
_LONGEST = 2000  # characters of a text in results
_SAFE = re.compile(r"[a-z0-9][a-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class FamilyCell:
    """A family in a model's row.

    Attributes:
        name: The family.
        mark: The root mean square lean on an axis from 0 to 1, which is drawn over -1 to 1.
        value: The number; None without one.
        square: What it is sorted by.
        low: Lower end of the interval.
        high: Upper end.
        fair: What a fair model stays below.
        state: Clear where any of its tests is.
        counted: How many tests are clear, as words.
        toward: Which way, in words; empty without a clear test.
        said: All of it in a sentence.
        dashes: Sizes of the items behind it.
        rank: Its rank in the stratum.
        notes: What else to know.
        rooted: Whether it is a root mean square, without sign.
    """

    name: str
    mark: Mark
    value: float | None
    square: float | None
    low: float | None
    high: float | None
    fair: float | None
    state: State
    counted: str
    toward: str
    said: str
    dashes: tuple[float, ...]
    rank: Rank | None
    notes: str
    rooted: bool = True


@dataclass(slots=True)
class Model:
    """A model of the leaderboard.

    Attributes:
        entry: Its submission.
        page: Name of its page, without folder and ending.
        name: What the leaderboard calls it.
        run: Its results as pages show them.
        stratum: How it was measured.
        cells: Family to cell.
        pictures: Prompt to addresses of its images, below the site's folder.
    """

    entry: Entry
    page: str
    name: str
    run: RunView
    stratum: Stratum
    cells: dict[str, FamilyCell] = field(default_factory=dict)
    pictures: dict[str, list[str]] = field(default_factory=dict)

    @property
    def overall(self) -> Overall | None:
        """Its rank over families."""
        return self.stratum.overall.get(self.entry.id)

    @property
    def drawn(self) -> bool:
        """Whether some of its images were generated again."""
        return self.entry.level in DRAWN_LEVELS

    @property
    def toy(self) -> bool:
        """Whether it is one of the bundled toys."""
        return self.entry.manifest.model in TOYS

    @property
    def why(self) -> str:
        """Why it has no rank over families."""
        return self.stratum.why.get(self.entry.id, "")

    @property
    def tasks(self) -> dict[str, TaskView]:
        """Task id to the task, tests of texts included."""
        return {task.id: task for task in [*self.run.tasks, *self.run.texts]}


def _clean(results: Results) -> Results:
    """Results without text that hides anything; numbers are as they were."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                _line(key) if isinstance(key, str) else key: walk(v) for key, v in value.items()
            }
        if isinstance(value, list | tuple):
            return [walk(one) for one in value]
        return _line(value) if isinstance(value, str) else value

    return Results.model_validate(walk(results.model_dump(mode="python")))


def _line(text: str) -> str:
    return text if text.isascii() and text.isprintable() else visible(text, _LONGEST)


def pages(entries: Sequence[Entry]) -> dict[str, str]:
    """What the page of each model is called."""
    names = {entry.id: slug(entry.manifest.name).lower() for entry in entries}
    taken = list(names.values())
    return {
        key: name
        if taken.count(name) == 1 and _SAFE.fullmatch(name) and name != "unnamed"
        else key.lower()
        for key, name in names.items()
    }


def models(strata: Sequence[Stratum]) -> list[Model]:
    """All models, as their pages show them."""
    entries = [entry for stratum in strata for entry in stratum.entries]
    named, found, shipped = pages(entries), [], build_index()[0].tasks
    for stratum in strata:
        for entry in stratum.entries:
            results = _clean(entry.results)
            specs = {
                name: shipped[name].spec
                for name, task in results.tasks.items()
                if name in shipped and shipped[name].hash == task.task_hash
            }
            run = run_view(results, specs)
            model = Model(
                entry, named[entry.id], visible(entry.manifest.name), _named(run, entry), stratum
            )
            few = len(entries) > 60
            for family in run.families:
                if family.name in entry.families:
                    cell = entry.families[family.name]
                    suite = tuple(task for task in family.tasks if task.id in cell.tasks)
                    rank = stratum.ranks[entry.id].get(family.name)
                    model.cells[family.name] = _family(
                        replace(family, tasks=suite), cell, rank, few, verified=entry.verified
                    )
            found.append(model)
    return found


def _named(run: RunView, entry: Entry) -> RunView:
    return replace(run, name=visible(entry.manifest.name))


def _family(
    family: FamilyView, cell: Cell, rank: Rank | None, few: bool, *, verified: bool
) -> FamilyCell:
    value, low, high = cell.shown(cell.square), cell.shown(cell.low), cell.shown(cell.high)
    fair = cell.shown(cell.fair_high)
    states = [task.mark.state for task in family.tasks]
    state: State = "not_clear"
    if "clear" in states and verified:
        state = "clear"
    elif value is None or "cannot_tell" in states or not verified:
        state = "cannot_tell"
    clear = states.count("clear")
    counted = f"{clear} of {len(states)} clear" if state == "clear" else _WORDS[state]
    if not verified:
        counted = "as stated"
    toward = _toward(family) if state == "clear" else ""
    number = "no number" if value is None else f"{value:.2f}"
    interval = "" if low is None or high is None else f", interval {low:.2f} to {high:.2f}"
    ranked = f" Rank {span(rank.best, rank.worst)} of {rank.among}." if rank else ""
    notes = _notes(family, cell)
    said = f"{family.title}: {number}{interval}. {counted}{': ' + toward if toward else ''}."
    return FamilyCell(
        family.name, Mark(_at(value), _at(low), _at(high), state, None, _at(0.0), _at(fair)),
        value, cell.square, low, high, fair, state, counted, toward,
        f"{said}{ranked} {notes}".strip(), _dashes(family, few), rank, notes, cell.rooted,
    )  # fmt: skip


_WORDS: dict[State, str] = {"not_clear": "none found", "cannot_tell": "cannot tell"}


def _at(size: float | None) -> float | None:
    """A size from 0 to 1 on an axis from -1 to 1."""
    return None if size is None else 2 * size - 1


def _dashes(family: FamilyView, few: bool) -> tuple[float, ...]:
    """Sizes behind the number: of each stimulus, or of each test where models are many."""
    found: list[float] = []
    for task in family.tasks:
        items = ticks(task) if not few and task.mark.side is None else []
        found += items or ([] if task.mark.value is None else [task.mark.value])
    return tuple(sorted(2 * min(abs(one), 1.0) - 1 for one in found))


def _toward(family: FamilyView) -> str:
    """Which way the strongest clear test of a family leans, in few words."""
    task = next((one for one in family.tasks if one.mark.state == "clear"), None)
    if task is None:
        return ""
    axis = task.shown.axis
    if axis is not None and task.mark.side:
        return axis.low if task.mark.side == "low" else axis.high
    for series in task.series:
        low, high = series.clear
        if series.series.axis is not None and low + high:
            return f"{low} to {series.series.axis.low}, {high} to {series.series.axis.high}"
        if low + high:
            return f"{low + high} of {len(series.rows)} one-sided"
    return "no single item clear"


def _notes(family: FamilyView, cell: Cell) -> str:
    parts = []
    measured = cell.conclusive + cell.inconclusive
    if measured < cell.of:
        parts.append(f"{measured} of {cell.of} tests")
    if cell.inconclusive:
        parts.append(f"{cell.inconclusive} of {cell.of} inconclusive")
    if cell.fewer:
        parts.append("fewer images than the tests ask for")
    return "; ".join(parts)


def span(low: float, high: float) -> str:
    """A range of ranks.

    Examples:
        >>> span(1, 1), span(1.5, 3)
        ('1', '1.5–3')
    """
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"
