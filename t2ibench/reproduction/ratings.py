"""What people say of concepts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.reproduction.people import read_people

_COLUMNS = "Columns: concept and rating (a share from 0 to 1), or concept and answer."


def read_ratings(file: Path, positive: Mapping[str, str]) -> dict[str, float]:
    """Each concept's share of images that people call nearer to the first attribute."""
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
