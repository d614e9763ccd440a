"""Whether the images of a counterfactual are answered with its name, or with another one's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import BoolArray
from t2ibench.methods.core.concepts import Synonyms, concept_counts, synonyms
from t2ibench.methods.tibet.image_sets import FeatureSet
from t2ibench.methods.tibet.schema import Axis


@dataclass(frozen=True, slots=True)
class Obedience:
    """What the answers about the images of one counterfactual name.

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
    """Which images of an axis's counterfactuals are answered with which counterfactual's name.

    A word that several of the names share, such as 'skin', names none of them.

    Args:
        axis: The axis.
        concepts: The names of the concepts.
        changed: The images of each counterfactual.
    """
    names = [counterfactual.name for counterfactual in axis.counterfactuals]
    columns = [_columns_of_name(name, concepts, synonyms()) for name in names]
    features = np.concatenate([images.features for images in changed])
    ever_named: BoolArray = np.any(features, axis=0)
    table = []
    for number, (name, images) in enumerate(zip(names, changed, strict=True)):
        columns_of_others = set[int]().union(*columns[:number], *columns[number + 1 :])
        own_columns = sorted(columns[number] - columns_of_others)
        other_columns = sorted(columns_of_others - columns[number])
        if not ever_named[own_columns].any():
            table.append(Obedience(name, 0, 0, frozenset()))
            continue
        named = images.features[:, own_columns].any(axis=1)
        other_named = images.features[:, other_columns].any(axis=1)
        off_target = frozenset(images.units[other_named & ~named].tolist())
        table.append(Obedience(name, len(images.units), int(named.sum()), off_target))
    return table


def _columns_of_name(
    name: str, concepts: Sequence[str], synonyms_of_words: Synonyms
) -> set[int]:
    """The numbers of the concepts that are synonyms of a word of a counterfactual's name."""
    columns = set()
    for word in concept_counts([name]):
        for column, concept in enumerate(concepts):
            merged = synonyms_of_words.merged({word: 1.0, concept: 1.0})
            if len(set(merged.values())) == 1:
                columns.add(column)
    return columns


def obedience_table(obeyed: Sequence[Obedience]) -> list[dict[str, Any]]:
    """Images of each counterfactual that is named in answers, as entries of `details`."""
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
