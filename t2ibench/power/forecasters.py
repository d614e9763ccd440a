"""How narrow an interval gets, and how likely an effect is seen, with more images or prompts.

The variance of a pilot has parts that shrink with the images of a prompt and parts that only more
prompts shrink. Both are read from the pilot's intervals and influences; nothing is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import ncfdtr
from scipy.stats import chi2, f, nct, norm, t

from t2ibench.arrays import Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.headline import Headline, Inference, Question
from t2ibench.stats.excess import HIGH_END, typical_square
from t2ibench.stats.squares import mean_square

_MOST = 1000.0  # times the pilot's images, or its prompts, that are looked at
_MOST_ROWS = 400
_FAR = 8.0  # standard errors from 0
_PLACES = (np.arange(400) + 0.5) / 400  # even quantiles
_EDGE = 0.999  # of an excess, which ends at 1
_NO_ERROR = 1e-6
_WORTH = (1.0, 1e4)  # unrelated concepts


class Forecaster(Protocol):
    """What a design of another size would show, on the scale that tables show."""

    def width(self, effect: float, images: float, prompts: float) -> float:
        """Expected width of the interval where the headline is `effect`."""
        ...

    def power(self, effect: float, images: float, prompts: float) -> float:
        """Probability of p < 1 - level where the headline is `effect`."""
        ...


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed headline with Student's t."""

    by_image: float  # part of the pilot's variance
    by_prompt: float  # part that only more prompts make smaller
    df: float
    df_by_image: bool  # whether these too grow with the images
    level: float

    def _scaled(self, images: float, prompts: float) -> tuple[float, float]:
        variance = (self.by_image / images + self.by_prompt) / prompts
        df = self.df * prompts * (images if self.df_by_image else 1.0)
        return float(np.sqrt(variance)), max(df, 1.0)

    def width(self, effect: float, images: float, prompts: float) -> float:
        """See `Forecaster`."""
        error, df = self._scaled(images, prompts)
        return float(2 * t.ppf((1 + self.level) / 2, df) * error)

    def power(self, effect: float, images: float, prompts: float) -> float:
        """See `Forecaster`."""
        error, df = self._scaled(images, prompts)
        if error == 0:
            return float(effect != 0)
        critical, away = t.ppf((1 + self.level) / 2, df), abs(effect) / error
        if away > 30:
            return 1.0
        # The other tail is below e-10 from 8 standard errors on, and scipy has nan for it there.
        other = nct.cdf(-critical, df, away) if away < _FAR else 0.0
        return float(nct.sf(critical, df, away) + other)


@dataclass(frozen=True, slots=True)
class Squares:
    """The mean square of the leans of rows, with an F test."""

    variances: Float64Array  # of each row's lean in the pilot, shape (k,)
    dfs: Float64Array  # shape (k,)
    level: float

    def _rows(self, images: float, prompts: float) -> tuple[Float64Array, Float64Array]:
        count = min(max(1, round(len(self.variances) * prompts)), _MOST_ROWS)
        rows = np.arange(count) % len(self.variances)
        return self.variances[rows] / images, np.maximum(self.dfs[rows] * images, 1.0)

    def width(self, effect: float, images: float, prompts: float) -> float:
        """See `Forecaster`; of the root, which tables show."""
        variances, dfs = self._rows(images, prompts)
        found = mean_square(
            np.sqrt(effect**2 + variances), variances, dfs, level=self.level
        )
        return _root(found.high) - _root(found.low)

    def power(self, effect: float, images: float, prompts: float) -> float:
        """See `Forecaster`."""
        variances, dfs = self._rows(images, prompts)
        total = variances.sum()
        h, h2 = _degrees(variances, dfs)
        noncentrality = len(variances) * effect**2 * h / total
        if noncentrality > 1e4:
            return 1.0
        return float(1 - ncfdtr(h, h2, noncentrality, f.ppf(self.level, h, h2)))


