"""Distances between images of different groups, whatever images without a group are like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.methods.core.association import halves, mean_distance, row_distance
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.stimulus_images import StimulusImages
from t2ibench.methods.occupations.design import GroupPair
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class GroupDistances:
    """The distances between the groups' images, over all stimuli and for each.

    Attributes:
        scores: The distance of each pair of groups over stimuli, and that of halves of the images
            without a group, which nothing but chance sets apart.
        rows: The distances of each stimulus.
    """

    scores: dict[str, Estimate]
    rows: list[dict[str, Estimate]]


def group_distances(
    task: OccupationsTask,
    pairs: Sequence[GroupPair],
    images: Sequence[StimulusImages],
    settings: Settings,
) -> GroupDistances:
    """Return the distances between groups' images; empty if the task does not ask for them."""
    rows: list[dict[str, Estimate]] = [{} for _ in images]
    if not task.likeness or not pairs:
        return GroupDistances({}, rows)
    scores: dict[str, Estimate] = {}
    for pair in pairs:
        name = f"group_distance{pair.suffix}"
        sides = [
            [
                (wording.a.embeddings, wording.b.embeddings)
                for wording in stimulus.wording_images(*pair.names)
            ]
            for stimulus in images
        ]
        scores[name] = mean_distance(sides, settings.level)
        for row, stimulus, both in zip(rows, images, sides, strict=True):
            rng = settings.rng(task.id, f"apart{pair.suffix} {stimulus.name}")
            row[name] = row_distance(both, settings.n_permutations, rng)
    of_halves = [list(map(halves, stimulus.neutral)) for stimulus in images]
    scores["group_distance_of_halves"] = mean_distance(of_halves, settings.level)
    return GroupDistances(scores, rows)
