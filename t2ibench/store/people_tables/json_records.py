"""Parsing of JSON tables: JSON Lines, a list of objects, or columns as pandas writes them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from t2ibench.errors import T2IBenchError, shown, shown_path
from t2ibench.store.file_names import IMAGE_SUFFIXES
from t2ibench.store.people_tables.cells import cleaned_cell
from t2ibench.store.people_tables.headings import role_of

JsonRecord = tuple[int, dict[str, Any]]  # the line on which it begins, and its values
_BLANK = " \t\r\n"
# What programs call the headings of a table, and its rows.
_HEADINGS = ("columns", "headers", "header", "fields")
_ROWS = ("data", "rows", "values")


class _TwiceError(Exception):
    """An object gives one key two values, of which JSON parsers keep the second."""

    def __init__(self, key: str, values: tuple[object, object]) -> None:
        super().__init__(key)
        self.key = key
        self.values = values

    def at(self, where: str) -> T2IBenchError:
        """Return the error for a user, who sees where it is."""
        first, second = self.values
        return T2IBenchError(
            f"{where}: '{shown(self.key, 60)}' is there twice, with '{shown(str(first), 60)}' and "
            f"'{shown(str(second), 60)}'.",
            "Keep one of them.",
        )


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raise an error if a key has two values."""
    value = dict(pairs)
    if len(value) != len(pairs):
        first: dict[str, Any] = {}
        for key, item in pairs:
            if first.setdefault(key, item) != item:
                raise _TwiceError(key, (first[key], item))
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_object_of)


def json_records(text: str, path: Path, expected: str) -> list[JsonRecord]:
    """Return the objects in a JSON text (lines, a list or columns), with their line numbers.

    Label Studio's export becomes one record an annotation: its data, annotator and choices.
    """
    start = len(text) - len(text.lstrip(_BLANK))
    if text[start : start + 1] == "[":
        return [*_spread(_items_of_list(text, start + 1, path, expected))]
    whole = _whole_object(text, start, path)
    if whole is not None:
        return [*_spread(_columns(whole, path))]
    return [*_spread(_lines(text, path, expected))]


def _lines(text: str, path: Path, expected: str) -> Iterator[JsonRecord]:
    for number, line in enumerate(
        text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1
    ):
        if line.strip():
            yield number, _object(line, path, number, expected)


def _object(line: str, path: Path, number: int, expected: str) -> dict[str, Any]:
    try:
        # Some programs end each line with a comma, as in a list.
        value = _DECODER.decode(line.strip().removesuffix(","))
    except (ValueError, RecursionError):
        value = None
    except _TwiceError as error:
        raise error.at(f"{shown_path(path)}:{number}") from None
    if not isinstance(value, dict):
        raise T2IBenchError(
            f"{shown_path(path)}:{number}: not a JSON object.",
            f"Expected one a line, such as {expected}.",
        )
    return value


def _items_of_list(
    text: str, at: int, path: Path, expected: str
) -> Iterator[JsonRecord]:
    """Yield the objects of a list with the line numbers on which they begin.

    A list of lists is a table whose first list has the headings. Further lists may follow, as in
    files that were joined.
    """
    line = text.count("\n", 0, at) + 1
    counted = at
    headings: list[Any] | None = None
    while True:
        while at < len(text) and text[at] in ", \t\r\n":
            at += 1
        line += text.count("\n", counted, at)
        counted = at
        if text[at : at + 1] == "]":
            behind = text[at + 1 :].lstrip(", \t\r\n")
            if not behind:
                return
            if not behind.startswith("["):
                raise T2IBenchError(
                    f"{shown_path(path)}:{line}: behind its list stands '{shown(behind, 60)}'.",
                    "Expected one list of objects, or JSON Lines.",
                )
            at = len(text) - len(behind) + 1
            continue
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            value = None
        except _TwiceError as error:
            raise error.at(f"{shown_path(path)}:{line}") from None
        if isinstance(value, list) and _are_headings(value, headings):
            headings = value
            continue
        if isinstance(value, list) and headings and len(value) <= len(headings):
            value = dict(zip(map(str, headings), value, strict=False))
        if not isinstance(value, dict):
            raise T2IBenchError(
                f"{shown_path(path)}:{line}: not a JSON object in the list.",
                f"Expected a list of objects, such as [{expected}].",
            )
        yield line, value


def _are_headings(values: Sequence[Any], earlier: Sequence[Any] | None) -> bool:
    """Return whether a list has the headings: it is the first, or names those of an earlier one.

    A further list in a joined file may name them in another order.
    """
    return earlier is None or sorted(map(str, values)) == sorted(map(str, earlier))


