"""Leans: where the images of a stimulus lie between those with attribute A and those with B.

Each stimulus is measured along a direction that its own images had no part in, so a mean on that
direction is an unbiased mean, whatever the direction is, and its test is one of means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import PromptImages
from t2ibench.methods.core.headline import Inference
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.spread import CommonSquares, equal_spread
from t2ibench.stats.rounding import sums_by
from t2ibench.stats.student import Ratio, fieller, ratio

SIDES = ("neutral", "a", "b")


@dataclass(frozen=True, slots=True)
class Marked:
    """The images of a stimulus in one wording."""

    neutral: PromptImages  # without an attribute
    a: PromptImages  # with attribute A
    b: PromptImages  # with attribute B

    @property
    def complete(self) -> bool:
        """Whether every prompt has an image: without a word, a side says another thing."""
        return all(images.whole for images in (self.neutral, self.a, self.b))


@dataclass(frozen=True, slots=True)
class Strata:
    """Images by prompt; a prompt's single image is taken as one of its side."""

    names: list[str]  # of the prompts
    number: IntArray  # which prompt each image is of, shape (n,)
    unit: IntArray  # its number within the prompt, shape (n,)
    sizes: IntArray  # images of each prompt

    @classmethod
    def of(cls, images: PromptImages) -> Strata:
        """The strata of some images."""
        present, number = np.unique(images.clusters, return_inverse=True)
        sizes = np.bincount(number)
        names = [images.prompts[cluster] for cluster in present]
        if len(sizes) > 1 and (sizes < 2).any():
            count = len(number)
            zeros = np.zeros(count, np.int64)
            return cls([" | ".join(names)], zeros, np.arange(count), np.array([count]))
        return cls(names, number.astype(np.int64), images.indices, sizes)

    def deviations(self, values: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Mean of each prompt, and each value less the mean of its prompt, by the first axis."""
        sums = sums_by(self.number, values, len(self.sizes))
        means = sums / self.sizes.reshape(-1, *[1] * (values.ndim - 1))
        return means, values - means[self.number]


def moments(
    images: PromptImages, directions: Float64Array
) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Mean over prompts of their images' mean along each of s directions.

    With its variance (nan for a single image) and its degrees of freedom.
    """
    strata = Strata.of(images)
    means, deviations = strata.deviations(images.embeddings @ directions.T)
    squares = sums_by(strata.number, deviations**2, len(strata.sizes))
    sizes = strata.sizes[:, None].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = squares / (sizes * (sizes - 1)) / len(sizes) ** 2
        return means.mean(axis=0), *summed(
            parts, np.broadcast_to(sizes - 1, parts.shape), 0
        )


def summed(
    variances: Float64Array, dfs: Float64Array, axis: int
) -> tuple[Float64Array, Float64Array]:
    """Variance of a sum of independent estimates with Satterthwaite's degrees of freedom."""
    with np.errstate(divide="ignore", invalid="ignore"):
        total = variances.sum(axis=axis)
        shares = np.where(variances > 0, variances**2 / dfs, variances)
        return total, total**2 / shares.sum(axis=axis)


def differences(images: Sequence[Sequence[Marked]]) -> Float64Array:
    """d_j: the mean of A's images less that of B's, over wordings; shape (stimuli, d)."""

    def mean(side: PromptImages) -> Float64Array:
        means: Float64Array = (
            Strata.of(side).deviations(side.embeddings)[0].mean(axis=0)
        )
        return means

    return np.array(
        [
            np.mean([mean(one.a) - mean(one.b) for one in wordings], axis=0)
            for wordings in images
        ]
    )


def held_out(rows: Float64Array) -> Float64Array:
    """The mean of the other rows."""
    others: Float64Array = (rows.sum(axis=0) - rows) / (len(rows) - 1)
    return others


def project(
    images: Sequence[Sequence[Marked]], directions: Float64Array
) -> Float64Array:
    """Means along each stimulus's own directions, with variances and degrees of freedom.

    Shapes: directions (stimuli, s, d); result (3, stimuli, wordings, sides, s).
    """
    found = [
        [[moments(getattr(one, side), along) for side in SIDES] for one in wordings]
        for wordings, along in zip(images, directions, strict=True)
    ]
    return np.moveaxis(np.array(found), 3, 0)


@dataclass(frozen=True, slots=True)
class Wordings:
    """The wordings' part of the variance of N and D, each a mean over wordings.

    A wording moves the images of every stimulus in its own way, and perhaps all of them in a
    common one.
    """

    # covariance of N and D that the wordings add to that of the images, for one stimulus, shape
    # (2, 2)
    own: Float64Array
    common: Float64Array  # the part of it that all stimuli have in common, shape (2, 2)
    df: float  # degrees of freedom of `own`
    # variance of N and of D of each stimulus, images and wordings together, shape (2, stimuli);
    # their mean is the analysis of variance's
    totals: Float64Array
    # degrees of freedom of the F test of all N; fewer than there are stimuli where the wordings
    # move them together
    f_test: tuple[float, float]
    # N and D of each wording less their mean, shape (2, stimuli, wordings)
    residuals: Float64Array

    @classmethod
    def of(
        cls, top: Float64Array, bottom: Float64Array, images: Float64Array
    ) -> Wordings:
        """Analyse the variance between wordings.

        `images` is the covariance of each stimulus's mean N and D with the wordings fixed,
        shape (stimuli, 2, 2); N and D are of shape (stimuli, wordings).
        """
        values = np.stack([top, bottom])
        residuals = values - values.mean(axis=2, keepdims=True)
        k, count = top.shape
        between = np.einsum("ikt,jkt->ij", residuals, residuals) / (
            k * (count - 1) * count
        )
        shifts = residuals.mean(axis=1)  # of all stimuli together
        together = shifts @ shifts.T / (count - 1) / count
        apart = residuals - shifts[:, None]
        alone = np.einsum("ikt,jkt->ij", apart, apart) / ((k - 1) * (count - 1) * count)
        common = nearest_covariance(together - alone / k)
        own = nearest_covariance(between - images.mean(axis=0))
        shared = min(float(common[0, 0]), float(between[0, 0]))
        squares = k * between[0, 0] ** 2 + k * (k - 1) * shared**2
        h = float((k * between[0, 0]) ** 2 / squares) if squares > 0 else float(k)
        h2 = h * (count - 1)
        share = float(own[0, 0] / between[0, 0]) if between[0, 0] > 0 else 1.0
        diagonal = np.stack([images[:, 0, 0], images[:, 1, 1]])
        raw = np.maximum(
            diagonal + np.diag(between - images.mean(axis=0))[:, None], 0.0
        )
        sums = raw.sum(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            totals = (
                np.where(sums > 0, raw / sums, 1 / k) * k * np.diag(between)[:, None]
            )
        return cls(
            own,
            _within(common, own),
            max(h2 * min(share, 1.0) ** 2, 1.0),
            totals,
            (h, h2),
            residuals,
        )

    def components(self, top: Float64Array, bottom: Float64Array) -> Float64Array:
        """Two independent parts of what the wordings add to two sums over stimuli.

        Sums are given by weights of each stimulus's N and D, shape (stimuli, 2). Returns the parts'
        coefficients, of unit variance, in both sums, shape (2, 2).
        """
        both = np.stack([top, bottom])
        sums = both.sum(axis=1)
        matrix = np.einsum("aki,ij,bkj->ab", both, self.own - self.common, both)
        matrix += sums @ self.common @ sums.T
        values, vectors = np.linalg.eigh(matrix)
        coefficients: Float64Array = (vectors * np.sqrt(np.maximum(values, 0.0))).T
        return coefficients

    def append_components(
        self, parts: Float64Array, *arrays: Float64Array
    ) -> list[Float64Array]:
        """The arguments of `ratio`, shape (..., c) each, with two components more."""
        shape = (*arrays[0].shape[:-1], len(parts))
        added: list[npt.ArrayLike] = [parts[:, 0], parts[:, 1], 0.0, 1.0, self.df]
        return [
            np.concatenate([array, np.broadcast_to(np.asarray(one), shape)], axis=-1)
            for array, one in zip(arrays, added, strict=True)
        ]

    def influence(self, number: int, name: str, top: float, bottom: float) -> Influence:
        """How each wording moves top · N - bottom · D of one stimulus."""
        weights = np.array([top, -bottom])
        variance = float(weights @ self.own @ weights)
        moved = weights @ self.residuals[:, number]
        squares = float(moved @ moved)
        count = len(moved)
        value = moved * np.sqrt(variance / squares) if squares > 0 else np.zeros(count)
        return Influence(
            (f"wordings of {name}",), np.zeros(count, np.int64), np.arange(count), value
        )


def nearest_covariance(matrix: Float64Array) -> Float64Array:
    """The nearest covariance: without negative variances."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    nearest: Float64Array = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return nearest


def _within(part: Float64Array, whole: Float64Array) -> Float64Array:
    """A part of a covariance, made no larger than the whole."""
    limits = np.sqrt(
        np.minimum(
            np.diag(whole) / np.maximum(np.diag(part), np.finfo(float).tiny), 1.0
        )
    )
    limited: Float64Array = part * np.outer(limits, limits)
    return limited


def _equally_spread(images: Sequence[Sequence[Marked]]) -> list[list[Marked]]:
    """The images with equal spread: first by what they have in common, then along directions."""
    flat = [one for wordings in images for one in wordings]
    kinds = [[getattr(one, side) for one in flat] for side in SIDES]
    common = [CommonSquares.of(kind) for kind in kinds]
    squares = [one.along() for one in common]

    def scaled() -> list[list[Marked]]:
        each = map(Marked, *map(equal_spread, kinds, squares))
        return [[next(each) for _ in wordings] for wordings in images]

    directions = held_out(differences(scaled()))
    along = [
        v for wordings, v in zip(images, directions, strict=True) for _ in wordings
    ]
    squares = [one.along(along) for one in common]
    return scaled()


TOP = np.array([2.0, -1.0, -1.0])  # N = 2 y - a - b
BOTTOM = np.array([0.0, 1.0, -1.0])  # D = a - b
LONE = (
    "a single stimulus has all of its images, so there are no others whose direction it could be "
    "measured along"
)


@dataclass(frozen=True, slots=True)
class Leans:
    """The leans of several stimuli with one pair of attributes.

    lean_j = N_j / D_j, with N_j = 2 y - a - b and D_j = a - b of the means y, a and b of stimulus
    j's images along v_j, the mean of d_i over the other stimuli i; averaged over wordings.
    """

    names: list[str]  # of the stimuli
    # the wordings of each; the embeddings have equal spread (`spread.equal_spread`)
    images: list[list[Marked]]
    directions: Float64Array  # v_j, shape (stimuli, d)
    means: Float64Array  # y, a and b, shape (stimuli, 3)
    # of the means where the wordings are fixed; nan for a single image
    variances: Float64Array
    dfs: Float64Array  # degrees of freedom of the variances
    wordings: Wordings | None  # what the wordings add; None for a single wording

    @classmethod
    def of(cls, names: Sequence[str], images: Sequence[Sequence[Marked]]) -> Leans:
        """Measure the leans of two stimuli or more: each along the direction of the others."""
        alike = _equally_spread(images)
        return cls.along(names, alike, held_out(differences(alike)))

    @classmethod
    def along(
        cls,
        names: Sequence[str],
        images: Sequence[Sequence[Marked]],
        directions: Float64Array,
    ) -> Leans:
        """Measure the leans along directions that are known."""
        mean, variance, df = project(images, directions[:, None])[..., 0]
        count = mean.shape[1]
        variances, dfs = summed(variance / count**2, df, axis=1)
        wordings = None
        if count > 1:
            # all that varies, varies between wordings
            if not np.isfinite(variances).all():
                variances, dfs = np.zeros_like(variances), np.ones_like(dfs)
            nn, nd, dd = (
                variances @ TOP**2,
                variances @ (TOP * BOTTOM),
                variances @ BOTTOM**2,
            )
            matrices: Float64Array = np.stack([nn, nd, nd, dd], axis=-1).reshape(
                -1, 2, 2
            )
            wordings = Wordings.of(mean @ TOP, mean @ BOTTOM, matrices)
        means = mean.mean(axis=1)
        return cls(
            list(names),
            [list(one) for one in images],
            directions,
            means,
            variances,
            dfs,
            wordings,
        )

    @property
    def top(self) -> Float64Array:
        """N, shape (stimuli,)."""
        top: Float64Array = self.means @ TOP
        return top

    @property
    def bottom(self) -> Float64Array:
        """D, shape (stimuli,)."""
        bottom: Float64Array = self.means @ BOTTOM
        return bottom

    @property
    def top_variance(self) -> tuple[Float64Array, Float64Array]:
        """Variance of N with its degrees of freedom; the wordings' is in it."""
        if self.wordings is not None:
            totals: Float64Array = self.wordings.totals[0]
            return totals, np.full(len(totals), self.wordings.f_test[1])
        return summed(self.variances * TOP**2, self.dfs, axis=1)

    @property
    def bottom_variance(self) -> Float64Array:
        """Variance of D; where nothing shows it, that between the stimuli."""
        if self.wordings is not None:
            totals: Float64Array = self.wordings.totals[1]
            return totals
        variance = self.variances @ BOTTOM**2
        between = self.bottom.var(ddof=1)
        known: Float64Array = np.where(np.isfinite(variance), variance, between)
        return known

    @property
    def _shrinkage(self) -> tuple[float, float]:
        """Share w of a stimulus's own D in its denominator, and what D varies by in truth."""
        noise = float(self.bottom_variance.mean())
        true = max(float(self.bottom.var(ddof=1)) - noise, 0.0)
        return (true / (true + noise) if noise > 0 else 1.0), true

    @property
    def own_share(self) -> float:
        """How much of a stimulus's D is in its own denominator."""
        own, _ = self._shrinkage
        return own + (1 - own) / len(self.names)

    @property
    def denominators(self) -> Float64Array:
        """D of each stimulus, shrunk to the mean as far as noise tells them apart.

        w D_j + (1 - w) mean(D), w = T / (T + mean U), T = max(0, var(D) - mean U), with the
        variances U of D. The noise of A's images is in D_j and in N_j with opposite signs, so a
        large D_j by chance would go with a lean that is too low.
        """
        own, _ = self._shrinkage
        shrunk: Float64Array = own * self.bottom + (1 - own) * self.bottom.mean()
        return shrunk

    @property
    def separation(self) -> float:
        """How clear the distance between A's and B's images is: D summed, over its standard error.

        Every pair of stimuli is in the sum twice, which the 2 stands for.
        """
        return self.separation_of(np.arange(len(self.names)))

    def separation_of(self, at: IntArray) -> float:
        """The same of some of the stimuli."""
        with np.errstate(divide="ignore", invalid="ignore"):
            noise = np.sqrt(2 * self.bottom_variance[at].sum())
            return float(self.bottom[at].sum() / noise)

    def rows(self, level: float, at: npt.ArrayLike = 0.0) -> Ratio:
        """The lean of each stimulus, over its shrunk D, with its interval.

        What the other stimuli add to the denominator adds to its variance, and so does how far the
        true D may lie from the mean. The variance of y is no less than with half an image more at A
        and half a one at B: a few images that are all alike do not show that others would be.

        `at` is subtracted from the leans, shape () or (stimuli,).
        """
        k = len(self.names)
        own, true = self._shrinkage
        other = (1 - own) / k
        noise = self.variances @ BOTTOM**2
        rest = other**2 * (noise.sum() - noise) + true * (1 - own)
        others = other * (self.bottom.sum() - self.bottom)
        means = np.column_stack([self.means, others])
        variances = np.column_stack([self._smoothed(), rest])
        dfs = np.column_stack([self.dfs, np.full(k, k - 1.0)])
        top = np.tile(np.append(TOP, 0.0), (k, 1))
        bottom = np.tile(np.append(self.own_share * BOTTOM, 1.0), (k, 1))
        if self.wordings is not None:
            first = np.zeros((2, k, 2))
            first[0, 0, 0] = 1.0
            first[1, :, 1] = other
            first[1, 0, 1] += own
            top, bottom, means, variances, dfs = self.wordings.append_components(
                self.wordings.components(*first), top, bottom, means, variances, dfs
            )
        shifted = top - np.broadcast_to(np.asarray(at, np.float64), k)[:, None] * bottom
        return ratio(shifted, bottom, means, variances, dfs, level)

    def _smoothed(self) -> Float64Array:
        """Variances of the means, that of y with half an image more at either end."""
        n = np.array(
            [sum(len(one.neutral) for one in wordings) for wordings in self.images]
        )
        bottom, top = self.denominators, self.top
        room = np.maximum(bottom**2 - self.bottom_variance, 0.0) / 4
        with np.errstate(divide="ignore", invalid="ignore"):
            lean = np.where(bottom > 0, np.clip(top / bottom, -1.0, 1.0), 0.0)
        own = self.variances[:, 0]
        least = ((n - 1) * own + room * (1 + lean**2) / n) / n
        variances: Float64Array = self.variances.copy()
        variances[:, 0] = np.where(np.isfinite(own), np.maximum(own, least), own)
        return variances

    def contrast(
        self,
        top: npt.ArrayLike,
        bottom: npt.ArrayLike,
        level: float,
        less: npt.ArrayLike = 0.0,
        *,
        wordings: bool = True,
    ) -> Ratio:
        """(Σ w N - Σ l D) / Σ u D over fixed stimuli; w, u and l are `top`, `bottom`, `less`."""
        w, u = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
        weights = np.stack(
            [w, -np.broadcast_to(np.asarray(less, np.float64), w.shape)], axis=1
        )
        below = np.stack([np.zeros_like(u), u], axis=1)
        sides = np.stack([TOP, BOTTOM])
        a, b = (weights @ sides).ravel(), (below @ sides).ravel()
        means, variances, dfs = (
            self.means.ravel(),
            self.variances.ravel(),
            self.dfs.ravel(),
        )
        if wordings and self.wordings is not None:
            a, b, means, variances, dfs = self.wordings.append_components(
                self.wordings.components(weights, below), a, b, means, variances, dfs
            )
        return ratio(a, b, means, variances, dfs, level)

    def influence(
        self, number: int, top: float, bottom: float, *, wordings: bool = True
    ) -> Influence:
        """How each image of one stimulus moves top · N - bottom · D."""
        count = len(self.images[number])
        parts: list[tuple[float, Influence]] = []
        for one in self.images[number]:
            for side, weight in zip(SIDES, top * TOP - bottom * BOTTOM, strict=True):
                images: PromptImages = getattr(one, side)
                strata = Strata.of(images)
                deviations = strata.deviations(
                    images.embeddings @ self.directions[number]
                )[1]
                sizes = strata.sizes[strata.number].astype(np.float64)
                with np.errstate(divide="ignore", invalid="ignore"):
                    value = (
                        deviations / np.sqrt(sizes * (sizes - 1)) / len(strata.sizes)
                    )
                if self.wordings is not None:
                    value = np.nan_to_num(value)
                names = tuple(strata.names)
                parts.append(
                    (
                        weight / count,
                        Influence(names, strata.number, strata.unit, value),
                    )
                )
        if wordings and self.wordings is not None:
            own = self.wordings.influence(number, self.names[number], top, bottom)
            parts.append((1.0, own))
        return Influence.combined(parts)


UNBOUNDED = "the images with either attribute are too alike for an interval"


def bounded(low: float, high: float, p: float, df: float | None = None) -> Inference:
    """An inference from Fieller's set."""
    known = float(p) if np.isfinite(p) else None
    if known is None:
        return Inference(reason="a single unit has no variance")
    if not np.isfinite([low, high]).all():
        return Inference(p=known, df=df, reason=UNBOUNDED)
    return Inference(float(low), float(high), known, df)


@dataclass(frozen=True, slots=True)
class OverStimuli:
    """A ratio of means over stimuli, where other stimuli are possible."""

    value: float  # the ratio
    inference: Inference  # its interval and p-value
    influence: Influence  # how each stimulus moves it
    half_width: float  # of the interval that a ratio of 0 would have

    @classmethod
    def of(
        cls,
        value: float,
        sums: Float64Array,
        covariance: Float64Array,
        df: float,
        influence: Influence,
        level: float,
    ) -> OverStimuli:
        """The ratio of two sums whose covariance is known."""
        top, bottom = map(float, sums)
        half = float(
            stdtrit(df, (1 + level) / 2) * np.sqrt(covariance[0, 0]) / abs(bottom)
        )
        found = bounded(*fieller(top, bottom, covariance, df, level), df)
        return cls(value, found, influence, half)

    def estimate(self, enlarged: float = 1.0) -> Estimate:
        """The ratio as a score, less the factor by which the noise of D enlarges it."""
        return Estimate(
            self.value / enlarged,
            p=self.inference.p,
            test="t",
            interval=self.inference.interval,
            influence=self.influence if self.inference.p is not None else None,
        )


def over_stimuli(
    top: Float64Array,
    bottom: Float64Array,
    groups: Sequence[tuple[str, IntArray, IntArray]],
    level: float,
) -> OverStimuli:
    """The sum over groups of the mean of N, over that of D; stimuli are exchangeable in a group.

    With W_i(t) = N_i - t D_i, Fieller's set holds every t where the sum of W's means is within
    Student's t times its standard error, from W's variance in each group; the degrees of freedom
    are the number of stimuli less that of groups. A group is its name, and the positions and the
    numbers of its stimuli.

    Examples:
        >>> n, d = np.array([3.0, 5.0, 1.0, 3.0]), np.full(4, 4.0)
        >>> two = [("X", np.arange(2), np.arange(2)), ("Y", np.arange(2, 4), np.arange(2))]
        >>> found = over_stimuli(n, d, two, 0.95)
        >>> found.value, found.inference.df
        (0.75, 2.0)
    """
    sums = np.array([sum(x[at].mean() for _, at, _ in groups) for x in (top, bottom)])
    df = float(len(top) - len(groups))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(sums[0] / sums[1])
    if min(len(at) for _, at, _ in groups) < 2:
        reason = "a single stimulus does not show how others would differ"
        return OverStimuli(
            value, Inference(reason=reason), Influence.none(), float("nan")
        )
    covariance = np.sum(
        [np.cov(top[at], bottom[at]) / len(at) for _, at, _ in groups], axis=0
    )
    moved = top - value * bottom
    influence = Influence.combined(
        [
            (1.0 / sums[1], Influence.of_mean(name, units, moved[at]))
            for name, at, units in groups
        ]
    )
    return OverStimuli.of(value, sums, covariance, df, influence, level)


def of_ratio(
    found: Ratio, index: tuple[int, ...] = (), influence: Influence | None = None
) -> Estimate:
    """One of a batch of ratios as a score."""
    value, low, high, p = (
        float(array[index]) for array in (found.value, found.low, found.high, found.p)
    )
    if np.isfinite(p) and not np.isfinite([low, high]).all():
        return Estimate(None, p=p, test="t", reason=UNBOUNDED)
    interval = (low, high) if np.isfinite([low, high]).all() else None
    return Estimate(value, p=p, test="t", interval=interval, influence=influence)


def row_scores(leans: Leans, level: float) -> list[Estimate]:
    """The lean of each stimulus as a score."""
    found = leans.rows(level)
    t = found.value
    whole = found.variance - 2 * t * found.covariance + t**2 * found.bottom_variance
    scores = []
    for number, (lean, d) in enumerate(zip(t, found.bottom, strict=True)):
        own = lean / d * leans.own_share
        influence = leans.influence(number, 1 / d, own)
        floor = whole[number] / d**2 if np.isfinite(influence.variance) else 0.0
        scores.append(of_ratio(found, (number,), influence.with_floor(float(floor))))
    return scores


def contrast_score(
    leans: Leans,
    top: npt.ArrayLike,
    bottom: npt.ArrayLike,
    level: float,
    less: npt.ArrayLike = 0.0,
) -> Estimate:
    """`Leans.contrast` as a score; Σ w N / Σ u D is corrected for the noise of D."""
    w, u = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
    subtracted = np.broadcast_to(np.asarray(less, np.float64), w.shape)
    found = leans.contrast(w, u, level, subtracted)
    d, t = float(found.bottom), float(found.value)
    moved = subtracted + t * u
    influence = Influence.combined(
        [(1.0, leans.influence(j, w[j] / d, moved[j] / d)) for j in range(len(w))]
    )
    score = of_ratio(found, (), influence)
    if score.value is None:
        return score
    below = float(subtracted @ leans.bottom) / d
    return replace(score, value=(t + below) / noise(leans) - below)


def noise(leans: Leans) -> float:
    """The factor by which the noise of D enlarges a ratio of sums: 1 + 1 / z²."""
    return 1.0 + 1.0 / leans.separation**2


def positions(leans: Leans) -> list[Float64Array]:
    """Where each image without an attribute lies: 1 at the mean of A's images, -1 at B's.

    For each stimulus (2 x - a - b) / D of its images of all wordings.
    """
    middle = leans.means @ (TOP * np.array([0.0, 1.0, 1.0]))
    along = zip(leans.images, leans.directions, middle, leans.denominators, strict=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            np.concatenate(
                [(2 * (one.neutral.embeddings @ v) + mid) / d for one in wordings]
            )
            for wordings, v, mid, d in along
        ]
