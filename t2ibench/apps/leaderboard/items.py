"""A test's single items beside each other: what each model does with each word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from t2ibench.apps.leaderboard.shown import Model
from t2ibench.methods.core.presentation import Axis
from t2ibench.reports.view import RowView

BESIDE = 6  # models beside each other


@dataclass(frozen=True, slots=True)
class Item:
    """One word, stimulus or question of a test.

    Attributes:
        name: What it is.
        anchor: Its id on the test's page.
        rows: Its number in each model, in the order of the models; None where a model has none.
    """

    name: str
    anchor: str
    rows: tuple[RowView | None, ...]


@dataclass(frozen=True, slots=True)
class ItemTable:
    """The items of one score of a test.

    Attributes:
        noun: What an item is.
        axis: The poles; None where there is a size but no direction.
        square: Whether the numbers are squared leans, shown as roots.
        span: The axis goes from -span to span.
        models: The models beside each other.
        items: From the lowest to the highest, over all models.
    """

    noun: str
    axis: Axis | None
    square: bool
    span: float
    models: tuple[Model, ...]
    items: tuple[Item, ...]


def item_tables(models: Sequence[Model], task: str) -> list[ItemTable]:
    """The items of a test, one table for each of its scores."""
    found: dict[tuple[str, str], list[Model]] = {}
    for model in models:
        view = model.tasks.get(task)
        for one in () if view is None else view.series:
            if one.rows:
                found.setdefault((one.series.score, one.series.noun), []).append(model)
    used: set[str] = set()
    return [_table(having[:BESIDE], task, key, used) for key, having in found.items()]


def _table(models: Sequence[Model], task: str, key: tuple[str, str], used: set[str]) -> ItemTable:
    shown = [
        next(one for one in model.tasks[task].series if (one.series.score, one.series.noun) == key)
        for model in models
    ]
    by_name: list[dict[str, RowView]] = [{row.name: row for row in one.rows} for one in shown]
    names = dict.fromkeys(name for rows in by_name for name in rows)
    items = [(name, tuple(rows.get(name) for rows in by_name)) for name in names]
    items.sort(key=lambda pair: (_mean(pair[1]), pair[0]))
    series = shown[0].series
    return ItemTable(
        series.noun, series.axis, series.square, max(one.span for one in shown), tuple(models),
        tuple(Item(name, _anchor(name, used), rows) for name, rows in items),
    )  # fmt: skip


def _mean(rows: Iterable[RowView | None]) -> float:
    values = [row.mark.value for row in rows if row is not None and row.mark.value is not None]
    return sum(values) / len(values) if values else 0.0


def _anchor(name: str, used: set[str]) -> str:
    """An id that no other item of the page has."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "x"
    anchor, number = f"item-{plain}", 2
    while anchor in used:
        anchor, number = f"item-{plain}-{number}", number + 1
    used.add(anchor)
    return anchor


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
