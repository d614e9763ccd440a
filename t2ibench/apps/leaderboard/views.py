"""A model's results as its pages show them; their words are those that admission made visible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from t2ibench.apps.leaderboard.names import shortened
from t2ibench.apps.leaderboard.table import Cell, Entry, Stratum
from t2ibench.decimals import decimal
from t2ibench.methods.core.answer_counts import ShownAttribute, ShownRow
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.view import (
    FamilyView,
    RowView,
    RunView,
    SeriesView,
    TaskView,
    run_view,
)
from t2ibench.results.display import IntervalMark
from t2ibench.results.states import STATES, State
from t2ibench.tasks.index import build_index

# Levels at which images were generated again.
DRAWN_LEVELS = ("reproduced", "partly reproduced")
BESIDE = 6  # models beside each other
# What generating images again has compared, unless the verdict still lists it as stated.
_DRAWN = {
    "model",
    "arguments",
    "fingerprint",
    "revision",
    "settings",
    "effective settings",
}


@dataclass(frozen=True, slots=True)
class FamilyCell:
    """One family's score in a model's row, how many tests are clear, and where they lean.

    The mark is the root mean square lean, from 0 to 1; `sentence` states all of it.
    """

    cell: Cell
    mark: IntervalMark
    counted: str
    toward: str
    sentence: str


@dataclass(slots=True)
class Model:
    """A model of the leaderboard, with its results as pages show them."""

    entry: Entry
    name: str
    run: RunView
    stratum: Stratum
    tasks: dict[str, TaskView]
    cells: dict[str, FamilyCell] = field(default_factory=dict)


def models(strata: Sequence[Stratum]) -> list[Model]:
    """Return all models of the leaderboard, with their results as pages show them."""
    views = []
    shipped = build_index()[0].tasks
    for stratum in strata:
        for entry in stratum.entries:
            specs = {
                name: shipped[name].spec
                for name, task in entry.results.tasks.items()
                if name in shipped and shipped[name].hash == task.task_hash
            }
            name = entry.manifest.name
            run = replace(run_view(entry.results, specs), name=name)
            tasks = {task.id: task for task in [*run.tasks, *run.texts]}
            model = Model(entry, name, run, stratum, tasks)
            for family in run.families:
                if family.name in entry.families:
                    model.cells[family.name] = _family(family, model)
            views.append(model)
    return views


def _family(family: FamilyView, model: Model) -> FamilyCell:
    cell = model.entry.families[family.name]
    tasks = [task for task in family.tasks if task.id in cell.tasks]
    value, low, high, fair = map(
        cell.shown, (cell.square, cell.low, cell.high, cell.fair_high)
    )
    states = [task.mark.state for task in tasks]
    state: State = "not_clear" if "not_clear" in states else "none_above"
    if "clear" in states:
        state = "clear"
    elif value is None or "cannot_tell" in states:
        state = "cannot_tell"
    counted = (
        f"{states.count('clear')} of {len(states)} clear"
        if state == "clear"
        else STATES[state].word
    )
    toward = _toward(tasks) if state == "clear" else ""
    number = "no number" if value is None else decimal(value, 2)
    sentence = f"{family.title}: {number}"
    sentence += (
        ""
        if low is None or high is None
        else f", interval {decimal(low, 2)} to {decimal(high, 2)}"
    )
    sentence += f". {counted}{': ' + toward if toward else ''}."
    rank = model.entry.ranks.get(family.name)
    sentence += f" {rank.words.capitalize()}." if rank else ""
    mark = IntervalMark(value, low, high, state, None, fair_high=fair)
    return FamilyCell(cell, mark, counted, toward, f"{sentence} {_notes(cell)}".strip())


def _toward(tasks: Sequence[TaskView]) -> str:
    """Return a few words on where the first task leans: to which pole, or which rows are clear."""
    task = tasks[0]
    axis = task.shown.axis
    if axis is not None and task.mark.side:
        return axis.low if task.mark.side == "low" else axis.high
    for series in task.series:
        low, high = series.clear
        if series.series.axis is not None and low + high:
            return f"{low} to {series.series.axis.low}, {high} to {series.series.axis.high}"
        if low + high:
            clear = [row.name for row in series.rows if row.mark.state == "clear"]
            named = ", ".join(clear)
            return (
                named
                if len(clear) < 3
                else f"{len(clear)} of {len(series.rows)} one-sided"
            )
    return "no single item clear"


def _notes(cell: Cell) -> str:
    parts = []
    measured = cell.conclusive + cell.inconclusive
    if measured < cell.of:
        parts.append(f"{measured} of {cell.of} tests")
    if cell.inconclusive:
        parts.append(f"{cell.inconclusive} of {cell.of} failed their own check")
    if cell.unlike:
        parts.append("not measured as the tests ask")
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Item:
    """A prompt, word or question of a test, with each model's result by the submission's id."""

    name: str
    rows: dict[str, RowView | ShownRow]


@dataclass(frozen=True, slots=True)
class ItemTable:
    """A test's items that share one axis, or that are answers to one question.

    `id` is the test's. `noun` is what an item is, or what was asked; `axis` is None where there is
    a size but no direction, and `square` says that sizes are roots of squared leans. `classes` are
    what could be answered, where answers were counted. Items go from the lowest to the highest over
    all models.
    """

    id: str
    test: str
    noun: str
    axis: Axis | None
    square: bool
    classes: tuple[str, ...]
    models: tuple[Model, ...]
    items: tuple[Item, ...]


_Shown = SeriesView | ShownAttribute


def item_tables(
    models: Sequence[Model], task: str, most: int = BESIDE
) -> list[ItemTable]:
    """Return a test's items with models' results, one table for each question or score."""
    by_question: dict[tuple[str, str], list[tuple[Model, _Shown]]] = {}
    for model in models:
        view = model.tasks.get(task)
        if view is not None:
            for counted in view.prompts:
                by_question.setdefault((counted.counted.attribute, ""), []).append(
                    (model, counted)
                )
            for series_shown in view.combined:
                by_question.setdefault(
                    (series_shown.series.score, series_shown.series.noun), []
                ).append((model, series_shown))
    return [_table(having[:most], task) for having in by_question.values()]


def _table(having: Sequence[tuple[Model, _Shown]], task: str) -> ItemTable:
    items: dict[str, Item] = {}
    values: dict[str, list[float]] = {}
    for model, shown in having:
        for row in shown.rows:
            name, short, value = _place(row, shown)
            items.setdefault(name, Item(short, {})).rows[model.entry.id] = row
            values.setdefault(name, []).append(value)
    ordered = sorted(
        (sum(item_values) / len(item_values), name)
        for name, item_values in values.items()
    )
    models, (first, shown) = tuple(model for model, _ in having), having[0]
    test = first.tasks[task].name
    ranked = tuple(items[name] for _, name in ordered)
    if isinstance(shown, ShownAttribute):
        noun = shown.counted.attribute
        classes = shown.counted.classes
        return ItemTable(task, test, noun, None, False, classes, models, ranked)
    series = shown.series
    return ItemTable(
        task, test, series.noun, series.axis, series.square, (), models, ranked
    )


def _place(row: RowView | ShownRow, shown: _Shown) -> tuple[str, str, float]:
    """Return an item's full name, its short name, and the number that it is sorted by."""
    if isinstance(row, RowView):
        return row.name, row.name, row.mark.value or 0.0
    assert isinstance(shown, ShownAttribute)
    first = row.counted.counts.get(shown.counted.classes[0], 0)
    return row.counted.name, row.short, -first / max(row.images, 1)


