"""Stimuli whose images are alike, by hand, and in a T2IAT of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.methods.core.related_stimuli import (
    related_control,
    related_stimuli,
    related_test,
    unless_related,
)
from t2ibench.methods.core.wording_images import WordingImages

ALL = np.arange(8)
# Two clusters of four: what their images show across the direction of leans.
SCENES = [[4.0, 0.0]] * 4 + [[0.0, 4.0]] * 4


def images(at: float, scene: list[float], name: str) -> PromptImages:
    """Two images on either side of a place along the direction, of one scene."""
    rows = [[at + 0.1, *scene], [at - 0.1, *scene]]
    return PromptImages(np.array(rows), np.zeros(2, np.int64), [name], np.arange(2))


def leans_of(leans: list[float], scenes: list[list[float]]) -> Leans:
    """Stimuli with these leans, of groups at 1 and -1, measured along the first axis."""
    wordings = []
    for number, (lean, scene) in enumerate(zip(leans, scenes, strict=True)):
        sides = [images(at, scene, f"{number} {at}") for at in (lean, 1.0, -1.0)]
        wordings.append([WordingImages(*sides)])
    names = [f"stimulus {number}" for number in range(len(leans))]
    direction = np.eye(1 + len(scenes[0]))[0]
    return Leans.along(names, wordings, np.tile(direction, (len(leans), 1)))


def test_stimuli_of_one_scene_are_related() -> None:
    related = related_stimuli(leans_of([0.5] * 8, SCENES), ALL)
    assert np.array_equal(related, np.kron(np.eye(2), np.ones((4, 4))) > 0)
    few = related_stimuli(leans_of([0.5] * 3, SCENES[:3]), ALL[:3])
    assert np.array_equal(few, np.eye(3, dtype=bool))


def test_of_stimuli_that_do_not_differ_beyond_noise_none_are_related() -> None:
    """Their means are .1 apart, and images of one stimulus 8: noise alone would put them there."""

    def noisy(at: float, shift: float, name: str) -> PromptImages:
        rows = [[at, shift + 4.0], [at, shift - 4.0]]
        return PromptImages(np.array(rows), np.zeros(2, np.int64), [name], np.arange(2))

    wordings = []
    for number in range(8):
        shift = 0.1 * (number % 2)
        sides = [noisy(at, shift, f"{number} {at}") for at in (0.5, 1.0, -1.0)]
        wordings.append([WordingImages(*sides)])
    names = [f"stimulus {number}" for number in range(8)]
    directions = np.tile([1.0, 0.0], (8, 1))
    leans = Leans.along(names, wordings, directions)
    assert np.array_equal(related_stimuli(leans, ALL), np.eye(8, dtype=bool))


def test_a_cluster_is_one_draw() -> None:
    """Leans .5 and .1 by cluster: of eight t is 3.97, of two it is .3 / (.2 √2 / √2) = 1.5.

    With one degree of freedom p is 1 - 2 atan(1.5) / π = .374.
    """
    leans = leans_of([0.5] * 4 + [0.1] * 4, SCENES)
    # N is twice the lean: the SD of .5 and .1 four times each is .214 and t = .3 √8 / .214.
    t = 0.3 * np.sqrt(8) / np.std([0.5] * 4 + [0.1] * 4, ddof=1)
    p = float(2 * (1 - _cumulative_t(t, 7)))
    test = related_test(p, 7.0, leans, [ALL])
    assert test is not None and test.independent == pytest.approx(2.0)
    assert test.p == pytest.approx(1 - 2 * np.arctan(1.5) / np.pi, abs=1e-6)
    control: Any = related_control(test)
    assert "the 8 stimuli are 2.0 independent ones" in control.says
    assert "no more than 2.0 independent ones" in control.contradicts
    mean = Estimate(0.3, p=p, interval=(0.1, 0.5))
    undecided = unless_related(mean, 7.0, leans)
    assert undecided.value is None and undecided.p == pytest.approx(test.p)


def _cumulative_t(t: float, df: float) -> float:
    from scipy.special import stdtr

    return float(stdtr(df, t))


def test_where_clusters_agree_with_each_other_the_claim_stays() -> None:
    leans = leans_of([0.5, 0.52, 0.5, 0.52] * 2, SCENES)
    test = related_test(1e-9, 7.0, leans, [ALL])
    assert test is not None and test.p < 0.05
    control: Any = related_control(test)
    assert control.contradicts is None
    mean = Estimate(0.5, p=1e-9)
    assert unless_related(mean, 7.0, leans).value == 0.5


def test_nothing_is_added_where_stimuli_differ_or_nothing_is_claimed() -> None:
    scenes: list[list[float]] = (4 * np.eye(8)).tolist()
    apart = leans_of([0.5] * 4 + [0.1] * 4, scenes)
    assert related_test(0.01, 7.0, apart, [ALL]) is None
    alike = leans_of([0.5] * 4 + [0.1] * 4, SCENES)
    assert related_test(0.2, 7.0, alike, [ALL]) is None
    assert related_test(None, None, alike, [ALL]) is None
    assert related_control(None) is None
    mean = Estimate(0.3, p=0.2)
    assert unless_related(mean, 7.0, alike) is mean