@dataclass(frozen=True, slots=True)
class Shares:
    """An unbiased mean square of shares, whose variance is slope · square / n + floor / n²."""

    slope: float
    floor: float
    by_prompt: float  # part that only more prompts make smaller
    level: float

    def _errors(
        self, effect: float, images: float, prompts: float
    ) -> tuple[float, float]:
        """Standard errors with the effect, and without."""
        floor = self.floor / images**2
        with_effect = self.slope * effect**2 / images + floor + self.by_prompt
        return float(np.sqrt(with_effect / prompts)), float(np.sqrt(floor / prompts))

    def width(self, effect: float, images: float, prompts: float) -> float:
        """See `Forecaster`; of the root, which tables show."""
        half = (
            float(norm.ppf((1 + self.level) / 2))
            * self._errors(effect, images, prompts)[0]
        )
        return _root(effect**2 + half) - _root(effect**2 - half)

    def power(self, effect: float, images: float, prompts: float) -> float:
        """See `Forecaster`."""
        error, fair = self._errors(effect, images, prompts)
        critical = float(norm.ppf(self.level)) * fair
        return (
            float(norm.sf(critical, effect**2, error)) if error else float(effect != 0)
        )


@dataclass(frozen=True, slots=True)
class Excess:
    """How much further concepts lean than everyday words: the ratio of two mean squares.

    The mean square of a set of words is that of chi-squared with as many degrees of freedom as the
    set has unrelated words. More prompts stand for more concepts, as related as these.
    """

    concepts: float  # unrelated concepts that the pilot's are worth
    # variance of the logarithm of the ratio that is due to the pilot's images
    by_image: float
    level: float

    def _sets(self, prompts: float) -> tuple[Float64Array, float, float]:
        """Log mean squares of sets of words, and the two that an interval is made from."""
        worth = max(self.concepts * prompts, 1.0)
        places = np.array([(1 - self.level) / HIGH_END, self.level, *_PLACES])
        least, most, *sets = np.log(chi2.ppf(places, worth) / worth).tolist()
        return np.array(sets), least, most

    def _errors(self, images: float) -> tuple[float, float, float]:
        """Standard error of the images, and how far it moves the lower and the upper end."""
        error = max(float(np.sqrt(self.by_image / images)), _NO_ERROR)
        return (
            error,
            norm.ppf(self.level) * error,
            norm.ppf((1 + self.level) / 2) * error,
        )

    def width(self, effect: float, images: float, prompts: float) -> float:
        """See `Forecaster`."""
        _, least, most = self._sets(prompts)
        _, below, above = self._errors(images)
        ratio = 2 * np.arctanh(min(effect, _EDGE))
        low, high = ratio - max(most, below), ratio + max(-least, above)
        return float(np.tanh(high / 2) - np.tanh(low / 2))

    def power(self, effect: float, images: float, prompts: float) -> float:
        """See `Forecaster`; the images have to show it too."""
        sets, _, most = self._sets(prompts)
        error, below, _ = self._errors(images)
        ratios = sets + 2 * np.arctanh(min(effect, _EDGE))
        return float(norm.sf((max(most, below) - ratios) / error).mean())


def _degrees(variances: Float64Array, dfs: Float64Array) -> tuple[float, float]:
    total = variances.sum()
    return (
        total**2 / (variances**2 * dfs / (dfs + 2)).sum(),
        total**2 / (variances**2 / (dfs + 2)).sum(),
    )


def _root(square: float) -> float:
    return float(np.sqrt(max(square, 0.0)))


