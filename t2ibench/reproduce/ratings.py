"""What people say of concepts, from a CSV."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.store.problems import reading

_COLUMNS = "Columns: concept and rating (a share from 0 to 1), or concept and answer."


def read_ratings(file: Path, positive: Mapping[str, str]) -> dict[str, float]:
    """Each concept's share of images that people call nearer to the first attribute.

    Args:
        file: A CSV with a header. With a column 'rating', a share from 0 to 1 a row, averaged; with
            a column 'answer', one answer a row.
        positive: Concept to the answer that counts as 1.

    Returns:
        Concept to share; concepts nobody rated are not in it.

    Raises:
        T2IBenchError: it is no such file, or names an unknown concept.
    """
    with (
        reading(file, "Give a CSV with a header."),
        file.open(encoding="utf-8-sig", newline="") as stream,
    ):
        reader = csv.DictReader(stream)
        columns = list(reader.fieldnames or ())
        rows = [(reader.line_num, row) for row in reader]
    kinds = [name for name in ("rating", "answer") if name in columns]
    if "concept" not in columns or not kinds:
        raise T2IBenchError(f"{file} has the columns {shown(', '.join(columns))}.", _COLUMNS)
    found: dict[str, list[float]] = {}
    for number, row in rows:
        concept, text = ((row[name] or "").strip() for name in ("concept", kinds[0]))
        if concept not in positive:
            raise T2IBenchError(
                f"{file}:{number}: unknown concept '{shown(concept)}'."
                f"{did_you_mean(concept, positive)}",
                f"Concepts: {', '.join(positive)}.",
            )
        if kinds[0] == "answer":
            value = float(text.casefold() == positive[concept].casefold())
        else:
            value = _share(text, f"{file}:{number}")
        found.setdefault(concept, []).append(value)
    return {name: math.fsum(values) / len(values) for name, values in found.items()}


def _share(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise T2IBenchError(f"{where}: expected a share from 0 to 1, found '{shown(text)}'.")
    return value