def _whole_object(text: str, start: int, path: Path) -> dict[str, Any] | None:
    """Return the object that makes up a whole text; None if more text follows."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    except _TwiceError as error:
        line = text.count("\n", 0, start) + 1
        raise error.at(f"{shown_path(path)}:{line}") from None
    if not isinstance(value, dict) or text[end:].strip():
        return None
    return value


def _columns(whole: Mapping[str, Any], path: Path) -> Iterator[JsonRecord]:
    """Yield numbered rows of an object, in a table layout of pandas or in its one named list."""
    records = _records_of_pandas(whole) or _records_by_file(whole)
    if records is not None:
        yield from enumerate(records, start=1)
        return
    values = list(whole.values())
    tables = [part for part in values if _is_table(part)]
    if len(tables) == 1:  # such as {"version": 1, "results": [{…}, {…}]}
        yield from enumerate(tables[0], start=1)
        return
    if not values or not all(isinstance(part, (dict, list)) for part in values):
        yield 1, dict(whole)
        return
    yield from _rows_of_columns(whole, path)


def _first_of(whole: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return the value of the first of these keys that an object has; None if it has none."""
    return next((whole[name] for name in names if name in whole), None)


def _is_table(part: Any) -> bool:
    """Return whether a value is a list of objects, as a table is."""
    return (
        isinstance(part, list)
        and bool(part)
        and all(isinstance(item, dict) for item in part)
    )


def _rows_of_columns(whole: Mapping[str, Any], path: Path) -> Iterator[JsonRecord]:
    """Yield numbered rows of an object of columns, each a list or a mapping of row keys."""
    columns = {
        name: part if isinstance(part, dict) else dict(enumerate(part))
        for name, part in whole.items()
    }
    keys = list(next(iter(columns.values())))
    if any(list(column) != keys for column in columns.values()):
        raise T2IBenchError(
            f"{shown_path(path)}: its columns are of different length.",
            "Expected JSON Lines, or a list of objects, one for each row.",
        )
    for number, key in enumerate(keys, start=1):
        yield number, {name: column[key] for name, column in columns.items()}


def _records_of_pandas(whole: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the records of pandas' to_json(orient="split" or "table"); None for other objects.

    Other programs call the headings and rows of "split" otherwise, or write the headings as the
    first row.
    """
    rows = _first_of(whole, _ROWS)
    if not isinstance(rows, list):
        return None
    if "schema" in whole and _is_table(rows):
        return rows
    if not all(isinstance(row, list) for row in rows):
        return None
    names = _first_of(whole, _HEADINGS)
    if names is None and rows:
        names, *rows = rows
    if not isinstance(names, list) or any(len(row) != len(names) for row in rows):
        return None
    return [dict(zip(map(str, names), row, strict=True)) for row in rows]


def _records_by_file(whole: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of an object whose keys are file names or row numbers; None for another."""
    parts = list(whole.values())
    if all(PurePosixPath(name).suffix.lower() in IMAGE_SUFFIXES for name in whole):
        if all(isinstance(part, dict) for part in parts):
            return [{"file": name, **part} for name, part in whole.items()]
        if not any(isinstance(part, (dict, list)) for part in parts):
            return [{"file": name, "answer": part} for name, part in whole.items()]
    if not all(isinstance(part, dict) for part in parts):
        return None
    # Columns have rows as keys, and rows (orient="index") have the headings.
    if any(role_of(name) for name in whole) or not any(
        role_of(name) for name in parts[0]
    ):
        return None
    return parts


def _spread(records: Iterator[JsonRecord]) -> Iterator[JsonRecord]:
    """Yield records unchanged, but one for each annotation in place of a Label Studio task."""
    for line, record in records:
        annotations = record.get("annotations")
        data = record.get("data")
        if not isinstance(data, dict) or not isinstance(annotations, list):
            yield line, record
            continue
        for annotation in annotations:
            if isinstance(annotation, dict) and not annotation.get("was_cancelled"):
                yield line, {**data, **_choices(annotation)}


def _choices(annotation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of a Label Studio annotation, keyed by the name of the control."""
    answers: dict[str, Any] = {}
    person = annotation.get("completed_by")
    if isinstance(person, dict):  # as in exports of the whole database
        person = person.get("email") or person.get("id")
    if person is not None:
        answers["completed_by"] = person
    for result in annotation.get("result") or ():
        value = result.get("value") if isinstance(result, dict) else None
        if isinstance(value, dict):
            given = value.get("choices", value.get("text", value.get("rating")))
            answers[str(result.get("from_name"))] = given
    return answers


def text_of(value: Any) -> str | None:
    """Return a cell's value as text; None for values such as lists with several entries.

    Examples:
        >>> text_of(1.0), text_of(None), text_of({"choices": ["male"]}), text_of(["a", "b"])
        ('1', '', 'male', None)
    """
    if isinstance(value, str):
        return cleaned_cell(value)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, dict) and list(value) == ["choices"]:
        return text_of(value["choices"])
    if isinstance(value, list) and len(value) <= 1:
        return text_of(value[0]) if value else ""
    return None
