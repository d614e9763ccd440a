"""The mean squared lean of captions, with each image's and caption's influence on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.inference import Question
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.compared_rows import is_pooled
from t2ibench.stats import pseudo_variance, squared_lean_without
from t2ibench.stats.rounding import sums_by


@dataclass(frozen=True, slots=True)
class MeanSquaredLean:
    """The squared lean of captions, averaged over captions, then over questions.

    Attributes:
        value: The mean, estimated without bias: it may be negative by chance.
        influence: Influence of the images, by the jackknife, with the floor of its
            variance.
        df: Degrees of freedom of that variance: images less prompts.
        clusters: Influence of the captions (or stimuli); None where a bias has fewer
            than two.
        noise: Mean of the squares if nothing leans, before their noise is subtracted.
        steepest: Upper bound of how steeply the variance grows with the lean: √T times
            the sum over prompts of w² / n, with T the largest value, w the prompt's
            weight in the mean and n its images; see `squared_lean_test.noise_of`.
        top: The largest value that it can have.
        pooled: Whether each caption had a single image, so that captions vary with the
            images.
    """

    value: float
    influence: Influence
    df: float
    clusters: Influence | None
    noise: float
    steepest: float
    top: float
    pooled: bool

    @property
    def question(self) -> Question:
        """Question that inference from images answers: about these prompts, or ones like them."""
        return "prompt_population" if self.pooled else "fixed_prompts"


def mean_squared_lean(rows: Sequence[CountedRow]) -> MeanSquaredLean:
    """Return the squared lean of captions, averaged over captions, then over questions.

    The squared lean of a caption with shares p of k classes, against expected shares r,
    is the sum over classes of (p − r)² / (1 − 1/k), less what noise adds to it.
    """
    sizes = Counter(row.bias for row in rows)
    weights = np.array([1.0 / (len(sizes) * sizes[row.bias]) for row in rows])
    squares = np.array([row.square for row in rows])
    members: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        members.setdefault(row.prompt, []).append(number)
    floor = 0.0
    steepest = 0.0
    df = 0.0
    for numbers in members.values():
        of_prompt = [rows[number] for number in numbers]
        codes = _codes_by_image(of_prompt)
        expected, n_classes = expected_table(of_prompt)
        # Answers that are all alike show no variance, yet are compatible with some.
        floor += pseudo_variance(codes, expected, n_classes, weights[numbers])
        steepest += float(weights[numbers].sum()) ** 2 / len(codes)
        df += len(codes) - 1.0
    influence = Influence.combined(
        (weight, _image_influence(row))
        for weight, row in zip(weights, rows, strict=True)
    )
    top = float(weights @ [row.largest for row in rows])
    return MeanSquaredLean(
        value=float(weights @ squares),
        influence=influence.with_floor(floor),
        df=df,
        clusters=_cluster_influence(rows, squares, weights),
        noise=float(weights @ [row.noise for row in rows]),
        steepest=steepest * top**0.5,
        top=top,
        pooled=is_pooled(rows),
    )


def squared_lean_parts(rows: Sequence[CountedRow]) -> tuple[Part, ...]:
    """Return each row's distances from expected shares, with which two runs are compared.

    Two runs are compared part by part. A row of k classes has k - 1 distances, which
    are orthogonal to each other. They are scaled so that the mean of value² - variance
    over all parts is the value of `mean_squared_lean`.
    """
    from scipy.linalg import helmert

    sizes = Counter(row.bias for row in rows)
    n_parts = sum(len(row.expected) - 1 for row in rows)
    parts = []
    for row in rows:
        n_classes = len(row.expected)
        # One over the weight of the row in the mean.
        n_equal = len(sizes) * sizes[row.bias]
        scale = np.sqrt(n_parts / n_equal / (1 - 1 / n_classes))
        shares = row.counts / len(row.codes)
        distance = shares - row.expected
        for number, contrast in enumerate(scale * helmert(n_classes)):
            moves = contrast[row.codes]
            influence = Influence.of_mean(row.prompt, row.indices, moves)
            name = f"{row.bias} {row.prompt} {number}"
            value = float(contrast @ distance)
            parts.append(Part(name, value, influence))
    return tuple(parts)


def expected_table(rows: Sequence[CountedRow]) -> tuple[Float64Array, IntArray]:
    """Return the expected shares of all rows as one table, and each row's number of classes.

    Returns:
        The shares, padded with 0 to shape (rows, most classes), and the number of
        classes of each row, shape (rows,).
    """
    n_classes = np.array([len(row.expected) for row in rows], dtype=np.int64)
    width = n_classes.max()
    padded = [np.pad(row.expected, (0, width - len(row.expected))) for row in rows]
    return np.array(padded), n_classes


def _codes_by_image(rows: Sequence[CountedRow]) -> IntArray:
    """Return the class of each image of a prompt for each row; -1 if it has none.

    Shape (images, rows).
    """
    images = np.unique(np.concatenate([row.indices for row in rows]))
    codes = np.full((len(images), len(rows)), -1, dtype=np.int64)
    for column, row in enumerate(rows):
        codes[np.searchsorted(images, row.indices), column] = row.codes
    return codes


def _image_influence(row: CountedRow) -> Influence:
    """Return each image's influence on its row's squared lean, by the jackknife.

    Two images leave nothing to compare without one of them: their influence is 0, and
    only the floor of the variance counts.
    """
    n_images = len(row.codes)
    if n_images < 3:
        without = np.full(n_images, row.square)
    else:
        without = squared_lean_without(row.counts, row.expected)[row.codes]
    strata = np.zeros(n_images, dtype=np.int64)
    return Influence.of_jackknife((row.prompt,), strata, row.indices, without)


def _cluster_influence(
    rows: Sequence[CountedRow], squares: Float64Array, weights: Float64Array
) -> Influence | None:
    """Return each caption's, or stimulus's, influence on the mean squared lean.

    Those that the same biases ask about are exchangeable, which makes them a stratum.

    Args:
        rows: The rows.
        squares: Squared lean of each, shape (rows,).
        weights: Weight of each in the mean, shape (rows,).

    Returns:
        The influence; None where a bias has fewer than two captions (or stimuli).
    """
    biases = np.array([row.bias for row in rows])
    clusters = _cluster_numbers(rows)
    n_clusters = int(clusters.max()) + 1
    values = np.zeros(n_clusters)
    for bias in np.unique(biases):
        of_bias = biases == bias
        several = len(np.unique(clusters[of_bias]))
        if several < 2:
            return None
        distances = squares[of_bias] - squares[of_bias].mean()
        moved = weights[of_bias] * distances
        scale = np.sqrt(several / (several - 1))
        values += sums_by(clusters[of_bias], moved * scale, n_clusters)
    asked = [
        tuple(np.unique(biases[clusters == number]).tolist())
        for number in range(n_clusters)
    ]
    kinds = list(dict.fromkeys(asked))
    return Influence(
        strata=tuple(f"biases {list(kind)}" for kind in kinds),
        stratum=np.array([kinds.index(kind) for kind in asked]),
        unit=np.arange(n_clusters),
        value=values,
    )


def _cluster_numbers(rows: Sequence[CountedRow]) -> IntArray:
    """Return the number of the stimulus or caption of each row, shape (rows,)."""
    names = dict.fromkeys(row.cluster for row in rows)
    numbers = {name: number for number, name in enumerate(names)}
    return np.array([numbers[row.cluster] for row in rows], dtype=np.int64)
