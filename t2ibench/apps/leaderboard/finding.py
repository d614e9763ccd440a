"""The board's first finding: one prompt, the models that were asked for it, and who is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from t2ibench.apps.leaderboard.page_views import (
    StackView,
    answers_of,
)
from t2ibench.apps.leaderboard.table import Stratum
from t2ibench.apps.leaderboard.views import BESIDE, Item, ItemTable, Model, item_tables
from t2ibench.methods.core.answer_counts import ShownRow
from t2ibench.methods.core.describe import counts_text, people
from t2ibench.reports.class_bars import ClassKey, class_key

_SHORT = 20  # letters of a name
_ANSWERED = ", answered by"  # what names say of models whose images people judged


@dataclass(frozen=True, slots=True)
class ShownModel:
    """What one model shows for the prompt.

    Attributes:
        id: The submission.
        name: The model's name, without who answered.
        answers: The answers as a bar.
        counts: The answers in words.
        interval: How sure that is, in words; empty where it is not known.
        clear: Whether one answer is more frequent than chance gives.
    """

    id: str
    name: str
    answers: StackView
    counts: str
    interval: str
    clear: bool

    @property
    def is_short(self) -> bool:
        """Whether the name fits on a line, so that it is not broken at a hyphen."""
        return len(self.name) <= _SHORT


@dataclass(frozen=True, slots=True)
class Finding:
    """One prompt of one question, asked of several models.

    Attributes:
        prompt: What was asked for.
        question: What was asked about the images, such as 'person gender'.
        readers: Who answered.
        images: How many images of the prompt each model made.
        test: The id of the test.
        test_name: What pages call it.
        key: The colours of the answers.
        models: The models, those with most of the first answer first.
    """

    prompt: str
    question: str
    readers: str
    images: str
    test: str
    test_name: str
    key: tuple[ClassKey, ...]
    models: tuple[ShownModel, ...]

    @property
    def extremes(self) -> tuple[ShownModel, ShownModel]:
        """The two models that differ most."""
        return self.models[0], self.models[-1]


def first_finding(
    strata: Sequence[Stratum], models: Sequence[Model], tasks: Sequence[str]
) -> Finding | None:
    """Return the prompt about which models that people use differ most; None without one.

    It is taken from the first question of which answers were counted, in the order of the tables.
    """
    for stratum in strata:
        members = [
            model
            for model in models
            if model.stratum is stratum and not model.entry.toy
        ]
        if len(members) < 2:
            continue
        for task in tasks:
            for table in item_tables(members, task, BESIDE):
                finding = _finding(table, task, stratum)
                if finding is not None:
                    return finding
    return None


def _finding(table: ItemTable, task: str, stratum: Stratum) -> Finding | None:
    """Return the prompt of a question about which models differ most; None without counts."""
    if not table.classes or len(table.models) < 2:
        return None
    item = max(table.items, key=lambda each: _largest_distance(each, table))
    rows = list(_rows(item, table))
    if len(rows) < 2:
        return None
    counts = sorted({round(row.images) for _, row in rows})
    images = " to ".join(f"{count:,}" for count in (counts[:1] + counts[1:][-1:]))
    return Finding(
        prompt=rows[0][1].counted.name,
        question=table.noun,
        readers=stratum.readers,
        images=images,
        test=task,
        test_name=table.test,
        key=class_key(table.classes, table.noun),
        models=tuple(_shown_model(model, row, item, table) for model, row in rows),
    )


def _rows(item: Item, table: ItemTable) -> Iterator[tuple[Model, ShownRow]]:
    """Yield each model with its answers about an item, most of the first class first."""
    rows = [(model, item.rows.get(model.entry.id)) for model in table.models]
    answered = [
        (model, row)
        for model, row in rows
        if isinstance(row, ShownRow) and row.most is not None
    ]
    yield from sorted(answered, key=lambda pair: -_share(pair[1], table))


def _share(row: ShownRow, table: ItemTable) -> float:
    return row.counted.counts.get(table.classes[0], 0.0) / max(row.images, 1)


def _largest_distance(item: Item, table: ItemTable) -> float:
    """Return the largest total-variation distance between two models' answers; -1 without two.

    It is half the sum of the absolute differences of the classes' shares, so that no class counts
    more than another.
    """
    shares = [_shares(row, table) for _, row in _rows(item, table)]
    return max((_distance(*pair) for pair in combinations(shares, 2)), default=-1.0)


def _distance(first: Sequence[float], second: Sequence[float]) -> float:
    differences = (
        abs(share - other) for share, other in zip(first, second, strict=True)
    )
    return sum(differences) / 2


def _shares(row: ShownRow, table: ItemTable) -> list[float]:
    """Return the share of each class among a row's answers, which do not count missing ones."""
    counts = [row.counted.counts.get(name, 0.0) for name in table.classes]
    answered = sum(counts)
    return [count / answered for count in counts]


def _shown_model(
    model: Model, row: ShownRow, item: Item, table: ItemTable
) -> ShownModel:
    interval = ""
    if row.interval is not None:
        low, high = (round(100 * end) for end in row.interval)
        group = people(row.most or "", row.about)
        interval = f"{group} in {low} to {high} of 100 such images"
    return ShownModel(
        id=model.entry.id,
        name=model.name.partition(_ANSWERED)[0],
        answers=answers_of(item, row, table),
        counts=counts_text(row),
        interval=interval,
        clear=row.clear,
    )
