"""How far apart the images of two groups are: unbiased, tested, over stimuli."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.methods import needs, score
from t2ibench.methods.core.association import SetDistance, mean_distance, row_distance
from t2ibench.methods.occupations.schema import OccupationsTask
from tests.methods.tasks import task_by_hand
from tools.calibration.cells import SETTINGS, ToylandWorld
from tools.calibration.toyland import toyland_sample
from tools.calibration.worlds import unit_rows

FEW = SETTINGS.model_copy(update={"n_permutations": 200, "n_bootstrap": 5})
OBJECTS = [
    "fishing rod",
    "lathe machine",
    "theodolite",
    "hair drier",
    "make-up kit",
    "dollhouse",
]


def draw(
    rng: np.random.Generator, n: int, distance: float, m: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """n and m images; the expectations of the sets lie `distance` apart along one axis."""
    m = n if m is None else m
    centre = np.eye(24)[0] * 2.0
    shift = np.eye(24)[1] * distance / 2
    return (
        unit_rows(centre + shift + 0.3 * rng.normal(size=(n, 24))),
        unit_rows(centre - shift + 0.3 * rng.normal(size=(m, 24))),
    )


def test_rows_are_tested_by_shuffled_labels_whatever_the_sizes_of_the_sets() -> None:
    rng = np.random.default_rng(1)
    p = np.array([row_distance([draw(rng, 6, 0.0, 4)], 199, rng).p for _ in range(200)])
    assert 0.02 <= (p <= 0.05).mean() <= 0.09
    assert row_distance(
        [draw(rng, 6, 1.5), draw(rng, 6, 1.5)], 199, rng
    ).p == pytest.approx(1 / 200)
    assert row_distance([draw(rng, 1, 1.5)], 199, rng).value is None


@pytest.mark.parametrize("distance", [0.0, 0.8])
def test_the_interval_over_stimuli_covers(distance: float) -> None:
    rng, distances = np.random.default_rng(2), distance * (0.5 + np.arange(8) / 7)
    big = [SetDistance.of([draw(rng, 400, one)]) for one in distances]
    truth = np.mean([one.beyond for one in big]) / np.mean([one.between for one in big])
    found = [
        mean_distance([[draw(rng, 6, one)] for one in distances], 0.95)
        for _ in range(200)
    ]
    assert np.mean([one.value for one in found]) == pytest.approx(truth, abs=0.01)
    hits = np.mean([one.interval[0] <= truth <= one.interval[1] for one in found])
    # Its eight stimuli are always the same here, so it covers more often than it says.
    assert hits >= 0.9 and (distance or hits <= 0.99)


def test_objects_in_toyland_resemble_the_group_that_is_planted() -> None:
    """Toyland draws these with somebody who uses them: 85 to 95 % women for the last three."""
    kinds = ("photo", "picture", "portrait")
    task = task_by_hand(
        OccupationsTask, "occupations",
        concept={"name": "objects", "stimuli": OBJECTS},
        groups=[{"name": name, "words": [name]} for name in ("man", "woman")],
        prompts={
            "images": "each",
            "templates": [
                {"neutral": f"a {kind} of {{a stimulus}}",
                 "guided": f"a {kind} of {{a stimulus}} for {{a attribute}}"}
                for kind in kinds
            ],
        },
        images_per_prompt=8, likeness=True,
    )  # fmt: skip
    evidence = toyland_sample(ToylandWorld({}), needs(task, FEW), 3).evidence
    result = score(task, evidence, FEW)
    planted = dict(zip(OBJECTS, (0.7, 0.8, 0.7, -0.7, -0.9, -0.7), strict=True))
    for row in result.by:
        low, high = row.scores["lean"].interval
        assert low - 0.05 <= planted[row.name] <= high + 0.05, row.name
        assert row.scores["group_distance"].p == pytest.approx(1 / 201)
    apart, halves = (
        result.scores["group_distance"],
        result.scores["group_distance_of_halves"],
    )
    assert apart.interval[0] > 0.1
    assert halves.interval[0] < 0 < halves.interval[1] < apart.interval[0]
    assert result.inconclusive is None
