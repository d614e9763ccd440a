"""Forecasts of interval width and power for more images or prompts than in a pilot.

The variance of a pilot has parts that shrink with the images of a prompt and parts that only more
prompts shrink. Both are read from the pilot's intervals and influences; nothing is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy
from scipy.special import fdtri, gammaincinv, ncfdtr, nctdtr, ndtr, ndtri, stdtrit

from t2ibench.arrays import Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.inference import Inference, Question
from t2ibench.stats.excess import HIGH_END, typical_square
from t2ibench.stats.squares import mean_square

# The largest multiple of the pilot's images, or of its prompts, that is considered.
_MOST = 1000.0
_MOST_ROWS = 400
# Standard errors from 0, beyond which the other tail is negligible.
_FAR = 8.0
# Evenly spaced quantiles.
_PLACES = (np.arange(400) + 0.5) / 400
# The largest excess that is computed with; an excess is below 1.
_EDGE = 0.999
_NO_ERROR = 1e-6
# Range of the number of unrelated concepts that a pilot's concepts are worth.
_WORTH = (1.0, 1e4)


class Forecaster(Protocol):
    """A forecaster of runs with more images or prompts, on the scale that tables show.

    `images` and `prompts` are multiples of the pilot's images and prompts.
    """

    @property
    def level(self) -> float:
        """Confidence level of the interval."""
        ...

    def width(self, effect: float, images: float, prompts: float) -> float:
        """Return the expected width of the interval if the headline is `effect`."""
        ...

    def power(
        self, effect: float, images: float, prompts: float, alpha: float | None = None
    ) -> float:
        """Return the probability of p < alpha (default 1 - level) if the headline is `effect`."""
        ...


@dataclass(frozen=True, slots=True)
class Signed:
    """The forecaster of a signed headline, which has a Student's t interval.

    Attributes:
        by_image: The part of the pilot's variance that shrinks with the number of images.
        by_prompt: The part that only more prompts reduce.
        df: Degrees of freedom of the pilot.
        df_by_image: Whether they also grow with the number of images.
        level: Coverage of the interval.
    """

    by_image: float
    by_prompt: float
    df: float
    df_by_image: bool
    level: float

    def _scaled(self, images: float, prompts: float) -> tuple[float, float]:
        """Return the headline's standard error and degrees of freedom in a larger run."""
        variance = (self.by_image / images + self.by_prompt) / prompts
        df = self.df * prompts * (images if self.df_by_image else 1.0)
        return float(np.sqrt(variance)), max(df, 1.0)

    def width(self, effect: float, images: float, prompts: float) -> float:
        """Return the expected width of the interval (see `Forecaster.width`)."""
        error, df = self._scaled(images, prompts)
        return float(2 * stdtrit(df, (1 + self.level) / 2) * error)

    def power(
        self, effect: float, images: float, prompts: float, alpha: float | None = None
    ) -> float:
        """Return the probability of detecting the effect (see `Forecaster.power`)."""
        error, df = self._scaled(images, prompts)
        if error == 0:
            return float(effect != 0)
        critical = -stdtrit(df, _alpha(alpha, self.level) / 2)
        away = abs(effect) / error
        if away > 30:
            return 1.0
        # From 8 standard errors on the other tail is below 1e-10, and scipy returns nan for it.
        other_tail = nctdtr(df, away, -critical) if away < _FAR else 0.0
        return float(1 - nctdtr(df, away, critical) + other_tail)


