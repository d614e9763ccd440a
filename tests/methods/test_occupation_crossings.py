"""Joint shares of two attributes as an encoder sees them, and whether they go together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from t2ibench.methods import score
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.occupations.crossings import Crossing, crossing_scores
from t2ibench.methods.occupations.design import needs
from t2ibench.methods.occupations.schema import OccupationsTask, check
from t2ibench.settings import Settings
from tests.methods.tasks import task_by_hand
from tools.calibration.worlds import WorldEvidence, unit_rows

SETTINGS = Settings(n_permutations=200, n_bootstrap=100)
JOBS = [f"job{number}" for number in range(12)]
PAIRS = [("female", "male"), ("old", "young"), ("dark", "light")]
GENDER, AGE, SKIN = (
    [{"name": name, "words": [name]} for name in pair] for pair in PAIRS
)
SIGNS = {
    word: (k, 1 - 2 * n) for k, pair in enumerate(PAIRS) for n, word in enumerate(pair)
}


def crossed_task(n: int = 20, m: int = 10, **crossing: Any) -> OccupationsTask:
    return task_by_hand(
        OccupationsTask,
        "occupations",
        concept={"name": "jobs", "stimuli": JOBS},
        groups=GENDER,
        prompts={"neutral": "a {stimulus}", "guided": "a {attribute} {stimulus}"},
        images_per_prompt=n,
        guided_images_per_prompt=m,
        crossing=crossing or {"gender": GENDER, "age": AGE},
    )


def evidence(
    task: OccupationsTask,
    rng: np.random.Generator,
    together: float,
    axes: int = 2,
    d: int = 48,
) -> tuple[WorldEvidence, list[float]]:
    """Images whose attributes lie along two (three) directions that are not orthogonal.

    The first two attributes go together as far as `together`, from 0 to 1.

    Returns:
        The images, and the true excess of each job.
    """
    basis = unit_rows(rng.normal(size=(3, d)))
    basis[1] = unit_rows(basis[1] + 0.4 * basis[0])
    centres = {job: unit_rows(rng.normal(size=d)) for job in JOBS}
    shares = {job: rng.uniform(0.25, 0.75, size=3) for job in JOBS}
    excess = [together * (min(p, q) - p * q) for p, q, _ in shares.values()]
    embeddings = {}
    for prompt, n in needs(task, SETTINGS).images_by_prompt.items():
        job = prompt.rsplit(" ", 1)[1]
        p, q, r = shares[job]
        both = p * q + together * (min(p, q) - p * q)
        picks = rng.choice(4, n, p=[both, p - both, q - both, 1 - p - q + both])
        sides = np.stack(
            [1 - 2 * (picks // 2), 1 - 2 * (picks % 2), np.sign(r - rng.random(n))], 1
        )
        for word in prompt.split():
            if word in SIGNS:
                axis, sign = SIGNS[word]
                sides[:, axis] = sign
        rows = centres[job] + 0.25 * sides[:, :axes] @ basis[:axes]
        embeddings[prompt] = unit_rows(rows + rng.normal(scale=0.08, size=(n, d)))
    texts = needs(task, SETTINGS).texts
    return WorldEvidence(
        embeddings, {text: unit_rows(rng.normal(size=d)) for text in texts}
    ), excess


def crossed(task: OccupationsTask, found: WorldEvidence) -> Crossing:
    return crossing_scores(task, ImageCollector(found), SETTINGS)


def test_a_planted_interaction_is_recovered_with_its_size() -> None:
    task = crossed_task()
    found, excess = evidence(task, np.random.default_rng(0), 0.8)
    result = score(task, found, SETTINGS)
    estimate = result.scores["interaction:gender x age"]
    assert estimate.p < 0.001
    assert estimate.interval[0] < np.mean(excess) < estimate.interval[1]
    cells = {row.name: row.scores for row in result.by if row.group == "gender x age"}
    assert (
        cells["female x old"]["excess"].interval[0]
        > 0
        > cells["male x old"]["excess"].value
    )
    assert sum(one["joint_share"].value for one in cells.values()) == pytest.approx(1.0)
    assert [one["crossing"] for one in result.details["crossings"]] == ["gender x age"]
    plain = task.model_copy(update={"crossing": {}})
    assert score(plain, found, SETTINGS).headline.value == result.headline.value
    assert "crossing" not in plain.model_dump()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("runs", "error", "least"),
    [(20, 0.02, 0.8), pytest.param(60, 0.012, 0.87, marks=pytest.mark.nightly)],
)
@pytest.mark.parametrize("together", [0.0, 0.5])
def test_an_interaction_is_estimated_without_bias_and_its_interval_covers_it(
    together: float, runs: int, error: float, least: float
) -> None:
    """The attributes' directions are not orthogonal, which alone must not look like an excess."""
    rng = np.random.default_rng(int(10 * together))
    found = []
    for number in range(runs):
        task = crossed_task(n=(6, 20)[number % 2], m=5)
        images, excess = evidence(task, rng, together)
        estimate: Any = crossed(task, images).scores["interaction:gender x age"]
        (low, high), truth = estimate.interval, np.mean(excess)
        found.append((estimate.value - truth, low <= truth <= high, estimate.p < 0.05))
    bias, covers, rejects = np.mean(found, axis=0)
    assert abs(bias) < error and covers >= least
    assert rejects <= 0.13 if together == 0 else rejects > 0.4


def test_only_the_planted_pair_of_three_crossed_attributes_interacts() -> None:
    task = crossed_task(gender=GENDER, age=AGE, skin=SKIN)
    assert (
        task.combinations[0].words == ("dark old female",)
        and len(task.combinations) == 8
    )
    found, _ = evidence(task, np.random.default_rng(1), 0.9, axes=3)
    crossing = crossed(task, found)
    tests = {
        row["name"]: row["p_holm"] for row in crossing.details["crossings"][0]["tests"]
    }
    names = ("gender x age", "gender x skin", "age x skin", "gender x age x skin")
    two, *unrelated, _ = (tests.pop(f"interaction:{name}") for name in names)
    assert two < 0.001 and min(unrelated) > 0.05 and not tests
    assert len([row for row in crossing.rows if "excess" in row.scores]) == 8


def test_combinations_that_the_encoder_does_not_distinguish_are_inconclusive() -> None:
    task = crossed_task()
    rng = np.random.default_rng(2)
    prompts = needs(task, SETTINGS).images_by_prompt
    noise = {
        prompt: unit_rows(rng.normal(size=(n, 16))) for prompt, n in prompts.items()
    }
    crossing = crossed(task, WorldEvidence(noise))
    estimate = crossing.scores["interaction:gender x age"]
    assert estimate.value is None and not crossing.rows
    assert estimate.reason is not None and "too alike" in estimate.reason


def test_mistakes_in_crossings_are_reported() -> None:
    one = [finding.message for finding in check(crossed_task(gender=GENDER))]
    assert "give two or three attributes to cross" in one
    twice = [
        finding.message for finding in check(crossed_task(gender=GENDER, sex=GENDER))
    ]
    assert any("more than once: 'female', 'male'" in message for message in twice)
