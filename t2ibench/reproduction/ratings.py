"""What people say of concepts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.reproduction.people import read_people

_COLUMNS = "Columns: concept and rating (a share from 0 to 1), or concept and answer."


def read_ratings(file: Path, positive: Mapping[str, str]) -> dict[str, float]:
    """Each concept's share of images that people call nearer to the first attribute.

    Args:
        file: CSV or JSON Lines with a column 'concept'. With a column 'rating', a share from 0 to 1
            a row, averaged; with a column 'answer', one answer a row.
        positive: Concept to the answer that counts as 1.

    Returns:
        Concept to share; concepts nobody rated are not in it.

    Raises:
        T2IBenchError: it is no such file, or names an unknown concept.
    """
    columns = ("rating", "answer")
    found: dict[str, list[float]] = {}
    for said in read_people(file, ("concept",), columns):
        concept = said.one_of("concept", list(positive))
        given = [name for name in columns if said[name]]
        if not given:
            raise T2IBenchError(f"{said.where} has neither a rating nor an answer.", _COLUMNS)
        if given[0] == "rating":
            value = said.number("rating", 0, 1)
        else:
            value = float(said["answer"].casefold() == positive[concept].casefold())
        found.setdefault(concept, []).append(value)
    return {name: math.fsum(values) / len(values) for name, values in found.items()}
