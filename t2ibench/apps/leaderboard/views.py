"""A model as its pages show it: nothing that a stranger wrote is hidden, reordered or endless."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.ranks import Rank, span
from t2ibench.apps.leaderboard.table import Cell, Entry, Stratum
from t2ibench.apps.leaderboard.thumbs import SHOWN_IMAGES, thumbnails
from t2ibench.methods import needs
from t2ibench.methods.core.answer_counts import ShownAttribute, ShownRow
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.html.words import ticks
from t2ibench.reports.view import FamilyView, RowView, RunView, SeriesView, TaskView, run_view
from t2ibench.results.display import WORDS, State
from t2ibench.results.display import IntervalMark as Mark
from t2ibench.results.schema import Results
from t2ibench.settings import Settings
from t2ibench.store.evidence import slug
from t2ibench.store.images import image_key
from t2ibench.tasks.index import build_index

# Levels at which images were generated again.
DRAWN_LEVELS = ("reproduced", "partly reproduced")
_LONGEST = 2000  # characters of a text in results
_SAFE = re.compile(r"[a-z0-9][a-z0-9._-]*")
BESIDE = 6  # models beside each other
# What generating images again has compared; everything else is the submitter's word, unless the
# verdict no longer lists it as such.
_DRAWN = ("model", "arguments", "fingerprint")
_OF_THE_MODEL = ("revision", "settings", "effective_settings")
_MANY = 60  # models, from which on a cell has a dash for each test, not for each item
_DEEPEST = 8  # of values that a submission states


@dataclass(frozen=True, slots=True)
class FamilyCell:
    """A family in a model's row.

    Attributes:
        cell: Its numbers.
        mark: The root mean square lean, from 0 to 1; clear where any of its tests is.
        counted: How many tests are clear, as words.
        toward: Which way, in words; empty without a clear test.
        said: All of it in a sentence.
        dashes: Sizes of the items behind it.
    """

    cell: Cell
    mark: Mark
    counted: str
    toward: str
    said: str
    dashes: tuple[float, ...]


@dataclass(slots=True)
class Model:
    """A model of the leaderboard.

    Attributes:
        entry: Its submission.
        page: Name of its page, without folder and ending.
        name: What the leaderboard calls it.
        run: Its results as pages show them.
        stratum: How it was measured.
        tasks: Task id to the task, tests of texts included.
        cells: Family to cell.
        pictures: Prompt to addresses of its images, below the site's folder.
    """

    entry: Entry
    page: str
    name: str
    run: RunView
    stratum: Stratum
    tasks: dict[str, TaskView]
    cells: dict[str, FamilyCell] = field(default_factory=dict)
    pictures: dict[str, list[str]] = field(default_factory=dict)

    @property
    def overall(self) -> Rank | None:
        """Its rank over families."""
        return self.stratum.overall.get(self.entry.id)

    @property
    def why(self) -> str:
        """Why it has no rank over families."""
        return self.stratum.why.get(self.entry.id, "")

    @property
    def ranks(self) -> dict[str, Rank]:
        """Family to its rank."""
        return self.stratum.ranks[self.entry.id]

    @property
    def drawn(self) -> bool:
        """Whether some of its images were generated again."""
        return self.entry.level in DRAWN_LEVELS


def _clean(results: Results) -> Results:
    """Results without text that hides anything; numbers are as they were."""

    def walk(value: Any) -> Any:
        if isinstance(value, dict):
            return {walk(key): walk(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [walk(one) for one in value]
        plain_text = not isinstance(value, str) or (value.isascii() and value.isprintable())
        return value if plain_text else visible(value, _LONGEST)

    return Results.model_validate(walk(results.model_dump(mode="python")))


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
            name = visible(entry.manifest.name)
            run = replace(run_view(results, specs), name=name)
            tasks = {task.id: task for task in [*run.tasks, *run.texts]}
            model = Model(entry, named[entry.id], name, run, stratum, tasks)
            model.pictures = _pictures(entry, specs)
            for family in run.families:
                if family.name in entry.families:
                    model.cells[family.name] = _family(family, model, len(entries) > _MANY)
            found.append(model)
    return found


@functools.cache
def _prompts(task: str, settings: Settings) -> frozenset[str]:
    return frozenset(needs(build_index()[0].tasks[task].spec, settings).images_by_prompt)


def _pictures(entry: Entry, tasks: Collection[str]) -> dict[str, list[str]]:
    """The thumbnails of the first images of each prompt."""
    keys = {path.stem for path in thumbnails(entry.folder)}
    prompts: set[str] = set()
    for name in tasks if keys else ():
        prompts |= _prompts(name, Settings.of(entry.results.tasks[name].settings))
    found: dict[str, list[str]] = {}
    for prompt in sorted(prompts):
        for index in range(SHOWN_IMAGES):
            key = image_key(entry.manifest.fingerprint, prompt, index)
            if key in keys:
                found.setdefault(prompt, []).append(f"thumbs/{entry.id}/{key}.jpg")
    return found


def _family(family: FamilyView, model: Model, many: bool) -> FamilyCell:
    cell = model.entry.families[family.name]
    tasks = [task for task in family.tasks if task.id in cell.tasks]
    value, low, high, fair = map(cell.shown, (cell.square, cell.low, cell.high, cell.fair_high))
    states = [task.mark.state for task in tasks]
    state: State = "not_clear" if "not_clear" in states else "none_above"
    if "clear" in states:
        state = "clear"
    elif value is None or "cannot_tell" in states:
        state = "cannot_tell"
    counted = (
        f"{states.count('clear')} of {len(states)} clear" if state == "clear" else WORDS[state]
    )
    toward = _toward(tasks) if state == "clear" else ""
    said = f"{family.title}: {'no number' if value is None else f'{value:.2f}'}"
    said += "" if low is None or high is None else f", interval {low:.2f} to {high:.2f}"
    said += f". {counted}{': ' + toward if toward else ''}."
    rank = model.ranks.get(family.name)
    said += f" Rank {span(rank.best, rank.worst)} of {rank.among}." if rank else ""
    sizes: list[float] = []  # of each stimulus, or of each test where models are many
    for task in tasks:
        items = [] if many or task.mark.side is not None else ticks(task)
        sizes += items or ([] if task.mark.value is None else [task.mark.value])
    mark = Mark(value, low, high, state, None, fair_high=fair)
    dashes = tuple(sorted(min(abs(one), 1.0) for one in sizes))
    return FamilyCell(cell, mark, counted, toward, f"{said} {_notes(cell)}".strip(), dashes)


def _toward(tasks: Sequence[TaskView]) -> str:
    """Which way the strongest of some tests, which is clear, leans, in few words."""
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
            return named if len(clear) < 3 else f"{len(clear)} of {len(series.rows)} one-sided"
    return "no single item clear"


def _notes(cell: Cell) -> str:
    parts = []
    measured = cell.conclusive + cell.inconclusive
    if measured < cell.of:
        parts.append(f"{measured} of {cell.of} tests")
    if cell.inconclusive:
        parts.append(f"{cell.inconclusive} of {cell.of} failed their own check")
    if cell.fewer:
        parts.append("fewer images than the tests ask for")
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt, word, stimulus or question of a test.

    Attributes:
        name: What it is.
        anchor: Its id on the test's page.
        rows: What each model shows there, by the model's page.
    """

    name: str
    anchor: str
    rows: dict[str, RowView | ShownRow]


