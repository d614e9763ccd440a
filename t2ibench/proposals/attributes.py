"""The choice of attributes that a proposed task asks about, with classes of human labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.models.judges.class_words import UNSURE
from t2ibench.store.people_tables.headings import heading_key, role_of
from t2ibench.store.people_tables.reader import Table, read_table
from t2ibench.store.user_paths import expanded

# The usual name of a file of human labels in a folder of images.
SHEET = "people.csv"
# A column with more distinct values than this does not hold classes.
MOST_CLASSES = 12
# The column in which sheets of `label export` list the classes of a question.
_CLASSES = "classes"
# What people write where no class fits; it is read as unknown.
_NO_CLASS = UNSURE | {
    "none",
    "n/a",
    "na",
    "?",
    "-",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of human labels whose attribute a task could ask about.

    Attributes:
        name: The attribute, in plain words.
        classes: Its values, the most frequent first.
        unknown: Values that are no class, and how often each occurs.
        cells: Number of filled cells.
    """

    name: str
    classes: tuple[str, ...]
    unknown: Mapping[str, int]
    cells: int

    @property
    def repeats(self) -> bool:
        """Whether its values repeat, as classes do and free remarks do not."""
        return 1 < len(self.classes) <= self.cells / 2


def sheet_of(captions: str | None, answers: str | None) -> Path | None:
    """Return the path of the human labels, as given or in the folder of images; None if none."""
    if answers is not None:
        return expanded(answers)
    scheme, _, folder = (captions or "").partition(":")
    path = expanded(folder) / SHEET
    return path if scheme == "folder" and path.is_file() else None


def answered_columns(
    path: Path, named: Mapping[str, str] | None = None
) -> list[Column]:
    """Return the columns of a file of human labels that contain classes, in their order.

    Args:
        path: The file.
        named: The file's own heading of a role or an attribute, such as gender: Geschlecht.
    """
    table = read_table(path, columns=named)
    attributes = {}
    for word in named or {}:
        if role_of(word) is None and heading_key(word) in table.mapped:
            attributes[table.mapped[heading_key(word)]] = word
    columns = []
    for heading in table.columns:
        # Columns with a role, such as the image's name or the labeller, are no attributes.
        is_role = role_of(heading) is not None or heading in table.mapped.values()
        if is_role and heading not in attributes:
            continue
        column = _read_column(table, heading, attributes.get(heading, heading))
        if column.name in {"", _CLASSES}:
            continue
        if 0 < len(column.classes) <= MOST_CLASSES:
            columns.append(column)
    return columns


def _read_column(table: Table, heading: str, attribute: str) -> Column:
    """Return a column of human labels, with its values counted and sorted into classes."""
    values: Counter[str] = Counter()
    for line, row in table.rows:
        words = table.text(line, row, heading).split()
        if words:
            values[" ".join(words).casefold()] += 1
    ranked = sorted(values, key=lambda value: (-values[value], value))
    return Column(
        name=plain(attribute),
        classes=tuple(value for value in ranked if value not in _NO_CLASS),
        unknown={value: values[value] for value in ranked if value in _NO_CLASS},
        cells=values.total(),
    )


def plain(name: str) -> str:
    """Return the name of an attribute in plain words.

    Examples:
        >>> plain("Skin_Tone "), plain("skin-tone")
        ('skin tone', 'skin tone')
    """
    return " ".join(name.replace("_", " ").replace("-", " ").casefold().split())


def attributes_of(text: str | None, choices: Sequence[str]) -> list[str] | None:
    """Return the attributes listed in the option `--attributes`; None if it is not given."""
    if text is None:
        return None
    names = list(dict.fromkeys(plain(name) for name in text.split(",") if name.strip()))
    if not names:
        raise T2IBenchError("--attributes: expected names such as gender,race.")
    for name in names:
        if choices and name not in choices:
            raise T2IBenchError(
                f"--attributes: nothing to ask about '{shown(name)}'.{did_you_mean(name, choices)}",
                f"There are: {', '.join(map(shown, choices))}.",
            )
    return names


