"""The probability that a run calls a test clear, which requires more than p < .05."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.influence import Influence
from t2ibench.power.forecasters import Forecaster

# Where nobody looks at guided images, so large a share of one group's may show the other.
_MOST_UNSEEN = 0.15
# A lean that all items share, which such images would explain: f / (1 - f).
_EXPLAINED_LEAN = _MOST_UNSEEN / (1 - _MOST_UNSEEN)
# The level at which that is tested where the headline's p is below it, and otherwise.
_STRICT_ALPHA = 0.01
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class ClearRule:
    """The conditions under which a run calls a test clear.

    Attributes:
        n_tests: Number of tests that Holm's correction is over; p has to be below α / n_tests at
            its first step.
        unseen: Whether nobody looks at guided images: then the leans must not be explained by 15 %
            of one group's images that show the other (the control `breakdown`).
        common: Share of the mean square that is a lean which all items have in common, from 0 (as
            many lean either way) to 1 (all lean alike); such images could explain that part only.
    """

    n_tests: int = 1
    unseen: bool = False
    common: float = 1.0

    def probability(
        self,
        forecaster: Forecaster,
        effect: float,
        images: float,
        prompts: float,
    ) -> float:
        """Return the probability that a run of some size calls a test clear.

        The test has the headline `effect`.

        Args:
            forecaster: Of the test.
            effect: The headline, on the scale that tables show.
            images: Multiple of the pilot's images.
            prompts: Multiple of its prompts.
        """

        def power(size: float, alpha: float) -> float:
            return forecaster.power(size, images, prompts, alpha)

        alpha = (1 - forecaster.level) / self.n_tests
        corrected = power(effect, alpha)
        if not self.unseen:
            return corrected
        unexplained = self.unexplained(effect)
        beyond = power(unexplained, _STRICT_ALPHA)
        if alpha <= _STRICT_ALPHA:
            return min(corrected, beyond)
        # A p-value between the two levels has to pass the milder one only.
        between = min(power(unexplained, _ALPHA), corrected)
        return beyond + max(0.0, between - power(effect, _STRICT_ALPHA))

    def unexplained(self, effect: float) -> float:
        """Return the part of an rms lean that disobedient guided images cannot explain.

        Examples:
            >>> round(ClearRule(unseen=True, common=1.0).unexplained(0.5), 3)
            0.324
            >>> ClearRule(unseen=True, common=0.0).unexplained(0.5)
            0.5
        """
        common = np.sqrt(self.common) * effect
        left = max(common - _EXPLAINED_LEAN, 0.0)
        return float(np.sqrt((1 - self.common) * effect**2 + left**2))


def common_share(headline: HeadlineEstimate, level: float) -> float:
    """Return the share of a mean square that comes from a lean which all items have in common.

    Of a pilot that saw no lean it is unknown; then it is 1, the most cautious.
    """
    parts = headline.parts
    value = headline.value
    p = headline.p
    if value is None or value <= 0 or p is None or p >= 1 - level or len(parts) < 2:
        return 1.0
    weight = 1 / len(parts)
    mean = float(np.mean([part.value for part in parts]))
    influence = Influence.combined([(weight, part.influence) for part in parts])
    return float(np.clip((mean**2 - influence.variance) / value, 0.0, 1.0))


def clear_rule(
    headline: HeadlineEstimate, controls: Sequence[str], level: float, n_tests: int
) -> ClearRule:
    """Return the conditions under which a run calls a test clear.

    Args:
        headline: The pilot's.
        controls: Names of its controls.
        level: Confidence level.
        n_tests: Number of tests that Holm's correction is over.
    """
    pairs_of_groups = [name for name in controls if name.startswith("breakdown")]
    common = 1.0
    if len(pairs_of_groups) == 1:
        common = common_share(headline, level)
    return ClearRule(n_tests=n_tests, unseen=bool(pairs_of_groups), common=common)