@dataclass(frozen=True, slots=True)
class ItemTable:
    """The items of a test on one axis, or with the answers to one question.

    Attributes:
        test: The test's name.
        noun: What an item is, or what was asked.
        axis: The poles; None where there is a size but no direction.
        square: Whether the numbers are squared leans, shown as roots.
        classes: What could be answered, where answers were counted; else nothing.
        models: The models beside each other.
        items: From the lowest to the highest, over all models.
    """

    test: str
    noun: str
    axis: Axis | None
    square: bool
    classes: tuple[str, ...]
    models: tuple[Model, ...]
    items: tuple[Item, ...]


_Shown = SeriesView | ShownAttribute


def item_tables(models: Sequence[Model], task: str, most: int = BESIDE) -> list[ItemTable]:
    """The items of a test, a table for each question that was counted and for each other score."""
    found: dict[tuple[str, str], list[tuple[Model, _Shown]]] = {}
    for model in models:
        view = model.tasks.get(task)
        if view is not None:
            for counted in view.prompts:
                found.setdefault((counted.counted.attribute, ""), []).append((model, counted))
            for one in view.combined:
                found.setdefault((one.series.score, one.series.noun), []).append((model, one))
    used: set[str] = set()
    return [_table(having[:most], task, used) for having in found.values()]


