"""The share of a class among the images of one caption, with an exact test.

The images of one caption are independent of each other, so their answers are binomial.
"""

from __future__ import annotations

from scipy.stats import binomtest

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.openbias.answers import CountedRow
from t2ibench.methods.openbias.shares import share_influence
from t2ibench.stats.clopper_pearson import clopper_pearson


def caption_share(
    row: CountedRow, column: int, expected: float, level: float
) -> Estimate:
    """Return a class's share of one caption's answers, with an exact interval and test.

    The interval is Clopper and Pearson's.

    Where some images are unanswered, the interval reaches from the lower end with none
    of them of the class to the upper end with all of them, and the p-value is that of
    the count nearest to the expected share.

    Args:
        row: The caption's answers.
        column: Position of the class.
        expected: The share that the test compares with.
        level: Confidence level, in (0, 1).
    """
    least = int(row.counts[column])
    n_unanswered = len(row.unanswered)
    n_images = len(row.codes) + n_unanswered
    most = least + n_unanswered
    low, _ = clopper_pearson(least, n_images, level)
    _, high = clopper_pearson(most, n_images, level)
    interval = (low, high)
    expected_ends = (expected, expected)
    if row.accuracy is not None:
        interval = row.accuracy.widened(interval)
        expected_ends = row.accuracy.read(expected)
    return Estimate(
        least / len(row.codes),
        p=_nearest_p(least, most, n_images, expected_ends),
        test="binomial",
        interval=interval,
        influence=share_influence([row], column),
    )


def _nearest_p(
    least: int, most: int, n_images: int, expected_ends: tuple[float, float]
) -> float:
    """Return the binomial p-value of the possible count and expected share that are nearest.

    Args:
        least: The least count that the class may have.
        most: The largest count that it may have.
        n_images: Number of images.
        expected_ends: The least and the largest share that may be expected.
    """
    lowest, highest = (end * n_images for end in expected_ends)
    is_open = least < most or lowest < highest
    if is_open and least <= highest and lowest <= most:
        return 1.0
    if least > highest:
        return float(binomtest(least, n_images, expected_ends[1]).pvalue)
    return float(binomtest(most, n_images, expected_ends[0]).pvalue)
