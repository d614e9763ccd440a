"""Which shares of the counterfactuals' images make up a prompt's images.

With phi the features of an image (which concepts it shows, or its embedding), x the mean of the
prompt's images and m_k that of the k-th counterfactual's:

    pi = argmin |x - sum over k of pi_k m_k|² with sum pi = 1, which is
    pi = 1/K + P (r - G 1/K),  r_k = x . m_k,  G_kl = m_k . m_l,  P = B (B' G B)^-1 B'

where the columns of B are orthonormal and of sum 0. G_kk is the mean over pairs of different
images, so that nothing depends on how many images there are. No sign constraint: a constrained
share would be biased wherever a share is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats.rounding import settled

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """The images of one prompt as one axis sees them.

    Attributes:
        prompt: Their prompt.
        units: Which sample each is, shape (n,).
        features: Shape (n, d).
    """

    prompt: str
    units: IntArray
    features: Float64Array


@dataclass(frozen=True, slots=True)
class Mixture:
    """Shares of k counterfactuals, and how each image moves them.

    Influences are scaled so that their squares sum to the variance of a share.

    Attributes:
        shares: Shape (k,), of sum 1; each may lie outside of 0 to 1 by chance.
        start: Influence of each of the prompt's images, shape (n, k).
        changed: Influence of each counterfactual's images, shape (g, k) each.
        even: The same if all shares are 1 / k, for the test that they are.
        twice: Part of the variances' sum that the influences count twice: products of the errors
            of two means, which are the errors of both.
    """

    shares: Float64Array
    start: Float64Array
    changed: tuple[Float64Array, ...]
    even: tuple[Float64Array, ...]
    twice: float


@dataclass(frozen=True, slots=True)
class Separation:
    """How well the images of the counterfactuals can be told apart.

    Attributes:
        ratio: The least squared distance between them over its standard error.
        pair: The two that are the nearest; None where every two differ, but one is like a mixture
            of the others.
    """

    ratio: float
    pair: tuple[int, int] | None


def mixture(
    start: Float64Array, changed: Sequence[Float64Array], *, invert: bool = True
) -> Mixture:
    """The shares of the counterfactuals among a prompt's images.

    Args:
        start: Features of the prompt's images, shape (n, d), n at least 2.
        changed: Those of two or more counterfactuals, shape (g, d) each, g at least 2.
        invert: False takes P = B B' instead: not shares but B B' (r - G 1/K), which needs no
            counterfactuals that differ, and is 0 where the shares are even.

    Returns:
        The shares.

    Examples:
        Three of four images show a man, and so does every image of the first counterfactual:

        >>> man, woman = [1.0, 0.0], [0.0, 1.0]
        >>> start = np.array([man, man, man, woman])
        >>> found = mixture(start, [np.array([man] * 4), np.array([woman] * 4)])
        >>> found.shares.round(6).tolist()
        [0.75, 0.25]
    """
    k = len(changed)
    means = np.stack([rows.mean(axis=0) for rows in changed])
    gram = _gram(changed, means)
    centring, basis = np.eye(k) - 1.0 / k, contrast_basis(k)
    solve: Float64Array = centring
    if invert:
        solve = basis @ np.linalg.pinv(basis.T @ gram @ basis, _ROUNDING) @ basis.T
    even = np.full(k, 1.0 / k)
    centre = start.mean(axis=0)
    shares = even + solve @ (means @ centre - gram @ even)
    inverted = shares if invert else even

    def influence(weights: Float64Array) -> tuple[Float64Array, ...]:
        rest = centre - weights @ means
        found = []
        for number, rows in enumerate(changed):
            error = rows - means[number]
            moved = -weights[number] * (error @ means.T)
            moved[:, number] += error @ rest
            found.append(_scaled(moved @ solve))
        return tuple(found)

    return Mixture(
        shares,
        _scaled((start - centre) @ means.T @ solve),
        influence(inverted),
        influence(even),
        float(np.trace(solve @ _products(start, changed) @ solve)),
    )


def separation(changed: Sequence[Float64Array]) -> Separation:
    """Whether the counterfactuals' images can be told apart, so that shares mean something.

    The squared distance |sum over k of a_k m_k|² of every pair, and of the contrast a in which the
    counterfactuals differ least, is unbiased; its standard error is at least what it would be if
    one more image of each counterfactual were as like the other counterfactuals as its own: two
    sets of three equal answers are not yet two kinds of image.

    Args:
        changed: Features of two or more counterfactuals, shape (g, d) each, g at least 2.

    Returns:
        The least distance over its standard error. The ratio of two sets of g images that differ
        in every image is g / 2.

    Examples:
        >>> men, women = np.array([[1.0, 0.0]] * 10), np.array([[0.0, 1.0]] * 10)
        >>> round(separation([men, women]).ratio, 6)
        5.0
    """
    k = len(changed)
    means = np.stack([rows.mean(axis=0) for rows in changed])
    gram = _gram(changed, means)
    pairs = list(combinations(range(k), 2))
    contrasts = [(np.eye(k)[a] - np.eye(k)[b]) / np.sqrt(2) for a, b in pairs]
    basis = contrast_basis(k)
    if k > 2:
        # Answers give equal eigenvalues; among them every processor has to choose alike.
        ties = np.diag(np.arange(1.0, k)) * _ROUNDING * np.abs(gram).max()
        contrasts.append(basis @ np.linalg.eigh(basis.T @ gram @ basis + ties)[1][:, 0])
    ratios = settled([_ratio(contrast, changed, means, gram) for contrast in contrasts])
    least = int(np.argmin(ratios))
    return Separation(float(ratios[least]), pairs[least] if least < len(pairs) else None)


def contrast_basis(k: int) -> Float64Array:
    """Orthonormal contrasts of k shares: the first k' against the next one (Helmert).

    Args:
        k: How many, at least 2.

    Returns:
        Shape (k, k - 1).

    Examples:
        >>> (contrast_basis(2) * np.sqrt(2)).round(9).tolist()
        [[1.0], [-1.0]]
    """
    basis: Float64Array = np.zeros((k, k - 1))
    for column in range(k - 1):
        size = column + 1
        basis[:size, column] = 1.0 / np.sqrt(size * (size + 1))
        basis[size, column] = -np.sqrt(size / (size + 1))
    return basis


def _gram(changed: Sequence[Float64Array], means: Float64Array) -> Float64Array:
    """Scalar products of means; those of a mean with itself over pairs of different images."""
    gram: Float64Array = means @ means.T
    for number, rows in enumerate(changed):
        n, total = len(rows), rows.sum(axis=0)
        gram[number, number] = (total @ total - (rows**2).sum()) / (n * (n - 1))
    return gram


def _scaled(moved: Float64Array) -> Float64Array:
    """Values of the images of one set as influences on their mean."""
    n = len(moved)
    centred: Float64Array = (moved - moved.mean(axis=0)) / np.sqrt(n * (n - 1))
    return centred


def _ratio(
    contrast: Float64Array,
    changed: Sequence[Float64Array],
    means: Float64Array,
    gram: Float64Array,
) -> float:
    """The squared length of a contrast of means over its standard error."""
    length = float(contrast @ gram @ contrast)
    if not length > _ROUNDING * np.abs(gram).max():
        return -np.inf
    axis = contrast @ means
    places = means @ axis
    involved = contrast != 0
    variance = 0.0
    for number in np.flatnonzero(involved).tolist():
        n = len(changed[number])
        spread = float((changed[number] @ axis).var(ddof=1))
        others = float(((places[involved] - places[number]) ** 2).mean())
        spread = max(spread, ((n - 1) * spread + others) / n)
        variance += 4.0 * float(contrast[number]) ** 2 * spread / n
    return length / float(np.sqrt(variance))


def _products(start: Float64Array, changed: Sequence[Float64Array]) -> Float64Array:
    """Covariance of r - G 1/K that comes from products of the errors of two means, (k, k)."""
    k = len(changed)
    sets = [rows - rows.mean(axis=0) for rows in (start, *changed)]
    found: Float64Array = np.zeros((k, k))
    for a in range(k):
        found[a, a] += _trace(sets[0], sets[a + 1]) + _own_trace(sets[a + 1]) / k**2
        for b in range(k):
            if a != b:
                trace = _trace(sets[a + 1], sets[b + 1]) / k**2
                found[a, a] += trace
                found[a, b] += trace
    return found


def _trace(first: Float64Array, second: Float64Array) -> float:
    """tr(S T) / (n m) of the covariances S and T of two centred sets."""
    n, m = len(first), len(second)
    return float(((first @ second.T) ** 2).sum()) / ((n - 1) * (m - 1) * n * m)


def _own_trace(rows: Float64Array) -> float:
    """2 tr(S²) / (n (n - 1)) of one centred set; unbiased (Bai and Saranadasa 1996)."""
    n = len(rows)
    f = n - 1
    if f < 2:
        return 0.0
    products = rows @ rows.T
    square, trace = float((products**2).sum()) / f**2, float(np.trace(products)) / f
    unbiased = f**2 / ((f - 1) * (f + 2)) * (square - trace**2 / f)
    return 2.0 * max(unbiased, 0.0) / (n * (n - 1))
