"""How far apart the images of two groups are, on the scale of how unlike images of one are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.lean_scores import over_stimuli
from t2ibench.methods.core.projections import Marked
from t2ibench.stats import p_value

_FEWEST = 2  # images of each set: one has no distance within
_MOST_DRAWS = 9999
_BLOCK = 1_000_000  # numbers of the shuffled labels at a time


@dataclass(frozen=True, slots=True)
class Apart:
    """The distance between two sets of images of one stimulus, in one or more wordings.

    With the mean squared distances H_ab between an image of one set and one of the other, and H_a
    and H_b between two of one set:

    beyond = H_ab - (H_a + H_b) / 2, and apart = beyond / H_ab

    'beyond' is the squared distance of the two sets' expectations, without bias at any number of
    images: 0 where both sets are drawn alike, as two halves of one set are. 'apart' is its share
    of the squared distance of an image of either set: 1 where the images of each are all the same.
    It is the fixation index F_ST with a distance for the differences of genes.

    Attributes:
        beyond: Mean over wordings of `beyond`.
        between: Mean over wordings of H_ab.

    Source: Hudson, Slatkin and Maddison 1992, equation 3.
    """

    beyond: float
    between: float

    @property
    def value(self) -> float:
        """The share, at most 1; negative by chance where nothing sets the images apart."""
        return self.beyond / self.between if self.between > 0 else float("nan")

    @classmethod
    def of(cls, pairs: Sequence[tuple[Float64Array, Float64Array]]) -> Apart | None:
        """Measure how far apart two sets are.

        Examples:
            Two sets of one image each time, at right angles, and the same set twice:

            >>> a, b = np.array([[1.0, 0.0]] * 3), np.array([[0.0, 1.0]] * 3)
            >>> Apart.of([(a, b)]).value, Apart.of([(np.eye(2), np.eye(2))]).value
            (1.0, -1.0)
        """
        if any(min(len(a), len(b)) < _FEWEST for a, b in pairs):
            return None
        found = []
        for a, b in pairs:
            between = 1.0 - float(a.mean(axis=0) @ b.mean(axis=0))
            found.append((between - (_within(a) + _within(b)) / 2, between))
        beyond, distance = np.mean(found, axis=0)
        return cls(float(beyond), float(distance))


def _within(rows: Float64Array) -> float:
    """Half the mean squared distance of two different images, for rows of unit length."""
    n, total = len(rows), rows.sum(axis=0)
    return 1.0 - float((total @ total - (rows**2).sum()) / (n * (n - 1)))


def apart_row(
    pairs: Sequence[tuple[Float64Array, Float64Array]], n_draws: int, rng: np.random.Generator
) -> Estimate:
    """How far apart two sets of one stimulus are, with a test that they are drawn alike.

    The labels are shuffled within each wording.
    """
    found = Apart.of(pairs)
    if found is None:
        return Estimate.undefined("a set has a single image")
    draws = min(n_draws, _MOST_DRAWS)
    null = np.mean([_shuffled(a, b, draws, rng) for a, b in pairs], axis=0)
    # The distances within and between sets trade off, so the sum that is left decides.
    p = p_value(null, found.beyond, "greater", exact=False)
    return Estimate(found.value, p=p, test="monte_carlo", alternative="greater")


def _shuffled(
    a: Float64Array, b: Float64Array, draws: int, rng: np.random.Generator
) -> Float64Array:
    """`beyond` under shuffled labels, shape (draws,)."""
    rows = np.concatenate([a, b])
    n, m = len(a), len(b)
    gram = rows @ rows.T
    own, everything = np.diag(gram), float(gram.sum())
    found = []
    step = max(1, _BLOCK // (n + m))
    for start in range(0, draws, step):
        count = min(step, draws - start)
        picked = np.zeros((count, n + m))
        picked[:, :n] = 1.0
        picked = rng.permuted(picked, axis=1)
        towards = picked @ gram
        first = (towards * picked).sum(axis=1)
        cross = towards.sum(axis=1) - first
        second = everything - first - 2 * cross
        alone = picked @ own
        within_a = 1.0 - (first - alone) / (n * (n - 1))
        within_b = 1.0 - (second - (own.sum() - alone)) / (m * (m - 1))
        found.append(1.0 - cross / (n * m) - (within_a + within_b) / 2)
    values: Float64Array = np.concatenate(found)
    return values


def apart_mean(
    stimuli: Sequence[Sequence[tuple[Float64Array, Float64Array]]], level: float
) -> Estimate:
    """How far apart two sets are, a ratio of means, where other stimuli are possible."""
    found = [apart for pairs in stimuli if (apart := Apart.of(pairs)) is not None]
    if not found:
        return Estimate.undefined("a set has a single image")
    at = np.arange(len(found))
    beyond = np.array([one.beyond for one in found])
    between = np.array([one.between for one in found])
    over = over_stimuli(beyond, between, [("stimuli", at, at)], level)
    return Estimate(
        over.value,
        p=over.inference.p,
        test="t",
        interval=over.inference.interval,
        influence=over.influence if over.inference.p is not None else None,
    )


def sides(wordings: Sequence[Marked]) -> list[tuple[Float64Array, Float64Array]]:
    """The images of both groups in each wording."""
    return [(one.a.embeddings, one.b.embeddings) for one in wordings]


def halves(wordings: Sequence[Marked]) -> list[tuple[Float64Array, Float64Array]]:
    """Two halves of the images without a group, in each wording."""
    found = []
    for images in (one.neutral for one in wordings):
        even = images.indices % 2 == 0
        found.append((images.embeddings[even], images.embeddings[~even]))
    return found