@dataclass(frozen=True, slots=True)
class Squares:
    """The forecaster of the mean square of several rows' leans, which has an F test.

    Attributes:
        variances: Variance of each row's lean in the pilot, shape (k,).
        dfs: Degrees of freedom of each variance, shape (k,).
        level: Coverage of the interval.
    """

    variances: Float64Array
    dfs: Float64Array
    level: float

    def _rows(self, images: float, prompts: float) -> tuple[Float64Array, Float64Array]:
        """Return each row's variance and degrees of freedom in a larger run."""
        count = min(max(1, round(len(self.variances) * prompts)), _MOST_ROWS)
        rows = np.arange(count) % len(self.variances)
        return self.variances[rows] / images, np.maximum(self.dfs[rows] * images, 1.0)

    def width(self, effect: float, images: float, prompts: float) -> float:
        """Return the expected width of the interval of the root mean square."""
        variances, dfs = self._rows(images, prompts)
        estimate = mean_square(
            np.sqrt(effect**2 + variances), variances, dfs, level=self.level
        )
        return _root(estimate.high) - _root(estimate.low)

    def power(
        self, effect: float, images: float, prompts: float, alpha: float | None = None
    ) -> float:
        """Return the probability of detecting the effect (see `Forecaster.power`)."""
        variances, dfs = self._rows(images, prompts)
        total = variances.sum()
        df, df_error = _degrees(variances, dfs)
        noncentrality = len(variances) * effect**2 * df / total
        if noncentrality > 1e4:
            return 1.0
        critical = fdtri(df, df_error, 1 - _alpha(alpha, self.level))
        return float(1 - ncfdtr(df, df_error, noncentrality, critical))


@dataclass(frozen=True, slots=True)
class Shares:
    """The forecaster of an unbiased mean square of shares.

    Its variance with n times the images is slope · square / n + floor / n² + by_prompt.

    Attributes:
        slope: See the formula; `square` is the squared headline.
        floor: The variance without any bias, with the pilot's images.
        by_prompt: The part of the variance that only more prompts reduce.
        level: Coverage of the interval.
    """

    slope: float
    floor: float
    by_prompt: float
    level: float

    def _errors(
        self, effect: float, images: float, prompts: float
    ) -> tuple[float, float]:
        """Return the headline's standard error in a larger run, with the effect and without."""
        floor = self.floor / images**2
        with_effect = self.slope * effect**2 / images + floor + self.by_prompt
        return float(np.sqrt(with_effect / prompts)), float(np.sqrt(floor / prompts))

    def width(self, effect: float, images: float, prompts: float) -> float:
        """Return the expected width of the interval of the root mean square."""
        error, _ = self._errors(effect, images, prompts)
        half = float(ndtri((1 + self.level) / 2)) * error
        return _root(effect**2 + half) - _root(effect**2 - half)

    def power(
        self, effect: float, images: float, prompts: float, alpha: float | None = None
    ) -> float:
        """Return the probability of detecting the effect (see `Forecaster.power`)."""
        error, fair = self._errors(effect, images, prompts)
        critical = float(-ndtri(_alpha(alpha, self.level))) * fair
        if not error:
            return float(effect != 0)
        return float(ndtr((effect**2 - critical) / error))


@dataclass(frozen=True, slots=True)
class Excess:
    """The forecaster of how much further concepts lean than everyday words do.

    The headline is the ratio of two mean squares. That of a set of words is distributed like
    chi-squared with as many degrees of freedom as the set has unrelated words. More prompts stand
    for more concepts, which are as related as those of the pilot.

    Attributes:
        concepts: Number of unrelated concepts that the pilot's concepts are worth.
        by_image: Variance of the logarithm of the ratio due to the pilot's images.
        level: Coverage of the interval.
    """

    concepts: float
    by_image: float
    level: float

    def _sets(self, prompts: float, level: float) -> tuple[Float64Array, float, float]:
        """Return logarithms of random word sets' mean squares, and their low and high quantiles."""
        worth = max(self.concepts * prompts, 1.0)
        places = np.array([(1 - level) / HIGH_END, level, *_PLACES])
        least, most, *sets = np.log(_chi_squared(places, worth) / worth).tolist()
        return np.array(sets), least, most

    def _errors(self, images: float, level: float) -> tuple[float, float, float]:
        """Return the standard error of the ratio's logarithm, and the margins below and above."""
        error = max(float(np.sqrt(self.by_image / images)), _NO_ERROR)
        return (
            error,
            ndtri(level) * error,
            ndtri((1 + level) / 2) * error,
        )

    def width(self, effect: float, images: float, prompts: float) -> float:
        """Return the expected width of the interval (see `Forecaster.width`)."""
        _, least, most = self._sets(prompts, self.level)
        _, below, above = self._errors(images, self.level)
        ratio = 2 * np.arctanh(min(effect, _EDGE))
        low = ratio - max(most, below)
        high = ratio + max(-least, above)
        return float(np.tanh(high / 2) - np.tanh(low / 2))

    def power(
        self, effect: float, images: float, prompts: float, alpha: float | None = None
    ) -> float:
        """Return the probability of detecting the effect (see `Forecaster.power`)."""
        level = 1 - _alpha(alpha, self.level)
        sets, _, most = self._sets(prompts, level)
        error, below, _ = self._errors(images, level)
        ratios = sets + 2 * np.arctanh(min(effect, _EDGE))
        return float(ndtr((ratios - max(most, below)) / error).mean())


