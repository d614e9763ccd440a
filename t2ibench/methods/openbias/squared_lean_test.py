"""The test of a mean squared lean, and intervals that agree with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.inference import Inference, Question
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.mistakes import Mistakes
from t2ibench.methods.openbias.null_draws import NullDraws
from t2ibench.methods.openbias.squared_lean import MeanSquaredLean, mean_squared_lean
from t2ibench.methods.openbias.unanswered import completed
from t2ibench.stats import critical_value, p_value
from t2ibench.stats.squares import SquareNoise, square_interval

# A mean square owes at least so much to noise: an expected share of 1 leaves none.
_LEAST_NOISE = 1e-9


@dataclass(frozen=True, slots=True)
class SquaredLeanTest:
    """A mean squared lean, with its test and its intervals.

    Attributes:
        square: The mean squared lean.
        p: p-value that nothing leans.
        critical: The largest value that the test does not reject.
        inference: Question to interval and p-value.
        null: Draws of the mean where nothing leans, shape (draws,).
        unanswered: Empty where every image has an answer. Otherwise 'share', the share
            of the images without one; 'least' and 'most', what the mean may be for all
            images; and 'p_like_the_rest', the p-value if the images without an answer
            are like the others.
    """

    square: MeanSquaredLean
    p: float
    critical: float
    inference: dict[Question, Inference]
    null: Float64Array
    unanswered: dict[str, float] = field(default_factory=dict)

    @property
    def bounds(self) -> dict[str, Estimate]:
        """Bounds of the mean squared lean of all images, as scores; empty if all have answers."""
        if not self.unanswered:
            return {}
        return {
            "unanswered_share": Estimate(self.unanswered["share"]),
            "squared_lean_least": Estimate(self.unanswered["least"]),
            "squared_lean_most": Estimate(self.unanswered["most"]),
        }


def squared_lean_test(
    rows: Sequence[CountedRow], null_draws: NullDraws, level: float
) -> SquaredLeanTest:
    """Test whether captions lean, whatever the unanswered images show.

    The mean square of all images lies between those of the answers that make it least
    and most. Its test is that of the least among answers about all images, and its
    interval reaches from the lower end of the least's to the upper end of the most's.

    Args:
        rows: The compared rows of one bias, or of several.
        null_draws: Draws of their mean squares where nothing leans.
        level: Confidence level, in (0, 1).
    """
    mistakes = Mistakes.of(rows)
    test = _with_mistakes(mistakes, rows, null_draws.for_answers(rows), level)
    all_rows = null_draws.rows_of_all_images(rows)
    n_unanswered = sum(len(row.unanswered) for row in all_rows)
    if not n_unanswered:
        return test
    null = null_draws.for_images(rows)
    least_rows = [completed(row, most=False) for row in all_rows]
    most_rows = [completed(row, most=True) for row in all_rows]
    least = _with_mistakes(mistakes, least_rows, null, level)
    most = _with_mistakes(mistakes, most_rows, null, level)
    inference = {
        question: ends.up_to(most.inference[question], test.square.value)
        for question, ends in least.inference.items()
    }
    n_answered = sum(len(row.codes) for row in all_rows)
    unanswered = {
        "share": n_unanswered / (n_unanswered + n_answered),
        "least": least.square.value,
        "most": most.square.value,
        "p_like_the_rest": test.p,
    }
    return replace(test, p=least.p, inference=inference, unanswered=unanswered)


def _with_mistakes(
    mistakes: Mistakes, rows: Sequence[CountedRow], null: Float64Array, level: float
) -> SquaredLeanTest:
    """Test the rows' mean squared lean, allowing for mistakes of several people."""
    square = mean_squared_lean(rows)
    test = _test_of_answers(square, null, level)
    if not mistakes.possible:
        return test
    p = mistakes.p(square, null, test.p)
    inference = {
        question: mistakes.widened(ends, p, square.top)
        for question, ends in test.inference.items()
    }
    return replace(test, p=p, inference=inference)


def _test_of_answers(
    square: MeanSquaredLean, null: Float64Array, level: float
) -> SquaredLeanTest:
    """Test a mean squared lean as if every answer were right, with its intervals.

    Both questions have one test: a mean of squares is 0 only where each of them is.
    Their intervals differ, because captions vary more than their images alone.
    """
    p = p_value(null, square.value, "greater", exact=False)
    critical = critical_value(null, level)
    noise = noise_of(square, null)

    def inference(slope: float, df: float) -> Inference:
        """Return the interval and p-value of the mean squared lean for a slope of its variance."""
        low, high = square_interval(
            square.value + noise.noise,
            critical + noise.noise,
            noise.noise,
            (noise.slopes[0], slope),
            df,
            level,
            top=noise.top,
        )
        return Inference(low, high, p, df)

    image_slope = noise.slopes[1]
    inferences: dict[Question, Inference] = {
        square.question: inference(image_slope, noise.df)
    }
    clusters = square.clusters
    if not square.pooled and clusters is None:
        reason = "a bias has a single caption"
        inferences["prompt_population"] = Inference(reason=reason)
    elif not square.pooled and clusters is not None:
        n_clusters = len(clusters.value)
        varies = clusters.variance > 0
        df = max(
            1.0, min(clusters.df if varies else float(n_clusters), n_clusters - 1.0)
        )
        cluster_slope = _slope(square, clusters.variance) if varies else 0.0
        slope = max(image_slope, cluster_slope)
        inferences["prompt_population"] = inference(slope, df)
    return SquaredLeanTest(square, p, critical, inferences, null)


def noise_of(square: MeanSquaredLean, null: Float64Array) -> SquareNoise:
    """Return the noise in a mean squared lean; it is above 0 even if all answers are alike.

    For two classes, shares p and an expected r ≥ ½ the variance is 4 p (1 − p) / n, and
    at most √T (1 − x/T) / n, with x the squared lean and T the largest one. The bound
    has the weight of two images.
    """
    noise = max(square.noise, _LEAST_NOISE)
    bound = square.steepest
    df = square.df
    observed = min(_slope(square, square.influence.variance), bound)
    slope = (df * observed + 2 * bound) / (df + 2)
    null_slope = float(null.var()) / (2 * noise)
    return SquareNoise(noise, (null_slope, slope), df, square.top)


def _slope(square: MeanSquaredLean, variance: float) -> float:
    """Return how steeply a mean squared lean's variance grows with the lean.

    Infinite at the largest lean.
    """
    noise = max(square.noise, _LEAST_NOISE)
    below_top = max(1.0 - square.value / square.top, 0.0)
    if not below_top > 0:
        return np.inf
    return variance / (2 * noise + 4 * max(square.value, 0.0)) / below_top
