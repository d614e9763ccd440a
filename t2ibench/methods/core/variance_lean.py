"""The mean squared lean a second time: from how images vary, not from where they lie.

Whatever the images of both groups share and the other images lack, such as a closer view of the
person, moves means and leaves variances alone. Images without a group are a mixture of images like
A's and like B's, so by the law of total variance, along v_j with D_j between the groups,

variance of the images without a group = variance within a group + (1 - lean_j²) (D_j / 2)²

With S_j the variance of stimulus j's images without a group along v_j, G_j the mean of those of A's
and of B's images, and ρ = Σ T_j / Σ T'_j for how much more images without a group vary across v_j
(T_j and T'_j are the traces of the same covariances less S_j / |v_j|² and G_j / |v_j|²):

R²_variances = 1 - 4 (Σ S_j - ρ Σ G_j) / Σ (D_j² - U_j)
R²_means     = Σ (N_j² - V_j) / Σ (D_j² - U_j)

with V_j and U_j the variances of N_j and D_j. Their standard errors, and that of their difference,
come from the jackknife over stimuli (Tukey 1958; Efron and Stein 1981), the directions as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.mixture_variance import VarianceAlong
from t2ibench.methods.core.wording_images import ImagesAlong

# A test at 5 %, as the headline's; what is said beside it is said at 2.5 % on either side.
_ALPHA = 0.05
# A difference of two leans that matters. With very visible groups and many images smaller ones are
# beyond chance, too: no two kinds of prompts show a group in quite the same way.
_MATTERS = 0.1


@dataclass(frozen=True, slots=True)
class VarianceLean:
    """The mean squared lean of several stimuli, estimated from means and from variances.

    Attributes:
        by_means: R²_means.
        by_variances: R²_variances.
        error: Standard error of R²_variances.
        difference_error: Standard error of R²_means - R²_variances.
        df: Degrees of freedom of both: one less than there are stimuli.
        without_each: R²_variances without each stimulus, shape (stimuli,).
    """

    by_means: float
    by_variances: float
    error: float
    difference_error: float
    df: int
    without_each: Float64Array

    @classmethod
    def of(cls, leans: Leans) -> VarianceLean | None:
        """Estimate the mean squared lean both ways; None if images do not show a variance."""
        sums = _Sums.of(leans)
        by_means, by_variances = sums.squares(sums.by_stimulus.sum(axis=0))
        without_each = sums.by_stimulus.sum(axis=0) - sums.by_stimulus
        means_without, variances_without = sums.squares(without_each)
        error = jackknife_error(variances_without)
        difference_error = jackknife_error(means_without - variances_without)
        if not (np.isfinite([by_means, by_variances]).all() and difference_error > 0):
            return None
        return cls(
            by_means=float(by_means),
            by_variances=float(by_variances),
            error=error,
            difference_error=difference_error,
            df=len(leans.names) - 1,
            without_each=variances_without,
        )

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the mean squared lean estimated from variances."""
        half_width = float(stdtrit(self.df, 1 - _ALPHA / 2)) * self.error
        return self.by_variances - half_width, self.by_variances + half_width

    @property
    def t(self) -> float:
        """Mean squared lean from means less that from variances, in standard errors."""
        return (self.by_means - self.by_variances) / self.difference_error

    @property
    def means_say_more(self) -> bool:
        """Whether the lean from means is larger: at 5 % (one-sided), and enough to matter."""
        is_clear = self.t > stdtrit(self.df, 1 - _ALPHA)
        return bool(is_clear and -self._further > _MATTERS)

    @property
    def variances_say_more(self) -> bool:
        """Whether the lean from variances is larger: at 2.5 %, and enough to matter."""
        is_clear = -self.t > stdtrit(self.df, 1 - _ALPHA / 2)
        return bool(is_clear and self._further > _MATTERS)

    @property
    def is_refuted(self) -> bool:
        """Whether the lean from means is larger, its square over twice that from variances."""
        return self.means_say_more and self.is_less_than_half_of(self.by_means)

    def is_less_than_half_of(self, square: float) -> bool:
        """Return whether the squared lean from variances is below half of `square`."""
        return self.by_variances < square / 2

    @property
    def _further(self) -> float:
        """Root mean square lean estimated from variances less that from means."""
        by_means = np.sqrt(max(self.by_means, 0.0))
        return float(np.sqrt(max(self.by_variances, 0.0)) - by_means)

    @property
    def is_below_none(self) -> bool:
        """Whether images without a group vary more than any mixture of both groups would."""
        bound = float(stdtrit(self.df, 1 - _ALPHA)) * self.error
        return self.by_variances + bound < 0

    @property
    def shows_a_mixture(self) -> bool:
        """Whether images without a group vary along the direction by more than one group would."""
        bound = float(stdtrit(self.df, 1 - _ALPHA)) * self.error
        return self.by_variances + bound < 1

    @property
    def without_scale(self) -> float:
        """Mean squared lean that does not depend on the distance between guided images of groups.

        D enters N² / D² and (S - ρ G) / D² alike and cancels in N² / (N² + 4 (S - ρ G)), which
        is R²_means / (R²_means + 1 - R²_variances).
        """
        square = max(self.by_means, 0.0)
        return min(square / (square + 1 - self.by_variances), 1.0)


@dataclass(frozen=True, slots=True)
class _Sums:
    """The sums of each stimulus from which both mean squared leans are computed.

    Attributes:
        by_stimulus: N² - V, D² - U, S, G, T and T' of each stimulus, shape (stimuli, 6).
    """

    by_stimulus: Float64Array

    @classmethod
    def of(cls, leans: Leans) -> _Sums:
        """Compute, for each stimulus, the sums that give both mean squared leans."""
        top_variance, _ = leans.top_variance
        squares = np.column_stack(
            [leans.top**2 - top_variance, leans.bottom**2 - leans.bottom_variance]
        )
        variances = [_mean_variances(wordings) for wordings in leans.places]
        return cls(np.column_stack([squares, np.array(variances)]))

    def squares(self, sums: Float64Array) -> tuple[Float64Array, Float64Array]:
        """Return the mean squared leans, from means and from variances, that sums give.

        `sums` has shape (..., 6).
        """
        top, bottom, neutral, guided, neutral_across, guided_across = np.moveaxis(
            sums, -1, 0
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = neutral_across / guided_across
            return top / bottom, 1 - 4 * (neutral - ratio * guided) / bottom


def _mean_variances(wordings: Sequence[Sequence[ImagesAlong]]) -> list[float]:
    """Return a stimulus's variances: neutral, guided along its direction, then both across.

    They are S, G, T and T', each a mean over wordings.
    """
    by_side = np.array([[_variances(side) for side in sides] for sides in wordings])
    neutral, a, b = by_side.mean(axis=0)
    guided = (a + b) / 2
    return [neutral[0], guided[0], neutral[1], guided[1]]


def _variances(images: ImagesAlong) -> tuple[float, float]:
    """Return the variance of prompts' images along a direction, and their total across it."""
    variance = VarianceAlong.of([images])
    if variance.df < 1:
        return float("nan"), float("nan")
    return variance.along, variance.across


def jackknife_error(values: Float64Array) -> float:
    """Return the standard error of an estimate, from its values with each unit left out."""
    count = len(values)
    squares = float(((values - values.mean()) ** 2).sum())
    return float(np.sqrt((count - 1) / count * squares))
