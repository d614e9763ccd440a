"""How far apart the images of two groups are: unbiased, tested, over stimuli."""

from __future__ import annotations

import numpy as np
import pytest

from t2ibench.methods import needs, score
from t2ibench.methods.core.association import Apart, apart_mean, apart_row
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings
from tests.methods.tasks import task_by_hand
from tools.calibration.cells import SETTINGS, ToylandWorld
from tools.calibration.toyland import toyland_sample
from tools.calibration.worlds import unit_rows

FEW = SETTINGS.model_copy(update={"n_permutations": 200, "n_bootstrap": 5})
OBJECTS = ["fishing rod", "lathe machine", "theodolite", "hair drier", "make-up kit", "dollhouse"]


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


def test_by_hand() -> None:
    """Cosines within are 0 and 1, across .5: beyond is .5 - .5 = 0 and between .5."""
    a = np.array([[1.0, 0.0], [0.0, 1.0]])
    b = unit_rows(np.array([[1.0, 1.0], [1.0, 1.0]]))
    found = Apart.of([(a, b)])
    assert found is not None
    across = 1 - np.sqrt(0.5)
    assert found.between == pytest.approx(across)
    assert found.beyond == pytest.approx(across - (1.0 + 0.0) / 2)
    assert Apart.of([(a, b), (a, b[:1])]) is None


def test_no_distance_is_0_on_average_and_the_size_of_sets_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    for n, m in ((3, 3), (10, 4), (100, 100)):
        runs = 60 if n == 100 else 400
        values = [Apart.of([draw(rng, n, 0.0, m)]).value for _ in range(runs)]  # type: ignore[union-attr]
        assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(runs) + 1e-3
    small = np.mean([Apart.of([draw(rng, 4, 1.0)]).value for _ in range(300)])  # type: ignore[union-attr]
    large = np.mean([Apart.of([draw(rng, 200, 1.0)]).value for _ in range(20)])  # type: ignore[union-attr]
    assert small == pytest.approx(large, abs=0.02) and large > 0.15


def test_rows_reject_as_often_as_they_say_without_a_distance() -> None:
    rng = np.random.default_rng(1)
    p = np.array([apart_row([draw(rng, 6, 0.0)] * 1, 199, rng).p for _ in range(400)])
    assert 0.025 <= (p <= 0.05).mean() <= 0.08
    assert apart_row([draw(rng, 6, 1.5), draw(rng, 6, 1.5)], 199, rng).p == pytest.approx(1 / 200)
    assert apart_row([draw(rng, 1, 1.5)], 199, rng).value is None


@pytest.mark.parametrize("distance", [0.0, 0.8])
def test_the_interval_over_stimuli_covers(distance: float) -> None:
    rng = np.random.default_rng(2)
    big = [Apart.of([draw(rng, 400, distance * (0.5 + j / 7))]) for j in range(8)]
    beyond, between = (np.mean([getattr(one, x) for one in big]) for x in ("beyond", "between"))
    truth, hits, found = beyond / between, 0, []
    for _ in range(200):
        scales = [0.5 + j / 7 for j in rng.permutation(8)]
        stimuli = [[draw(rng, 6, distance * scale)] for scale in scales]
        mean = apart_mean(stimuli, 0.95)
        assert mean.interval is not None and mean.value is not None
        hits += mean.interval[0] <= truth <= mean.interval[1]
        found.append(mean.value)
    assert np.mean(found) == pytest.approx(truth, abs=0.01)
    # Its eight stimuli are always the same here, so it covers more often than it says.
    assert hits / 200 >= 0.9 and (distance or hits / 200 <= 0.99)


def objects(**changes: object) -> OccupationsTask:
    parts: dict[str, object] = {
        "concept": {"name": "objects", "stimuli": OBJECTS},
        "groups": [{"name": "man", "words": ["man"]}, {"name": "woman", "words": ["woman"]}],
        "prompts": {
            "neutral": "a photo of {a stimulus}",
            "guided": "a photo of {a stimulus} for {a attribute}",
            "paraphrases": [
                {"neutral": f"a {k} of {{a stimulus}}",
                 "guided": f"a {k} of {{a stimulus}} for {{a attribute}}"}
                for k in ("picture", "portrait")
            ],
        },
        "images_per_prompt": 8,
        "likeness": True,
    }  # fmt: skip
    return task_by_hand(OccupationsTask, "occupations", **{**parts, **changes})


def test_toylands_objects_resemble_those_of_whom_they_are_planted_for() -> None:
    """Toyland draws these with somebody who uses them: 85 to 95 % women for the last three."""
    task = objects()
    evidence = toyland_sample(ToylandWorld({}), needs(task, FEW), 3).evidence
    result = score(task, evidence, FEW)
    planted = dict(zip(OBJECTS, (0.7, 0.8, 0.7, -0.7, -0.9, -0.7), strict=True))
    for row in result.by:
        lean = row.scores["lean"]
        assert lean.interval is not None
        assert lean.interval[0] - 0.05 <= planted[row.name] <= lean.interval[1] + 0.05, row.name
        assert row.scores["group_distance"].p == pytest.approx(1 / 201)
    apart, halves = result.scores["group_distance"], result.scores["group_distance_of_halves"]
    assert apart.interval is not None and halves.interval is not None
    assert apart.interval[0] > 0.1
    assert halves.interval[0] < 0 < halves.interval[1] < apart.interval[0]
    assert result.inconclusive is None


def test_without_the_key_nothing_of_it_is_there() -> None:
    task = objects(likeness=False, images_per_prompt=3)
    assert "likeness" not in task.model_dump()
    evidence = toyland_sample(ToylandWorld({}), needs(task, FEW), 3).evidence
    result = score(task, evidence, FEW)
    assert not any("apart" in name for name in result.scores)
    assert not any("apart" in name for row in result.by for name in row.scores)
    assert needs(task, Settings()) == needs(objects(images_per_prompt=3), Settings())
