"""Attributes of the same images: which combinations are shown, and whether they go together."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from t2ibench.methods import score
from t2ibench.methods.openbias.checks import check
from t2ibench.methods.openbias.schema import OpenBiasTask, crossing_names
from t2ibench.settings import Settings
from tests.methods.fakes import HandEvidence
from tests.methods.tasks import task_by_hand

SETTINGS = Settings(n_permutations=999, n_bootstrap=100)
CLASSES = {"gender": ["f", "m"], "skin": ["d", "l"], "age": ["o", "y"]}
JOBS = [f"job{number}" for number in range(8)]


def crossed_task(
    *crossings: list[str], axes: str = "gender skin age", **more: Any
) -> OpenBiasTask:
    biases = [
        {
            "name": axis,
            "about": "person",
            "classes": CLASSES[axis],
            "question": f"Which {axis}?",
            "stimuli": JOBS,
            "templates": ["a {stimulus}", "one {stimulus}"],
        }
        for axis in axes.split()
    ]
    return task_by_hand(
        OpenBiasTask,
        "openbias",
        biases=biases,
        crossings=crossings,
        images_per_prompt=10,
        **more,
    )


def evidence(
    rng: np.random.Generator, together: float = 0.0, n: int = 10
) -> HandEvidence:
    """Answers whose shares differ from job to job.

    `together` moves women's and darker skin's shares towards each other, from 0 to 1.
    """
    answers: dict[str, dict[str, list[str]]] = {}
    for job in JOBS:
        p, q, r = rng.uniform(0.25, 0.75, size=3)
        both = p * q + together * (min(p, q) - p * q)
        cells = np.array([[both, p - both], [q - both, 1 - p - q + both]])
        for opening in ("a", "one"):
            picks = rng.choice(4, n, p=cells.ravel())
            old = rng.random(n) < r
            answers[f"{opening} {job}"] = {
                "Which gender?": ["fm"[pick // 2] for pick in picks],
                "Which skin?": ["dl"[pick % 2] for pick in picks],
                "Which age?": ["yo"[int(one)] for one in old],
            }
    return HandEvidence(answers=answers)


def p_values(result: Any) -> dict[str, float]:
    return {
        one["tests"][0]["name"]: one["tests"][0]["p"]
        for one in result.details["crossings"]
    }


def test_a_planted_interaction_is_found_and_named() -> None:
    task = crossed_task(["gender", "skin"], axes="gender skin")
    result = score(task, evidence(np.random.default_rng(0), together=0.9), SETTINGS)
    found = result.scores["interaction:gender x skin"]
    assert found.p == pytest.approx(0.001) and found.value > 0.1
    cells = {row.name: row.scores for row in result.by if row.group == "gender x skin"}
    for first, second in product("fm", "dl"):
        excess = cells[f"{first} x {second}"]["excess"]
        low, high = excess.interval
        assert (low > 0) if (first, second) in {("f", "d"), ("m", "l")} else (high < 0)
        assert excess.p < 0.001
        apart = cells[f"{first} x {second}"]["joint_share"].value - excess.value
        assert cells[f"{first} x {second}"]["independent_share"].value == pytest.approx(
            apart
        )


@pytest.mark.nightly
def test_no_interaction_is_claimed_where_none_is_planted() -> None:
    task = crossed_task(["gender", "skin", "age"])
    rng = np.random.default_rng(5)
    rejected: list[list[bool]] = []
    excess, values = [], []
    for _ in range(24):
        result = score(
            task, evidence(rng), Settings(n_permutations=199, n_bootstrap=100)
        )
        rejected.append([p < 0.05 for p in p_values(result).values()])
        excess += [
            row.scores["excess"].value for row in result.by if "excess" in row.scores
        ]
        values.append(result.scores["interaction:gender x age"].value)
    assert np.shape(rejected) == (24, 3)
    assert np.mean(rejected) < 0.12
    assert abs(np.mean(excess)) < 0.004 and abs(np.mean(values)) < 0.003


def test_every_pair_of_three_axes_is_tested_with_a_common_correction() -> None:
    task = crossed_task(["gender", "skin", "age"])
    result = score(task, evidence(np.random.default_rng(4), together=0.9), SETTINGS)
    found = p_values(result)
    assert [one["crossing"] for one in result.details["crossings"]] == crossing_names(
        task
    )
    assert found.pop("interaction:gender x skin") == pytest.approx(0.001)
    assert len(found) == 2 and min(found.values()) > 0.05
    assert result.details["crossings"][0]["tests"][0]["p_holm"] == pytest.approx(0.003)


def test_a_task_without_crossings_has_the_same_headline() -> None:
    plain, crossed = crossed_task(), crossed_task(["gender", "skin"])
    assert "crossings" not in plain.model_dump()
    found = evidence(np.random.default_rng(0))
    ours, theirs = (score(task, found, SETTINGS) for task in (plain, crossed))
    assert (
        ours.headline.value == theirs.headline.value
        and ours.headline.p == theirs.headline.p
    )
    assert "crossings" not in ours.details
    few = score(crossed, evidence(np.random.default_rng(0), n=3), SETTINGS)
    assert "no prompt has 4 images" in few.scores["interaction:gender x skin"].reason


@pytest.mark.parametrize(
    ("crossing", "second", "message"),
    [
        (["gender", "skln"], {}, "unknown bias 'skln'. Did you mean 'skin'"),
        (["gender", "person gender"], {}, "more than once: 'person gender'"),
        (["gender", "skin"], {"stimuli": ("cook",)}, "the same captions"),
    ],
)
def test_mistakes_in_crossings_are_reported(
    crossing: list[str], second: dict[str, Any], message: str
) -> None:
    task = crossed_task(crossing)
    biases = task.biases[0], task.biases[1].model_copy(update=second), task.biases[2]
    found = check(task.model_copy(update={"biases": biases}))
    assert message in "\n".join(finding.message for finding in found)