def forecaster(
    headline: Headline, question: Question, image_strata: Collection[str], level: float
) -> Forecaster:
    """What a pilot says about larger designs."""
    fixed_prompts, asked = (
        headline.inference.get("fixed_prompts"),
        headline.inference.get(question),
    )
    if (
        headline.scale == "mean_square"
        and len(headline.parts) > 1
        and question == "fixed_prompts"
    ):
        influences = [part.influence for part in headline.parts]
        return Squares(
            np.array([influence.variance for influence in influences]),
            np.array([influence.df for influence in influences]),
            level,
        )
    if headline.value is None or asked is None or _variance(asked, level) is None:
        why = (
            headline.reason or (asked.reason if asked else None) or "it has no interval"
        )
        raise T2IBenchError(
            f"The pilot does not say how far its headline varies: {why}."
        )
    variance = _variance(asked, level) or 0.0
    images = (
        variance
        if fixed_prompts is None
        else min(variance, _variance(fixed_prompts, level) or 0.0)
    )
    if question == "prompt_population" and fixed_prompts is None:
        images = 0.0  # unknown, so images are not counted on
    if headline.question == "fixed_prompts":
        images *= _image_share(headline, image_strata)
    if headline.scale == "mean_square":
        return _shares(headline, variance, images, level)
    if headline.scale == "excess" and question == "prompt_population":
        return _excess(headline, images, level)
    df = asked.df or 1e6
    return Signed(images, variance - images, df, question == "fixed_prompts", level)


def _shares(headline: Headline, variance: float, images: float, level: float) -> Shares:
    value = max(headline.value or 0.0, 0.0)
    fair = headline.fair[1] if headline.fair is not None else 0.0
    floor = min((fair / float(norm.ppf(level))) ** 2, images)
    # Without bias in the pilot, what its variance has beyond the floor is no measure of the slope;
    # then that of two classes, 4 (1 - h) / N of which the floor 2 / N² is known.
    slope = (images - floor) / value if value**2 > 4 * floor else 2 * np.sqrt(2 * floor)
    return Shares(float(slope), floor, variance - images, level)


def _excess(headline: Headline, images: float, level: float) -> Excess:
    """From the band of random sets, whose upper end is a quantile of chi-squared."""
    most = 2 * np.arctanh(min(headline.fair[1], _EDGE) if headline.fair else _EDGE)

    def beyond(worth: float) -> float:
        typical = typical_square(chi2.ppf(_PLACES, worth) / worth)
        return float(np.log(chi2.ppf(level, worth) / worth / typical) - most)

    fewest, largest = _WORTH
    if beyond(fewest) <= 0:
        worth = fewest
    else:
        worth = brentq(beyond, fewest, largest) if beyond(largest) < 0 else largest
    slope = 2.0 / (1.0 - min(abs(headline.value or 0.0), _EDGE) ** 2)
    return Excess(float(worth), images * slope**2, level)


def _variance(found: Inference, level: float) -> float | None:
    """From the interval, so that whatever is behind it counts."""
    if found.ci_low is None or found.ci_high is None:
        return None
    return float(
        ((found.ci_high - found.ci_low) / 2 / t.ppf((1 + level) / 2, found.df or 1e6))
        ** 2
    )


def _image_share(headline: Headline, strata: Collection[str]) -> float:
    """How much of the variance of a headline is between images of one prompt."""
    if len(headline.parts) != 1:
        return 1.0
    influence = headline.parts[0].influence
    wanted = np.array([name in strata for name in influence.strata], dtype=bool)
    if not influence.variance > 0:
        return 1.0
    return (
        float((influence.value[wanted[influence.stratum]] ** 2).sum())
        / influence.variance
    )


def least(
    reached: Callable[[float], bool], most: float = _MOST, fewest: float = 0.05
) -> float | None:
    """The smallest multiple of the pilot's size, or the smallest effect, that is enough.

    Examples:
        >>> least(lambda times: times >= 1) == 1.0, least(lambda times: False) is None
        (True, True)
    """
    low, high = fewest, most
    if not reached(high):
        return None
    if reached(low):
        return low
    if reached(1.0) and not reached(0.999):
        return 1.0
    while high / low > 1.01:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
