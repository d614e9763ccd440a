"""Functions that read captions from files, data sets and folders, and filter them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from t2ibench.errors import (
    T2IBenchError,
    did_you_mean,
    failing,
    first_line,
    shown,
    visible,
)
from t2ibench.models.generators.image_folder import ImageFolder, normal
from t2ibench.store.file_errors import read_data, reading
from t2ibench.store.people_tables.cells import MARKS, NOT_AVAILABLE, cleaned_cell
from t2ibench.store.people_tables.delimited import choose_delimiter
from t2ibench.store.people_tables.encoding import decode_text
from t2ibench.store.people_tables.headings import heading_key, known_column
from t2ibench.store.people_tables.json_records import text_of
from t2ibench.store.people_tables.reader import Table, read_table
from t2ibench.store.people_tables.workbook import is_workbook
from t2ibench.store.user_paths import expanded

# Bytes of the largest file of captions that is read; COCO's of 2017 has 92 MB.
_LARGEST = 1024 * 2**20
_BEGINNING = 2**16  # bytes by which a table of another ending is known
_TABLES = frozenset({".jsonl", ".ndjson", ".csv", ".tsv", ".tab", ".xlsx", ".xlsm"})
_SHORT = {"validation": "val", "val": "validation"}
# Characters of the longest caption that a task accepts; longer ones are dropped.
LONGEST = 200
_FLICKR = re.compile(r"^[^\t]+#\d\t")
_HUB_ID = re.compile(r"^[\w.-]+(?:/[\w.-]+)?$")
_ONE = re.compile(
    r"\b(?:person|man|woman|boy|girl|child|kid|toddler|baby|guy|lady|gentleman|male|female|"
    r"[a-z]*(?:player|worker|officer|rider|surfer|skier|snowboarder|skateboarder))\b"
)
_SEVERAL = re.compile(
    r"\b(?:people|persons|men|women|boys|girls|children|kids|toddlers|babies|guys|ladies|crowd|"
    r"group|couple|team|family|players|workers|officers|riders|two|three|four|five|several|many|"
    r"another|together)\b"
)


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The layout of a user's table or folder, which says how to read it.

    Attributes:
        columns: The table's own headings of roles such as caption, if they have other names.
        sheet: The sheet of a workbook; None for the first.
        pattern: The pattern of file names that contain prompts; None if they contain none.
        notes: Messages for the user, added while reading.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    sheet: str | None = None
    pattern: str | None = None
    notes: list[str] = field(default_factory=list)


def read_captions(
    source: str,
    *,
    column: str | None = None,
    split: str | None = None,
    people: bool = False,
    limit: int | None = None,
    layout: TableLayout | None = None,
) -> list[str]:
    """Read the captions of a file, folder or data set, without repeats, in their order.

    Args:
        source: A file, folder or id of a data set, as --captions takes it.
        column: The column of the captions; None for the usual names.
        split: The split of a data set.
        people: Whether only captions of one person are returned.
        limit: The largest number of captions.
        layout: How to read a table or folder.
    """
    layout = layout or TableLayout()
    path = expanded(source)
    captions: Iterable[str]
    folder = images_in(source, layout)
    if folder is not None:
        captions = folder
    elif path.is_file():
        captions = _from_file(path, column, layout)
    elif path.is_dir() or is_id(source):
        captions = _from_datasets(str(path) if path.is_dir() else source, column, split)
    else:
        raise T2IBenchError(f"No such file: '{shown(source)}'.", "Check --captions.")
    chosen: dict[str, None] = {}
    for caption in captions:
        text = " ".join(caption.split())
        if text and (not people or one_person(text)):
            chosen[text] = None
        if limit is not None and len(chosen) >= limit:
            break
    if not chosen:
        what = "captions of one person" if people else "captions"
        raise T2IBenchError(f"'{shown(source)}' has no {what} to propose biases for.")
    return list(chosen)


def images_in(source: str, layout: TableLayout | None = None) -> Counter[str] | None:
    """Return how many images each prompt of a source 'folder:DIR' has; None for other sources."""
    scheme, _, folder = source.partition(":")
    if scheme != "folder":
        return None
    layout = layout or TableLayout()
    images = ImageFolder(
        expanded(folder),
        columns=layout.columns,
        sheet=layout.sheet,
        pattern=layout.pattern,
    )
    counts: Counter[str] = Counter()
    first_spellings: dict[str, str] = {}
    for _, prompt in images.existing():
        counts[first_spellings.setdefault(normal(prompt), prompt)] += 1
    layout.notes[:] = images.notes
    return counts


def is_id(source: str) -> bool:
    """Return whether a source that is no existing path can be the id of a data set."""
    return bool(_HUB_ID.match(source)) and not Path(source).suffix


def usable(captions: Iterable[str]) -> list[str]:
    """Return the captions that are short enough and without invisible characters."""
    return [text for text in captions if len(text) <= LONGEST and visible(text) == text]


def one_person(caption: str) -> bool:
    """Return whether a caption names just one person.

    Examples:
        >>> one_person("A woman riding a horse"), one_person("Two men talk")
        (True, False)
    """
    lowered = caption.lower()
    return len(_ONE.findall(lowered)) == 1 and not _SEVERAL.search(lowered)


def _from_file(path: Path, column: str | None, layout: TableLayout) -> Iterator[str]:
    hint = "Give captions as --captions describes them."
    with reading(path, hint):
        suffix = path.suffix.lower()
        if suffix == ".json":
            yield from _from_json(path, column, layout)
        elif suffix in _TABLES or _has_headings(path):
            yield from _from_table(path, column, layout)
        else:
            text, note = decode_text(read_data(path, _LARGEST, hint), path)
            layout.notes[:] = [note] if note else []
            lines = text.splitlines()
            flickr = bool(lines) and _FLICKR.match(lines[0])  # results_20130124.token
            for line in lines:
                yield cleaned_cell(line.partition("\t")[2] if flickr else line)


def _has_headings(path: Path) -> bool:
    """Return whether a file of another ending is a workbook or a table with known headings."""
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    if is_workbook(beginning, path):
        return True
    try:
        text = decode_text(beginning, path).text
    except T2IBenchError:  # the end of the piece may be within a character
        return False
    delimiter = choose_delimiter(text)
    first_line = text.lstrip().partition("\n")[0]
    return known_column("caption", first_line.split(delimiter)) is not None


def _from_table(path: Path, column: str | None, layout: TableLayout) -> Iterator[str]:
    table = read_table(
        path,
        "Give captions as --captions describes them.",
        columns=layout.columns,
        sheet=layout.sheet,
        expected='{"caption": "a man rides a horse"}',
    )
    heading = _heading(table, column)
    layout.notes[:] = table.notes
    for _, row in table.rows:
        yield from _texts(row.get(heading))


def _heading(table: Table, column: str | None) -> str:
    """Return the heading of the column of a table that holds the captions."""
    if column is not None:
        return _column(table.columns, column, table.where())
    for role in ("caption", "prompt"):
        if role in table.mapped:
            return table.mapped[role]
    return table.need(
        "caption", "each row needs a caption (--column of propose names it)"
    )


def _from_json(path: Path, column: str | None, layout: TableLayout) -> Iterator[str]:
    text = decode_text(read_data(path, _LARGEST), path).text
    try:
        data = json.loads(text)
    except ValueError as error:
        if "Extra data" not in str(error):
            raise
        yield from _from_table(path, column, layout)  # JSON Lines
        return
    if isinstance(data, dict):
        rows = _rows_of_data_set(data, path, column)
        if rows is None and any(map(_is_column, data.values())):
            yield from _from_table(path, column, layout)
            return
        data = rows
    if not isinstance(data, list):
        raise T2IBenchError(
            f"{path}: expected COCO's captions (an object with 'annotations'), Karpathy's (an "
            "object with 'images') or a list."
        )
    if _are_texts(data):
        for item in data:
            yield from _texts(item)
        return
    yield from _from_rows(data, column, path)


def _rows_of_data_set(
    data: Mapping[str, Any], path: Path, column: str | None
) -> list[Any] | None:
    """Return the captions' rows in the JSON of COCO or of Karpathy; None for other objects."""
    annotations = data.get("annotations")
    if isinstance(annotations, list):  # COCO
        rows = [row for row in annotations if isinstance(row, dict)]
        if annotations and not any(_named(row, column) for row in rows):
            raise T2IBenchError(
                f"{path}: its annotations are no captions.",
                "COCO's captions are in captions_val2017.json, beside instances_val2017.json.",
            )
        return annotations
    images = data.get("images")  # Karpathy's dataset_flickr30k.json
    return images if isinstance(images, list) else None


