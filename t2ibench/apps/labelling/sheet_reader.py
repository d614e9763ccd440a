"""Reader of completed labelling sheets, saved by any spreadsheet program."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from t2ibench.apps.labelling.sample import Item
from t2ibench.apps.labelling.sheet import COLUMNS, NO_CLASS, NOT_SHOWN
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.judges.class_words import UNSURE, class_named
from t2ibench.store.labels import Label, former_item_id, labeller_name
from t2ibench.store.people_tables.reader import Table, read_table

# An identifier that no spreadsheet has changed: it contains a letter, and is not such as '12e34'.
_INTACT = re.compile(r"(?!\d+e\d+$)(?=.*[a-z])q?[0-9a-f]{16}")
_LINES = 6  # different answers, or people, in a message
NOBODY = "1"  # the labeller's name where a sheet has none


@dataclass(frozen=True, slots=True)
class FilledSheet:
    """The labels that people gave in a completed sheet, and notes on how it was read."""

    labels: list[Label]
    notes: list[str]


def read_sheet(
    file: Path,
    items: Mapping[str, Item],
    labeller: str | None = None,
    *,
    columns: Mapping[str, str] | None = None,
    sheet: str | None = None,
) -> FilledSheet:
    """Return the labels in a completed sheet, and notes on how it was read.

    Args:
        file: CSV or XLSX with the columns that `label export` writes.
        items: The run's images with their questions, by their identifiers.
        labeller: Who answered; None if a column of labellers says it. If the column names this
            person among others, only their rows are read.
        columns: Headings by what they hold, where they are not those of the export.
        sheet: The sheet of a workbook; None for the first.

    Returns:
        One label for each person, image and question that was answered.
    """
    table = read_table(file, "Give a filled sheet.csv.", columns=columns, sheet=sheet)
    answer_column = table.need(
        "answer", f"a sheet has the columns {', '.join(COLUMNS)}"
    )
    finder = ItemFinder(table, items.values())
    labels: dict[tuple[str, str], tuple[int, Label]] = {}
    unfit: dict[str, Counter[str]] = {}
    first_unfit = 0
    answered = []
    # People may write letters of different languages, in which 'M' is a man or a woman.
    beside: dict[tuple[str, str], set[str]] = {}
    for line, row, person in _rows_of(table, labeller):
        answer = table.text(line, row, answer_column)
        if answer:
            item = finder.find(line, row)
            answered.append((line, person, item, answer))
            beside.setdefault((person, item.question), set()).add(answer)
    for line, person, item, answer in answered:
        option = _option(answer, item, beside[person, item.question])
        if option is None:
            unfit.setdefault(item.question, Counter())[answer] += 1
            first_unfit = first_unfit or line
            continue
        label = Label(item.question, item.classes, item.image, person, option)
        earlier_line, earlier = labels.setdefault((person, item.id), (line, label))
        if earlier != label:
            raise T2IBenchError(
                f"{table.where(line)}: {item.id} is answered twice, and differently: "
                f"'{shown(option)}' here, '{shown(earlier.answer)}' in line {earlier_line}.",
                "Keep one of them; of several people, give each row a 'labeller'.",
            )
    if unfit:
        raise _no_answers(table, unfit, finder.classes, first_unfit)
    return FilledSheet([label for _, label in labels.values()], table.notes)


def _rows_of(
    table: Table, labeller: str | None
) -> Iterator[tuple[int, Mapping[str, object], str]]:
    """Yield line number, cells and labeller of each row; an unnamed labeller is called '1'."""
    _check_names(table)
    by_labeller = table.rows_by_labeller()
    if labeller is None and by_labeller:
        for name, rows in by_labeller.items():
            person = labeller_name(name, f"{table.where(rows[0][0])}:")
            yield from ((line, row, person) for line, row in rows)
        return
    rows = table.rows
    if labeller is not None and len(by_labeller) > 1:
        wanted = labeller.casefold()
        named = next((name for name in by_labeller if name.casefold() == wanted), None)
        if named is None:
            people = ", ".join(
                f"'{shown(name)}'" for name in list(by_labeller)[:_LINES]
            )
            more = ", …" if len(by_labeller) > _LINES else ""
            raise T2IBenchError(
                f"{table.where()}: its column '{shown(table.find('labeller'))}' names "
                f"{len(by_labeller)} people ({people}{more}), and none is '{shown(labeller)}'.",
                "Without --labeller each answer is stored under the name in its row.",
            )
        rows = by_labeller[named]
    yield from ((line, row, labeller or NOBODY) for line, row in rows)


def _check_names(table: Table) -> None:
    """Raise an error for answers beside no name where other rows have the name of a labeller."""
    answer = table.find("answer")
    nobody = [
        line for line, row in table.rows_of_nobody() if table.text(line, row, answer)
    ]
    if nobody:
        verb = "answer stands" if len(nobody) == 1 else "answers stand"
        raise T2IBenchError(
            f"{table.where(nobody[0])}: {len(nobody)} {verb} beside no name in "
            f"'{shown(table.find('labeller'))}'.",
            "Write the name into every row that has an answer.",
        )


class ItemFinder:
    """Finds the image and question of a row, even if a spreadsheet has altered its identifier.

    The name of the image's file begins with its hash, so that file and question are enough.
    """

    def __init__(self, table: Table, items: Iterable[Item]) -> None:
        self._table = table
        self._id = table.find("id")
        self._file = table.find("image")
        self._question = table.find("question")
        if self._id is None and (self._file is None or self._question is None):
            raise table.lacks("id", f"a sheet has the columns {', '.join(COLUMNS)}")
        self._by_id: dict[str, Item] = {}
        self._by_former_number: dict[float, list[Item]] = {}
        self._by_file: dict[tuple[str, str], Item] = {}
        self.classes: dict[str, tuple[str, ...]] = {}
        for item in items:
            former = former_item_id(item.image, item.question, item.classes)
            self._by_id[item.id] = item
            self._by_id[former] = item
            number = _as_number(former)
            if number is not None:
                self._by_former_number.setdefault(number, []).append(item)
            self._by_file[item.image[:16], _plain(item.question)] = item
            self.classes[item.question] = item.classes

    def find(self, line: int, row: Mapping[str, object]) -> Item:
        """Return the image and question of a row; an error if this run does not ask about it."""
        identifier = self._table.text(line, row, self._id)
        item = self._by_id.get(identifier.casefold())
        self._check_alike(line, row, item)
        if item is None and not _INTACT.fullmatch(identifier.casefold()):
            item = self._by_file_and_question(line, row) or self._by_number(identifier)
        if item is None:
            raise T2IBenchError(
                f"{self._table.where(line)}: no image of this run has the id "
                f"'{shown(identifier)}'.",
                "Give the run that the sheet was exported from; if a spreadsheet has changed the "
                "ids, keep the columns 'file' and 'question'.",
            )
        return item

    def _check_alike(
        self, line: int, row: Mapping[str, object], item: Item | None
    ) -> None:
        """Raise an error for a row whose id and file mean two images, as after sorting a column."""
        named = self._by_file_and_question(line, row)
        if item is None or named is None or named == item:
            return
        raise T2IBenchError(
            f"{self._table.where(line)}: its id is that of {item.image[:16]}.jpg, and its file and "
            f"question are those of '{shown(self._table.text(line, row, self._file))}'.",
            "Perhaps one column was sorted alone: export the sheet again, or undo the sorting.",
        )

    def _by_file_and_question(
        self, line: int, row: Mapping[str, object]
    ) -> Item | None:
        file = self._table.text(line, row, self._file).replace("\\", "/")
        question = self._table.text(line, row, self._question)
        return self._by_file.get((PurePosixPath(file).stem, _plain(question)))

    def _by_number(self, identifier: str) -> Item | None:
        """Return the item whose id a spreadsheet made into this number; None if not just one."""
        number = _as_number(identifier.replace(",", "."))
        if number is None:
            return None
        items = self._by_former_number.get(number, [])
        return items[0] if len(items) == 1 else None


def _as_number(text: str) -> float | None:
    """Return a text's number, rounded to 15 digits as spreadsheets do; None if it has none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return float(f"{number:.15g}")


