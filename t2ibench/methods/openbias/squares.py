"""The mean squared lean of rows of answers: its value, its influences, its null and its intervals.

The mean over biases of the mean over captions of the unbiased squared lean of their answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.headline import Inference, Question
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.openbias.rows import POOLED, CountedRow, table_of
from t2ibench.stats import (
    anchored_interval,
    critical_value,
    p_value,
    pseudo_variance,
    relabelled_counts,
    squared_lean,
    squared_lean_without,
    variance_path,
)

_WORK = 20_000_000  # answers that are drawn for a null distribution
_FEWEST, _MOST = 2_000, 20_000  # draws of it


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """The mean squared lean of some rows.

    Attributes:
        value: Unbiased.
        influence: Of the images, by the jackknife, with the floor of its variance.
        df: Degrees of freedom of that: images less prompts.
        clusters: Influence of the captions (or stimuli); None where a bias has fewer than two.
        rows: Number of rows.
        steepest: Bound of the variance's slope; see `stats.variance_path`.
        top: The largest value.
        pooled: Whether each caption had a single image, so that captions vary with the images.
    """

    value: float
    influence: Influence
    df: float
    clusters: Influence | None
    rows: int
    steepest: float
    top: float
    pooled: bool

    @property
    def question(self) -> Question:
        """What the images' inference is about."""
        return "like_these" if self.pooled else "these"


def mean_square_of(rows: Sequence[CountedRow]) -> MeanSquare:
    """The mean over biases of the mean over captions of squared leans."""
    weights = _weights(rows)
    squares = np.array([row.square for row in rows])
    floor, steepest, df = 0.0, 0.0, 0.0
    for members in _by_prompt(rows):
        own = [rows[k] for k in members]
        codes = _codes(own)
        width = max(len(row.expected) for row in own)
        expected = np.array([np.pad(row.expected, (0, width - len(row.expected))) for row in own])
        classes = np.array([len(row.expected) for row in own])
        floor += pseudo_variance(codes, expected, classes, weights[members])
        steepest += 4.0 * float(weights[members].sum()) ** 2 / len(codes)
        df += len(codes) - 1.0
    influence = Influence.combined(
        (weight, _jackknife(row)) for weight, row in zip(weights, rows, strict=True)
    )
    return MeanSquare(
        float(weights @ squares),
        influence.with_floor(floor),
        df,
        _clusters(rows, squares, weights),
        len(rows),
        steepest,
        float(weights @ [row.largest for row in rows]),
        rows[0].prompt == POOLED,
    )


def _weights(rows: Sequence[CountedRow]) -> Float64Array:
    """Every bias counts alike, and every caption of a bias."""
    sizes = {bias: sum(row.bias == bias for row in rows) for bias in {row.bias for row in rows}}
    return np.array([1.0 / (len(sizes) * sizes[row.bias]) for row in rows])


def _by_prompt(rows: Sequence[CountedRow]) -> Iterator[list[int]]:
    found: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        found.setdefault(row.prompt, []).append(number)
    yield from found.values()


def _codes(rows: Sequence[CountedRow]) -> IntArray:
    """Codes of all rows of one prompt, shape (images, rows); -1 without an answer."""
    images = np.unique(np.concatenate([row.indices for row in rows]))
    codes = np.full((len(images), len(rows)), -1, dtype=np.int64)
    for column, row in enumerate(rows):
        codes[np.searchsorted(images, row.indices), column] = row.codes
    return codes


def _jackknife(row: CountedRow) -> Influence:
    """The influence of its images; of two images nothing is known but the floor."""
    if len(row.codes) < 3:
        without = np.full(len(row.codes), row.square)
    else:
        without = squared_lean_without(row.counts, row.expected)[row.codes]
    strata = np.zeros(len(row.codes), dtype=np.int64)
    return Influence.of_jackknife((row.prompt,), strata, row.indices, without)


def _clusters(
    rows: Sequence[CountedRow], squares: Float64Array, weights: Float64Array
) -> Influence | None:
    """The influence of what would be drawn anew; clusters of the same biases are exchangeable."""
    biases = np.array([row.bias for row in rows])
    names = {name: number for number, name in enumerate(dict.fromkeys(row.cluster for row in rows))}
    values = np.zeros(len(names))
    asked: list[set[int]] = [set() for _ in names]
    for bias in np.unique(biases):
        own = np.flatnonzero(biases == bias)
        numbers = np.array([names[rows[int(k)].cluster] for k in own])
        several = len(np.unique(numbers))
        if several < 2:
            return None
        moved: Float64Array = weights[own] * (squares[own] - squares[own].mean())
        np.add.at(values, numbers, moved * np.sqrt(several / (several - 1)))
        for number in numbers:
            asked[number].add(int(bias))
    kinds = {kind: k for k, kind in enumerate(dict.fromkeys(frozenset(some) for some in asked))}
    stratum = np.array([kinds[frozenset(some)] for some in asked])
    strata = tuple(f"biases {sorted(kind)}" for kind in kinds)
    return Influence(strata, stratum, np.arange(len(names)), values)


def null_means(rows: Sequence[CountedRow], n_draws: int, rng: np.random.Generator) -> Float64Array:
    """Each bias's mean squared lean where nothing leans, what its images share kept.

    Args:
        rows: The rows.
        n_draws: The most draws; fewer are made for many answers.
        rng: Source of the draws.

    Returns:
        Shape (draws, biases of the rows in ascending order).
    """
    table = table_of(rows)
    biases, column = np.unique([row.bias for row in rows], return_inverse=True)
    sizes = np.bincount(column)
    means = (column[:, None] == np.arange(len(biases))) / sizes
    fitting = int(np.clip(_WORK // len(table.image), _FEWEST, _MOST))
    return np.concatenate(
        [
            squared_lean(counts, table.expected, table.classes) @ means
            for counts in relabelled_counts(table, min(n_draws, fitting), rng)
        ]
    )


@dataclass(frozen=True, slots=True)
class Tested:
    """A mean square with its test.

    Attributes:
        p: p-value.
        critical: The largest value that is not rejected.
        inference: Question to inference.
    """

    p: float
    critical: float
    inference: dict[Question, Inference]


def tested(square: MeanSquare, null: Float64Array, level: float) -> Tested:
    """The test of a mean square, and intervals that agree with it.

    Both questions have one test: a mean of squares is 0 only where each of them is.

    Args:
        square: The mean square.
        null: Draws of it where nothing leans, shape (draws,).
        level: Confidence level, in (0, 1).

    Returns:
        The test with an interval for each question that can be answered.
    """
    p = p_value(null, square.value, "greater", exact=False)
    critical = critical_value(null, level)
    variance = square.influence.variance
    path = variance_path(
        square.value, variance, float(null.var()), square.steepest, square.rows, square.top
    )
    low, high = anchored_interval(
        square.value, critical, variance, square.df, level, path=path, top=square.top
    )
    inference: dict[Question, Inference] = {square.question: Inference(low, high, p, square.df)}
    if not square.pooled:
        inference["like_these"] = _like_these(square, p, critical, level)
    return Tested(p, critical, inference)


def _like_these(square: MeanSquare, p: float, critical: float, level: float) -> Inference:
    if square.clusters is None:
        return Inference(reason="a bias has a single caption")
    variance = max(square.clusters.variance, square.influence.variance)
    df = square.clusters.df if square.clusters.variance > 0 else float(len(square.clusters.value))
    df = max(1.0, min(df, len(square.clusters.value) - 1.0))
    low, high = anchored_interval(square.value, critical, variance, df, level, top=square.top)
    return Inference(low, high, p, df)