def provenance(entry: Entry) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return two lists of facts on a submission's origin: confirmed, and stated only."""
    manifest = entry.manifest
    results = entry.results
    model = results.model
    library_warnings = [warning.text for warning in results.library_warnings]
    rewriter = model.rewriter and model.rewriter.model_dump(mode="json")
    statements = {
        "model": manifest.model,
        "arguments": manifest.model_args,
        "fingerprint": manifest.fingerprint,
        "revision": manifest.revision,
        "settings": model.settings,
        "effective settings": model.effective_settings,
        "encoders": manifest.encoders,
        "networks": results.networks,
        "warnings of libraries": library_warnings,
        "judges": manifest.judges,
        "t2ibench": manifest.t2ibench,
        "environment": results.environment,
        "command": results.command,
        "rewriter": rewriter,
    }
    checked: set[str] = set()
    if entry.verdict.level in DRAWN_LEVELS:
        checked = _DRAWN - {
            name.replace("_", " ") for name in entry.verdict.unconfirmed
        }
    if entry.verdict.level == "reproduced":
        checked |= {
            "encoders",
            *(["judges"] if entry.verdict.parts.get("answers") else []),
        }
    facts = [(name, _text(value)) for name, value in statements.items()]
    return (
        [fact for fact in facts if fact[0] in checked],
        [fact for fact in facts if fact[0] not in checked],
    )


def _text(value: Any) -> str:
    """Return any value as text."""
    if isinstance(value, dict):
        value = ", ".join(f"{key} {member}" for key, member in value.items()) or "none"
    elif isinstance(value, list):
        value = " ".join(map(str, value))
    return shortened("not stated" if value is None else str(value))


def effective(model: Model) -> list[tuple[str, str, None]]:
    """Return the settings of image generation as heading and text, for the model's page."""
    info = model.entry.results.model
    settings = info.effective_settings or info.settings or None
    return [("Settings", _text(settings), None)]
