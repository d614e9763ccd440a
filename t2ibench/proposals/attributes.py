"""Which attributes a proposed task asks about: those named, with the classes that people used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.store.people_tables.headings import heading_key, role_of
from t2ibench.store.people_tables.reader import read_table

SHEET = "people.csv"  # beside the images
MOST_CLASSES = 12  # a column with more values holds no classes
_CLASSES = "classes"  # what sheets of `label export` list beside a question
# What people write where no class fits; it is read as unknown.
_NO_CLASS = {
    *("unknown", "unclear", "not in the picture", "both", "mixed", "several", "other"),
    *("none", "n/a", "na", "?", "-"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of people's answers that could be asked about.

    Attributes:
        name: What it is called, in plain words.
        classes: Its values, the most frequent first.
        unknown: Values that are no class, with their numbers.
        cells: How many of its cells are filled.
    """

    name: str
    classes: tuple[str, ...]
    unknown: Mapping[str, int]
    cells: int

    @property
    def repeats(self) -> bool:
        """Whether its values come again, as classes do, and remarks do not."""
        return 1 < len(self.classes) <= self.cells / 2


def sheet_of(captions: str | None, answers: str | None) -> Path | None:
    """The file with people's answers: the one that is named, or the one beside the images."""
    if answers is not None:
        return Path(answers).expanduser()
    scheme, _, folder = (captions or "").partition(":")
    path = Path(folder).expanduser() / SHEET
    return path if scheme == "folder" and path.is_file() else None


def answered_columns(
    path: Path, named: Mapping[str, str] | None = None
) -> list[Column]:
    """The columns of a file of answers that hold classes, in its order.

    Args:
        path: The file.
        named: Roles, or attributes, with the headings that hold them here: gender to Geschlecht.
    """
    table = read_table(path, columns=named)
    attributes = {}
    for word in named or {}:
        if role_of(word) is None and heading_key(word) in table.mapped:
            attributes[table.mapped[heading_key(word)]] = word
    columns = []
    for heading in table.columns:
        is_role = role_of(heading) is not None or heading in table.mapped.values()
        # such as the image's name, or who answered
        if is_role and heading not in attributes:
            continue
        name = plain(attributes.get(heading, heading))
        cells = [
            " ".join(table.text(line, row, heading).split()).casefold()
            for line, row in table.rows
        ]
        values = Counter(cell for cell in cells if cell)
        ranked = sorted(values, key=lambda value: (-values[value], value))
        classes = tuple(value for value in ranked if value not in _NO_CLASS)
        unknown = {value: values[value] for value in ranked if value in _NO_CLASS}
        if name and name != _CLASSES and 0 < len(classes) <= MOST_CLASSES:
            columns.append(Column(name, classes, unknown, values.total()))
    return columns


def plain(name: str) -> str:
    """The name of an attribute in plain words.

    Examples:
        >>> plain("Skin_Tone "), plain("skin-tone")
        ('skin tone', 'skin tone')
    """
    return " ".join(name.replace("_", " ").replace("-", " ").casefold().split())


def attributes_of(text: str | None, choices: Sequence[str]) -> list[str] | None:
    """The attributes that `--attributes` names; None where it is not given."""
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
    """The proposed biases that are named, with the classes of people's answers.

    An attribute that nobody proposed, but people answered, is asked about every caption. Without
    names every proposed bias is asked about.
    """
    by_name = {column.name: column for column in columns}
    wanted = (
        list(dict.fromkeys(plain(bias["name"]) for bias in biases))
        if names is None
        else names
    )
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
    """A bias whose classes and words are those of people's answers."""
    if len(column.classes) > 1:
        bias["classes"] = list(column.classes)
    if column.name not in plain(bias["question"]):
        bias["question"] = _question(column.name, bias["about"])
        bias.pop("questions", None)
    return bias


def _asked(column: Column, captions: Sequence[str]) -> dict[str, Any]:
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
    """What to know of a sheet beside a task: values that count as unknown, and further columns."""
    asked = list(dict.fromkeys(plain(bias["name"]) for bias in biases))
    lines = []
    for column in columns:
        if column.name in asked and column.unknown:
            values = ", ".join(
                f"{shown(value)} {n}" for value, n in column.unknown.items()
            )
            lines.append(
                f"{sheet.name}: {shown(column.name)} counts as unknown: {values}."
            )
    absent = [name for name in asked if name not in {column.name for column in columns}]
    further = [
        column for column in columns if column.name not in asked and column.repeats
    ]
    if absent and len(absent) < len(asked):
        lines.append(
            f"{sheet.name} has no column for: {', '.join(map(shown, absent))}."
        )
    if further:
        held = [name for name in asked if name not in absent]
        names = ",".join(
            [*held, *(column.name.replace(" ", "_") for column in further)]
        )
        plural = "s" if len(further) > 1 else ""
        listed = ", ".join(shown(column.name) for column in further)
        lines.append(
            f"{sheet.name} has {len(further)} further column{plural}: {listed}; "
            f"`{command} --attributes {shown(names)}` asks about {'them' if plural else 'it'}."
        )
    return lines