def _chi_squared(places: float | Float64Array, df: float) -> Float64Array:
    """Return quantiles of chi-squared.

    `scipy.stats` returns the same, here as above, but importing it takes half a second, and the
    report of a run needs nothing else of it.
    """
    quantiles: Float64Array = 2 * gammaincinv(df / 2, places)
    return quantiles


def _alpha(alpha: float | None, level: float) -> float:
    """Return `alpha`, the significance level of a test; by default, that of the interval."""
    return 1 - level if alpha is None else alpha


def _degrees(variances: Float64Array, dfs: Float64Array) -> tuple[float, float]:
    """Return the degrees of freedom of the numerator and the denominator of the F test."""
    total = variances.sum()
    numerator = total**2 / (variances**2 * dfs / (dfs + 2)).sum()
    denominator = total**2 / (variances**2 / (dfs + 2)).sum()
    return numerator, denominator


def _root(square: float) -> float:
    return float(np.sqrt(max(square, 0.0)))


def forecaster(
    headline: HeadlineEstimate,
    question: Question,
    image_strata: Collection[str],
    level: float,
) -> Forecaster:
    """Return the forecaster of larger runs for a pilot's headline.

    Args:
        headline: The pilot's headline.
        question: The question that the larger design has to answer.
        image_strata: Strata of the headline's influence that are images of a prompt.
        level: Coverage of the interval.

    Raises:
        T2IBenchError: the headline has no interval for this question.
    """
    about_fixed_prompts = question == "fixed_prompts"
    if (
        headline.scale == "mean_square"
        and len(headline.parts) > 1
        and about_fixed_prompts
    ):
        return _squares(headline, level)
    inference = headline.inference.get(question)
    if inference is None:
        raise _no_interval(headline, None)
    variance = _variance(inference, level)
    if headline.value is None or variance is None:
        raise _no_interval(headline, inference)
    by_image = _variance_by_image(headline, question, variance, level)
    if headline.question == "fixed_prompts":
        by_image *= _image_share(headline, image_strata)
    if headline.scale == "mean_square":
        return _shares(headline, variance, by_image, level)
    if headline.scale == "excess" and question == "prompt_population":
        return _excess(headline, by_image, level)
    return Signed(
        by_image=by_image,
        by_prompt=variance - by_image,
        df=inference.df or 1e6,
        df_by_image=about_fixed_prompts,
        level=level,
    )


def _no_interval(
    headline: HeadlineEstimate, inference: Inference | None
) -> T2IBenchError:
    """Return the error that a pilot's headline has no interval, with the reason."""
    why = headline.reason or (inference.reason if inference else None)
    why = why or "it has no interval"
    return T2IBenchError(f"The pilot does not say how far its headline varies: {why}.")