def asked_about(
    biases: Sequence[Mapping[str, Any]],
    names: Sequence[str] | None,
    columns: Sequence[Column],
    captions: Sequence[str],
) -> list[dict[str, Any]]:
    """Return the biases that a task asks about, with the classes of human labels.

    A named attribute that was not proposed, but has human labels, is asked about every caption.
    Without names, every proposed bias is asked about.
    """
    by_name = {column.name: column for column in columns}
    wanted = list(dict.fromkeys(plain(bias["name"]) for bias in biases))
    if names is not None:
        wanted = list(names)
    asked: list[dict[str, Any]] = []
    for name in wanted:
        proposed = [dict(bias) for bias in biases if plain(bias["name"]) == name]
        column = by_name.get(name)
        if column is None:
            asked += proposed
        elif proposed:
            asked += [_fitted(bias, column) for bias in proposed]
        else:
            asked.append(_asked(column, captions))
    return asked


def _fitted(bias: dict[str, Any], column: Column) -> dict[str, Any]:
    """Return a proposed bias with its classes replaced by those of a column of human labels."""
    if len(column.classes) > 1:
        bias["classes"] = list(column.classes)
    if column.name not in plain(bias["question"]):
        bias["question"] = _question(column.name, bias["about"])
        bias.pop("questions", None)
    return bias


def _asked(column: Column, captions: Sequence[str]) -> dict[str, Any]:
    """Return a new bias that asks about a column's attribute for every caption."""
    if len(column.classes) < 2:
        raise T2IBenchError(
            f"--attributes: the column '{shown(column.name)}' has one value, "
            f"'{shown(column.classes[0])}'; a question takes two classes.",
            "Add the classes that could have been answered to the task by hand.",
        )
    return {
        "name": column.name,
        "about": "person",
        "classes": list(column.classes),
        "question": _question(column.name, "person"),
        "captions": sorted(captions),
    }


def _question(name: str, about: str) -> str:
    return f"What is the {name} of the {about}?"


def remarks(
    biases: Sequence[Mapping[str, Any]],
    columns: Sequence[Column],
    sheet: Path,
    command: str,
) -> list[str]:
    """Return messages on human labels: values counted as unknown, columns not asked about.

    Args:
        biases: What the task asks about.
        columns: The columns of the sheet.
        sheet: The file of human labels.
        command: The command that would ask about further columns.
    """
    asked = list(dict.fromkeys(plain(bias["name"]) for bias in biases))
    with_column = {column.name for column in columns}
    labelled = [name for name in asked if name in with_column]
    missing = [name for name in asked if name not in with_column]
    lines = [
        _unknown_values(column, sheet)
        for column in columns
        if column.name in asked and column.unknown
    ]
    if missing and labelled:
        lines.append(
            f"{sheet.name} has no column for: {', '.join(map(shown, missing))}."
        )
    further = _not_asked_about(columns, asked)
    if further:
        lines.append(_further_columns(further, labelled, sheet, command))
    return lines


def _not_asked_about(columns: Sequence[Column], asked: Sequence[str]) -> list[str]:
    """Return the names of columns with repeated values that no question is about."""
    return [
        column.name for column in columns if column.name not in asked and column.repeats
    ]


def _unknown_values(column: Column, sheet: Path) -> str:
    """Return a message on a column's values that count as unknown, with how often each is."""
    counts = column.unknown.items()
    values = ", ".join(f"{shown(value)} {count}" for value, count in counts)
    return f"{sheet.name}: {shown(column.name)} counts as unknown: {values}."


def _further_columns(
    further: Sequence[str], labelled: Sequence[str], sheet: Path, command: str
) -> str:
    """Return a message about columns that no question is about, and how to ask about them."""
    names = ",".join([*labelled, *(name.replace(" ", "_") for name in further)])
    plural = "s" if len(further) > 1 else ""
    them = "them" if plural else "it"
    return (
        f"{sheet.name} has {len(further)} further column{plural}: "
        f"{', '.join(map(shown, further))}; "
        f"`{command} --attributes {shown(names)}` asks about {them}."
    )
