"""Answers about counterfactuals' images: whether they name that one, or another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from t2ibench.arrays import BoolArray
from t2ibench.methods.core.concepts import concept_counts, synonyms
from t2ibench.methods.tibet.image_sets import FeatureSet
from t2ibench.methods.tibet.schema import Axis


@dataclass(frozen=True, slots=True)
class Obedience:
    """The number of one counterfactual's images whose answers name it, or another one.

    Attributes:
        counterfactual: Its name.
        images: Number of its images; 0 where its name is in no answer along its axis.
        hits: Number of its images whose answers name it.
        off_target: The indices of the other images whose answers name another counterfactual.
    """

    counterfactual: str
    images: int
    hits: int
    off_target: frozenset[int]


def obedience(
    axis: Axis, concepts: Sequence[str], changed: Sequence[FeatureSet]
) -> list[Obedience]:
    """Return, for each counterfactual of an axis, how many answers about its images name it.

    A word that several of the names share, such as 'skin', names none of them.

    Args:
        axis: The axis.
        concepts: The names of the concepts.
        changed: The images of each counterfactual.
    """
    columns = [
        _columns_of_name(counterfactual.name, concepts)
        for counterfactual in axis.counterfactuals
    ]
    naming = naming_columns(axis, concepts)
    ever_named: BoolArray = np.any(
        np.concatenate([images.features for images in changed]), axis=0
    )
    table = []
    for number, images in enumerate(changed):
        name = axis.counterfactuals[number].name
        only_this = naming[number]
        if not ever_named[only_this].any():
            table.append(Obedience(name, images=0, hits=0, off_target=frozenset()))
            continue
        only_others = sorted(_of_others(columns, number) - columns[number])
        is_named = images.features[:, only_this].any(axis=1)
        other_is_named = images.features[:, only_others].any(axis=1)
        off_target = images.units[other_is_named & ~is_named]
        answers = Obedience(
            counterfactual=name,
            images=len(images.units),
            hits=int(is_named.sum()),
            off_target=frozenset(off_target.tolist()),
        )
        table.append(answers)
    return table


def naming_columns(
    axis: Axis, concepts: Sequence[str], further: Mapping[str, str] | None = None
) -> list[list[int]]:
    """Return, for each counterfactual, the indices of concepts that name it alone.

    Args:
        axis: The axis.
        concepts: The names of the concepts.
        further: A counterfactual's name, in lower case, to more words that name it.
    """
    words_by_name = further or {}
    columns = [
        _columns_of_name(f"{name} {words_by_name.get(name.lower(), '')}", concepts)
        for name in (counterfactual.name for counterfactual in axis.counterfactuals)
    ]
    return [
        sorted(columns_of_name - _of_others(columns, number))
        for number, columns_of_name in enumerate(columns)
    ]


def _of_others(columns: Sequence[set[int]], number: int) -> set[int]:
    """Return the indices of concepts that name any counterfactual but the given one."""
    others: set[int] = set()
    for other, columns_of_other in enumerate(columns):
        if other != number:
            others |= columns_of_other
    return others


def _columns_of_name(name: str, concepts: Sequence[str]) -> set[int]:
    """Return the indices of concepts that are synonyms of a word of the name."""
    columns = set()
    for word in concept_counts([name]):
        for column, concept in enumerate(concepts):
            if _are_synonyms(word, concept):
                columns.add(column)
    return columns


@lru_cache(maxsize=100_000)
def _are_synonyms(word: str, concept: str) -> bool:
    """Return whether a word and a concept are synonyms."""
    merged = synonyms().merged({word: 1.0, concept: 1.0})
    return len(set(merged.values())) == 1


def obedience_table(obeyed: Sequence[Obedience]) -> list[dict[str, Any]]:
    """Return rows for `details` that count how often answers name each counterfactual."""
    counts_by_name: dict[str, Counter[str]] = {}
    for answers in obeyed:
        if answers.images:
            counts = counts_by_name.setdefault(answers.counterfactual, Counter())
            counts["images"] += answers.images
            counts["named"] += answers.hits
            counts["another_named"] += len(answers.off_target)
    return [
        {"counterfactual": name, **counts} for name, counts in counts_by_name.items()
    ]