def _are_texts(items: Sequence[Any]) -> bool:
    """Return whether a list has texts, and besides them only missing values."""
    texts = [isinstance(item, str) or text_of(item) == "" for item in items]
    return all(texts) and any(isinstance(item, str) for item in items)


def _from_rows(
    rows: Iterable[Any], column: str | None, path: Path | str
) -> Iterator[str]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise T2IBenchError(f"{path}: row {number} is not a record of columns.")
        yield from _texts(row[_column(row, column, f"{path}: row {number}")])


def _column(names: Iterable[str], column: str | None, where: str) -> str:
    """Return the name of the column that holds the captions."""
    headings = list(map(str, names))
    name = _named(headings, column) or column
    if name is None or name not in headings:
        raise T2IBenchError(
            f"{where} has no column '{shown(name or 'caption')}'."
            f"{did_you_mean(name or 'caption', headings)}",
            "Name the captions' column (--column of propose), or rename it; "
            f"there are: {', '.join(map(shown, headings))}.",
        )
    return name


def _named(names: Iterable[str], column: str | None) -> str | None:
    """Return the heading that `column` means, whatever its case; the usual one if it is None."""
    if column is None:
        return known_column("caption", map(str, names))
    wanted = heading_key(column)
    return next((name for name in map(str, names) if heading_key(name) == wanted), None)