def _variance_by_image(
    headline: HeadlineEstimate, question: Question, variance: float, level: float
) -> float:
    """Return the part of a headline's variance that more images would reduce.

    It is the variance with fixed prompts.
    """
    fixed_prompts = headline.inference.get("fixed_prompts")
    if fixed_prompts is not None:
        return min(variance, _variance(fixed_prompts, level) or 0.0)
    if question == "prompt_population":
        return 0.0  # It is unknown, so the forecast does not rely on more images.
    return variance


def _squares(headline: HeadlineEstimate, level: float) -> Squares:
    """Return the forecaster for a mean square of leans, each of which is a part of the headline."""
    influences = [part.influence for part in headline.parts]
    return Squares(
        variances=np.array([influence.variance for influence in influences]),
        dfs=np.array([influence.df for influence in influences]),
        level=level,
    )


def _shares(
    headline: HeadlineEstimate, variance: float, by_image: float, level: float
) -> Shares:
    """Return the forecaster for a mean square of shares."""
    value = max(headline.value or 0.0, 0.0)
    fair = headline.fair[1] if headline.fair is not None else 0.0
    floor = min((fair / float(ndtri(level))) ** 2, by_image)
    # Without bias in the pilot, the variance beyond the floor does not measure the slope. Then the
    # slope of two classes is taken, 4 (1 - h) / N, where the floor, 2 / N², gives N.
    slope = float(2 * np.sqrt(2 * floor))
    if value**2 > 4 * floor:
        slope = float((by_image - floor) / value)
    return Shares(slope=slope, floor=floor, by_prompt=variance - by_image, level=level)


def _excess(headline: HeadlineEstimate, by_image: float, level: float) -> Excess:
    """Return the forecaster for an excess of concepts over everyday words.

    The band of random sets ends at a quantile of chi-squared; that gives the number of unrelated
    concepts.
    """
    most = 2 * np.arctanh(min(headline.fair[1], _EDGE) if headline.fair else _EDGE)

    def beyond(worth: float) -> float:
        typical = typical_square(_chi_squared(_PLACES, worth) / worth)
        return float(np.log(_chi_squared(level, worth) / worth / typical) - most)

    fewest, largest = _WORTH
    if beyond(fewest) <= 0:
        worth = fewest
    elif beyond(largest) < 0:
        worth = scipy.optimize.brentq(beyond, fewest, largest)
    else:
        worth = largest
    slope = 2.0 / (1.0 - min(abs(headline.value or 0.0), _EDGE) ** 2)
    return Excess(concepts=float(worth), by_image=by_image * slope**2, level=level)


def _variance(inference: Inference, level: float) -> float | None:
    """Return the variance that a headline's interval implies; None without an interval."""
    if inference.ci_low is None or inference.ci_high is None:
        return None
    half = (inference.ci_high - inference.ci_low) / 2
    error = half / stdtrit(inference.df or 1e6, (1 + level) / 2)
    return float(error**2)


def _image_share(headline: HeadlineEstimate, strata: Collection[str]) -> float:
    """Return the share of a headline's variance that comes from images of one prompt."""
    if len(headline.parts) != 1:
        return 1.0
    influence = headline.parts[0].influence
    wanted = np.array([name in strata for name in influence.strata], dtype=bool)
    if not influence.variance > 0:
        return 1.0
    squares = influence.value[wanted[influence.stratum]] ** 2
    return float(squares.sum()) / influence.variance


def least(
    reached: Callable[[float], bool], most: float = _MOST, fewest: float = 0.05
) -> float | None:
    """Return the smallest number from `fewest` to `most` that reaches a goal; None if none does.

    Examples:
        >>> least(lambda times: times >= 1) == 1.0, least(lambda times: False) is None
        (True, True)
    """
    low = fewest
    high = most
    if not reached(high):
        return None
    if reached(low):
        return low
    if reached(1.0) and not reached(0.999):
        return 1.0
    while high / low > 1.01:
        middle = float(np.sqrt(low * high))
        if reached(middle):
            high = middle
        else:
            low = middle
    return high