def _table(having: Sequence[tuple[Model, _Shown]], task: str, used: set[str]) -> ItemTable:
    items: dict[str, Item] = {}
    values: dict[str, list[float]] = {}
    for model, shown in having:
        for row in shown.rows:
            name, short, value = _place(row, shown)
            items.setdefault(name, Item(short, _anchor(name), {})).rows[model.page] = row
            values.setdefault(name, []).append(value)
    ordered = []
    for _, name in sorted((sum(found) / len(found), name) for name, found in values.items()):
        anchor, number = items[name].anchor, 2
        while anchor in used:  # an id that no other item of the page has
            anchor, number = f"{items[name].anchor}-{number}", number + 1
        used.add(anchor)
        ordered.append(replace(items[name], anchor=anchor))
    models, (first, shown) = tuple(model for model, _ in having), having[0]
    test, ranked = first.tasks[task].name, tuple(ordered)
    if isinstance(shown, ShownAttribute):
        noun, classes = shown.counted.attribute, shown.counted.classes
        return ItemTable(test, noun, None, False, classes, models, ranked)
    one = shown.series
    return ItemTable(test, one.noun, one.axis, one.square, (), models, ranked)


def _place(row: RowView | ShownRow, shown: _Shown) -> tuple[str, str, float]:
    """What a row is about, in full and short, and where it stands."""
    if isinstance(row, RowView):
        return row.name, row.name, row.mark.value or 0.0
    assert isinstance(shown, ShownAttribute)
    first = row.counted.counts.get(shown.counted.classes[0], 0)
    return row.counted.name, row.short, -first / max(row.images, 1)


def _anchor(name: str) -> str:
    return "item-" + (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "x")


def words_of(
    tables: Sequence[tuple[str, str, Sequence[ItemTable]]],
) -> list[tuple[str, list[tuple[str, str]]]]:
    """Every item of every test, for finding one."""
    found: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    for task, title, shown in tables:
        for table in shown:
            for item in table.items:
                _, places = found.setdefault(item.name.casefold(), (item.name, []))
                if all(not place.startswith(f"{task}.html#") for place, _ in places):
                    places.append((f"{task}.html#{item.anchor}", title))
    return [found[key] for key in sorted(found)]


def provenance(entry: Entry) -> dict[str, dict[str, Any]]:
    """What a submission says of its origin."""
    manifest, results = entry.manifest, entry.results
    told = {
        "model": manifest.model,
        "arguments": manifest.model_args,
        "fingerprint": manifest.fingerprint,
        "revision": manifest.revision,
        "settings": results.model.settings,
        "effective_settings": results.model.effective_settings,
        "encoders": manifest.encoders,
        "judges": manifest.judges,
        "t2ibench": manifest.t2ibench,
        "environment": results.environment,
        "command": results.command,
    }
    if results.model.rewriter is not None:
        told["rewriter"] = results.model.rewriter.model_dump(mode="json")
    shown = {name: plain(value) for name, value in told.items()}
    checked: set[str] = set()
    if entry.level in DRAWN_LEVELS:
        checked |= {*_DRAWN, *(_OF_THE_MODEL if entry.stated else ())} - set(entry.stated)
    if entry.level == "reproduced":
        checked |= {"encoders", *(["judges"] if entry.parts.get("answers") else [])}
        checked |= set() if "rewritings" in entry.stated else {"rewriter"}
    return {
        "checked": {name: value for name, value in shown.items() if name in checked},
        "stated": {name: value for name, value in shown.items() if name not in checked},
    }


def plain(value: Any, depth: int = _DEEPEST) -> Any:
    """JSON of a stranger as it is shown: finite, not deep, and no text that hides anything."""
    if isinstance(value, Mapping) and depth:
        return {visible(str(key)): plain(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list | tuple) and depth:
        return [plain(one, depth - 1) for one in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return value if math.isfinite(value) and abs(value) < 1e15 else str(value)
    return visible(str(value))


def facts(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values as lines of a page."""
    return [(name.replace("_", " "), _text(value)) for name, value in told.items()]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(one)}" for key, one in value.items()) or "none"
    return "not stated" if value is None else str(value)


def effective(model: Model) -> list[tuple[str, str, None]]:
    """What a model's page says of the settings that its images were generated with."""
    of = model.entry.results.model
    found = plain(of.effective_settings or of.settings)
    return [("Settings", _text(found) if found else "not stated", None)]


def badge_text(model: Model) -> str:
    """The words of a model's badge: a count, never a score."""
    counts, total = model.run.counts(), len(model.run.tests)
    unsure = counts["cannot_tell"] + counts["no_score"]
    return f"{counts['clear']} of {total} tests lean clearly, {unsure} cannot tell"
