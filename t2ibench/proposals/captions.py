"""Pools of captions, and which of them to keep."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, did_you_mean, failing, first_line, shown
from t2ibench.store.jsonl import read_rows_strictly
from t2ibench.store.problems import reading

_NAMES = ("caption", "captions", "text", "prompt", "sentence", "raw", "comment")
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


def read_captions(
    source: str,
    *,
    column: str | None = None,
    split: str | None = None,
    people: bool = False,
    clean: bool = False,
    limit: int | None = None,
) -> list[str]:
    """Captions of a pool, each once, in its order.

    Args:
        source: COCO's annotations JSON, Flickr30k's token file or results.csv, a CSV, JSON Lines or
            text file, or a `datasets` id.
        column: Column of a table that holds the captions.
        split: Split of a `datasets` id.
        people: Keep captions of one person, as D'Incà et al. (2024) do with COCO.
        clean: The clean-up of DiffusionDB prompts; see `cleaned`.
        limit: Stop after this many.

    Returns:
        The captions, with single spaces.

    Raises:
        T2IBenchError: it cannot be read, or nothing is left.
    """
    path = Path(source).expanduser()
    captions: Iterable[str]
    if path.is_file():
        captions = _from_file(path, column)
    elif _HUB_ID.match(source) and not path.suffix:
        captions = _from_datasets(source, column, split)
    else:
        raise T2IBenchError(f"No such file: '{source}'.", "Check --captions.")
    if clean:
        captions = cleaned(captions)
    kept: dict[str, None] = {}
    for caption in captions:
        text = " ".join(caption.split())
        if text and (not people or one_person(text)):
            kept[text] = None
        if limit is not None and len(kept) >= limit:
            break
    if not kept:
        raise T2IBenchError(f"'{source}' has no captions to propose biases for.")
    return list(kept)


def one_person(caption: str) -> bool:
    """Whether a caption names just one person.

    Args:
        caption: The caption.

    Returns:
        Whether it has one word for a person, and no word for several.

    Examples:
        >>> one_person("A woman riding a horse"), one_person("Two men talk")
        (True, False)
    """
    lowered = caption.lower()
    return len(_ONE.findall(lowered)) == 1 and not _SEVERAL.search(lowered)


def cleaned(prompts: Iterable[str]) -> Iterator[str]:
    """The clean-up of DiffusionDB prompts (Chinchure et al. 2024, figure 8).

    Args:
        prompts: Raw prompts.

    Yields:
        The longest fragment of each between . : ( ) [ ] ! and commas, if it has 5 to 9 words,
        neither 'painting' nor 'by' among them, does not start with 'in', and did not come before.
    """
    seen = set()
    for prompt in prompts:
        fragment = max(re.split(r"[.:()\[\]!,]", prompt), key=len).strip()
        words = fragment.split()
        if not 5 <= len(words) <= 9 or "painting" in words or "by" in words:
            continue
        if fragment.startswith("in") or fragment in seen:
            continue
        seen.add(fragment)
        yield fragment


def _from_file(path: Path, column: str | None) -> Iterator[str]:
    with reading(path, "Give captions as --captions describes them."):
        if path.suffix.lower() == ".json":
            yield from _from_json(path, column)
        elif path.suffix.lower() == ".jsonl":
            rows = read_rows_strictly(path, '{"caption": "a man rides a horse"}')
            yield from _from_rows((row for _, row in rows), column, path)
        else:
            with path.open(encoding="utf-8-sig", newline="") as file:
                yield from _from_text(file.read(), column, path)


def _from_json(path: Path, column: str | None) -> Iterator[str]:
    data = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(data, dict) and isinstance(data.get("annotations"), list):
        data = data["annotations"]  # COCO
    if not isinstance(data, list):
        raise T2IBenchError(
            f"{path}: expected COCO's captions (an object with 'annotations') or a list."
        )
    if data and all(isinstance(item, str) for item in data):
        yield from data
        return
    yield from _from_rows(data, column, path)


def _from_text(text: str, column: str | None, path: Path) -> Iterator[str]:
    first = text.partition("\n")[0]
    if _FLICKR.match(first):  # results_20130124.token
        yield from (line.partition("\t")[2] for line in text.splitlines())
    elif path.suffix.lower() in {".csv", ".tsv"}:
        # Flickr30k's results.csv is separated by bars.
        bars = "|" in first and "," not in first
        delimiter = "|" if bars else "\t" if path.suffix.lower() == ".tsv" else ","
        rows = [
            {(key or "").strip(): value for key, value in row.items()}
            for row in csv.DictReader(text.splitlines(), delimiter=delimiter)
        ]
        yield from _from_rows(rows, column, path)
    else:
        yield from text.splitlines()


def _from_rows(rows: Iterable[Any], column: str | None, path: Path | str) -> Iterator[str]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise T2IBenchError(f"{path}: row {number} is not a record of columns.")
        name = column or next((name for name in _NAMES if name in row), None)
        if name is None or name not in row:
            known = ", ".join(map(shown, row))
            raise T2IBenchError(
                f"{path}: row {number} has no column '{shown(name or 'caption')}'."
                f"{did_you_mean(name or 'caption', [str(key) for key in row])}",
                f"Name the captions' column with --column; there are: {known}.",
            )
        value = row[name]
        values = value if isinstance(value, list) else [value]
        yield from (str(item) for item in values if item is not None)


def _from_datasets(source: str, column: str | None, split: str | None) -> Iterator[str]:
    from datasets import load_dataset

    from t2ibench.models.devices import quietly

    try:
        with quietly():
            rows = load_dataset(source, split=split or "train", streaming=True)
    except Exception as error:
        raise T2IBenchError(
            f"datasets could not load '{source}': {first_line(error)}",
            "Give a file, or a public dataset's id and --split.",
        ) from error
    with failing(f"datasets could not read '{shown(source)}':"):
        yield from _from_rows(rows, column, source)