def _plain(question: str) -> str:
    # A question that begins like a formula stands behind an apostrophe in a sheet.
    return " ".join(question.split()).casefold().removeprefix("'")


def _option(answer: str, item: Item, beside: Collection[str]) -> str | None:
    """Return the class, 'unknown' or 'not in the picture' that a cell names; else None."""
    plain = " ".join(answer.split()).casefold().removeprefix("'")
    if plain in NO_CLASS:
        return NOT_SHOWN if plain == NOT_SHOWN else UNKNOWN
    named = class_named(answer, item.classes, beside) or class_named(
        plain, item.classes, beside
    )
    return UNKNOWN if named is None and plain in UNSURE else named


def _no_answers(
    table: Table,
    unfit: Mapping[str, Counter[str]],
    classes: Mapping[str, tuple[str, ...]],
    line: int,
) -> T2IBenchError:
    """Return an error that counts, for each question, the cells whose answers are not allowed."""
    parts = []
    for question, counts in unfit.items():
        options = [*classes[question], *NO_CLASS]
        values = ", ".join(
            f"'{shown(text, 60)}' {count}" for text, count in counts.most_common(_LINES)
        )
        more = ", …" if len(counts) > _LINES else ""
        near = did_you_mean(next(iter(counts)), options)
        number = counts.total()
        verb = "cell is" if number == 1 else "cells are"
        parts.append(
            f"{number} {verb} no answer to '{shown(question)}': {values}{more}.{near} "
            f"Answers: {', '.join(map(shown, options))}."
        )
    return T2IBenchError(f"{table.where(line)}: {' '.join(parts)}")