def _texts(value: Any) -> Iterator[str]:
    """Yield the captions in a cell, which is a text, a list of texts, or Karpathy's sentences."""
    for item in value if isinstance(value, list) else [value]:
        text = text_of(item.get("raw") if isinstance(item, dict) else item)
        if text and text not in MARKS and text != NOT_AVAILABLE:
            yield text


def _is_column(value: Any) -> bool:
    """Return whether a value of a JSON object is a column, as pandas writes it."""
    return isinstance(value, (dict, list)) and len(value) > 0


def _from_datasets(source: str, column: str | None, split: str | None) -> Iterator[str]:
    from datasets import load_dataset

    from t2ibench.models.library_messages import collect_messages

    try:
        with collect_messages(source):
            splits = load_dataset(source, streaming=True)
    except Exception as error:
        raise T2IBenchError(
            f"datasets could not load '{shown(source)}': {first_line(error).rstrip('.')}.",
            "Give a file, or a public data set's id.",
        ) from error
    names = list(splits)
    if split is None:
        split = names[0] if len(names) == 1 else "train"
    chosen = _split(names, split, f"'{shown(source)}'")
    with failing(f"datasets could not read '{shown(source)}':"):
        rows = splits[chosen]
        if rows.column_names:  # pictures beside the captions are not decoded
            rows = rows.select_columns(
                [_column(rows.column_names, column, f"'{shown(source)}'")]
            )
        yield from _from_rows(rows, column, source)


def _split(names: Sequence[str], wanted: str, where: str) -> str:
    """Return the split of this name, or of its other usual name, such as 'val'."""
    available = next(
        (name for name in (wanted, _SHORT.get(wanted)) if name in names), None
    )
    if available is None:
        raise T2IBenchError(
            f"{where} has no split '{shown(wanted)}'.{did_you_mean(wanted, names)}",
            f"Name one (--split of propose): {', '.join(map(shown, names))}.",
        )
    return available
