"""The forecaster of headlines whose larger runs are drawn again from a pilot's images."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr, ndtri

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.redrawn_runs import RedrawnRuns

# Runs that are drawn for each size: a power of .8 is then known to ± .05.
_DRAWS = 300
# Units of the smallest group, such as source images, beyond which a test of few images is that of
# a normal distribution, and nothing is drawn.
_MANY = 100.0


@dataclass(frozen=True, slots=True)
class Redrawn:
    """A forecaster (see `forecasters.Forecaster`) by drawing, where more images are more units.

    Attributes:
        runs: Draws the runs.
        level: Coverage of the interval.
        drawn: What was drawn already: p-values and widths, by effect and number of units.
    """

    runs: RedrawnRuns
    level: float
    drawn: dict[tuple[float, int], tuple[Float64Array, Float64Array]] = field(
        default_factory=dict
    )

    def width(self, effect: float, images: float, prompts: float) -> float:
        """Return the expected width of the interval (see `Forecaster.width`)."""
        times = images * prompts
        _, widths = self._drawn(effect, min(times, self._most))
        beyond = max(times / self._most, 1.0)
        return float(widths.mean() / np.sqrt(beyond))

    def power(
        self, effect: float, images: float, prompts: float, alpha: float | None = None
    ) -> float:
        """Return the probability of detecting the effect (see `Forecaster.power`)."""
        times = images * prompts
        significance = 1 - self.level if alpha is None else alpha
        if times <= self._most:
            p_values, _ = self._drawn(effect, times)
            return float((p_values < significance).mean())
        quantile = float(ndtri((1 + self.level) / 2))
        error = self.width(effect, images, prompts) / (2 * quantile)
        critical = float(ndtri(1 - significance / 2))
        away = effect / error
        return float(ndtr(away - critical) + ndtr(-away - critical))

    @property
    def _most(self) -> float:
        """The largest multiple of the pilot that is drawn."""
        return max(_MANY / self.runs.smallest_group, 1.0)

    def _drawn(self, effect: float, times: float) -> tuple[Float64Array, Float64Array]:
        """Return the p-values and the widths of drawn runs."""
        key = (effect, round(self.runs.smallest_group * times))
        if key not in self.drawn:
            runs = self.runs.draw(effect, times, _DRAWS)
            self.drawn[key] = (
                np.array([run.p for run in runs]),
                np.array([run.width for run in runs]),
            )
        return self.drawn[key]
