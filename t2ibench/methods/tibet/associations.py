"""CAS and MAD of image sets as published, and MAD's null (Chinchure et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.tibet.baselines import even_deviation, even_distance
from t2ibench.methods.tibet.image_sets import ImageSet, drop_rare
from t2ibench.stats import concept_association, mad

FLIPPED = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
JUDGE_ERROR = 0.18  # what the paper takes for its judge's error rate (user study 3)
_REPEATS = 10
_ROUNDING = 1e-6  # a score below it is 0, whose relative change nobody can tell


def associations(start: Float64Array, changed: Float64Array) -> tuple[Float64Array, Float64Array]:
    """CAS, and the shares that MAD is taken of.

    Of two histograms w and v, CAS = sum min(w, v) / sum max(w, v) (algorithm 1).

    Args:
        start: Histograms of the prompt, shape (..., v).
        changed: Histograms of its counterfactuals, shape (..., k, v).

    Returns:
        CAS as algorithm 1 has it, and from histograms of sum 1 as the public code does, made to
        sum to 1 over the counterfactuals; both of shape (..., k).

    Examples:
        The prompt's images are three cooks to one waiter, one counterfactual's are all cooks, the
        other's all waiters: 0.75 / 1.25 and 0.25 / 1.75.

        >>> cas, shares = associations(np.array([0.75, 0.25]), np.eye(2))
        >>> cas.round(3).tolist(), shares.round(3).tolist()
        ([0.6, 0.143], [0.808, 0.192])
    """
    raw = concept_association(start[..., None, :], changed)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = start / start.sum(axis=-1, keepdims=True)
        second = changed / changed.sum(axis=-1, keepdims=True)
        even = np.nan_to_num(concept_association(first[..., None, :], second))
        shares: Float64Array = even / even.sum(axis=-1, keepdims=True)
    return np.nan_to_num(raw), shares


def null_deviation(
    start: ImageSet,
    changed: Sequence[ImageSet],
    floor: float,
    n_draws: int,
    rng: np.random.Generator,
) -> Float64Array:
    """MAD before its root where the prompt's images come from all counterfactuals alike.

    The prompt's images are resampled from those of its counterfactuals in equal parts, and those of
    each counterfactual from its own: a neutral prompt, at these sizes. Splitting the
    counterfactuals' images at random instead would ignore the variation of the prompt's own
    images, which is most of it.

    Args:
        start: The prompt's images; only their number matters.
        changed: Those of its counterfactuals.
        floor: Concepts that are rarer count as absent.
        n_draws: Number of draws, at least 1.
        rng: Of the draws.

    Returns:
        Shape (draws,).
    """
    bags = np.concatenate([image_set.bags() for image_set in changed])
    even = np.concatenate([np.full(len(image_set), 1.0 / len(image_set)) for image_set in changed])
    weights = rng.multinomial(len(start), even / even.sum(), n_draws) / len(start)
    first = drop_rare(weights @ bags, floor)
    others = np.stack([image_set.resampled(n_draws, floor, rng) for image_set in changed], axis=1)
    return np.nan_to_num(mad(associations(first, others)[1], root=False))


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How far the scores of one axis move when answers are flipped at random.

    Attributes:
        flipped: Shares of the answers that are flipped.
        values: Name of a score to what it is without flips; of CAS the mean.
        moved: Name of a score to its mean absolute change, one for each share.
        changes: Name of a score to its mean relative change, one for each share; 0 where it is 0
            but for rounding.
    """

    flipped: tuple[float, ...]
    values: Mapping[str, float]
    moved: Mapping[str, tuple[float, ...]]
    changes: Mapping[str, tuple[float, ...]]


def sensitivity(
    start: ImageSet,
    changed: Sequence[ImageSet],
    floor: float,
    rng: np.random.Generator,
    *,
    alternatives: bool = False,
) -> Sensitivity:
    """Flip shares of the answers at random, ten times each, and score them again."""
    chosen = [start, *changed]
    pools = [
        np.unique(np.concatenate([image_set.answers[:, question] for image_set in chosen]))
        for question in range(start.answers.shape[1])
    ]
    measures = _MEASURES if alternatives else {"mad": mad}
    flipped = (*FLIPPED, JUDGE_ERROR) if alternatives else FLIPPED
    cas, before = _measure(chosen, [one.answers for one in chosen], floor, measures)
    changes: dict[str, list[float]] = {name: [] for name in ("cas", *measures)}
    moved: dict[str, list[float]] = {name: [] for name in ("cas", *measures)}
    for share in flipped:
        found = [
            _measure(
                chosen, [_flip(one.answers, pools, share, rng) for one in chosen], floor, measures
            )
            for _ in range(_REPEATS)
        ]
        difference = np.abs(np.array([raw for raw, _ in found]) - cas)
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = difference / cas
        changes["cas"].append(float(np.nan_to_num(relative, posinf=0.0).mean()))
        moved["cas"].append(float(difference.mean()))
        for number, name in enumerate(measures):
            mean = float(np.mean([abs(after[number] - before[number]) for _, after in found]))
            moved[name].append(mean)
            changes[name].append(mean / before[number] if before[number] > _ROUNDING else 0.0)
    return Sensitivity(
        flipped,
        {"cas": float(cas.mean())} | dict(zip(measures, before, strict=True)),
        {name: tuple(values) for name, values in moved.items()},
        {name: tuple(values) for name, values in changes.items()},
    )


def _measure(
    sets: Sequence[ImageSet],
    answers: Sequence[IntArray],
    floor: float,
    measures: Mapping[str, Callable[[Float64Array], Float64Array]],
) -> tuple[Float64Array, list[float]]:
    """CAS of each counterfactual and MAD, with other answers in place of the judge's."""
    rows = [
        image_set.histogram(floor, table) for image_set, table in zip(sets, answers, strict=True)
    ]
    raw, shares = associations(rows[0], np.stack(rows[1:]))
    return raw, [float(measure(shares)) for measure in measures.values()]


_MEASURES: dict[str, Callable[[Float64Array], Float64Array]] = {
    "mad": mad,
    "wasserstein": even_distance,
    "deviation": even_deviation,
}


def _flip(
    answers: IntArray, pools: Sequence[IntArray], share: float, rng: np.random.Generator
) -> IntArray:
    """Answers, a share of them replaced by a different answer to the same question."""
    flipped: IntArray = answers.copy()
    for column, pool in enumerate(pools):
        if len(pool) < 2:
            continue
        hit = np.flatnonzero(rng.random(len(answers)) < share)
        step = rng.integers(1, len(pool), len(hit))
        positions = np.searchsorted(pool, answers[hit, column])
        flipped[hit, column] = pool[(positions + step) % len(pool)]
    return flipped
