"""The ranges of scores and headlines: an interval does not reach beyond what is possible.

A lean is between -1 and 1, and a share between 0 and 1, whatever the noise of a few images adds to
an estimate. Values stay as they were estimated, because their means are then without bias.
"""

from __future__ import annotations

from dataclasses import replace

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.inference import Inference
from t2ibench.methods.core.scales import scale_named
from t2ibench.methods.core.score_names import split_score_name

Interval = tuple[float, float]
_LEAN = (-1.0, 1.0)
_SHARE = (0.0, 1.0)
# The name of a score, up to a colon, to the least and the largest value that is possible.
_RANGES = {
    "lean": _LEAN,
    "lean_mean": _LEAN,
    "lean_mean_prompt_population": _LEAN,
    "lean_of_x": _LEAN,
    "lean_of_y": _LEAN,
    "share": _SHARE,
    "squared_lean": _SHARE,
}


def clipped(interval: Interval, possible: Interval, value: float | None) -> Interval:
    """Return an interval cut to the possible range; the estimate stays within the interval.

    Examples:
        >>> clipped((0.56, 1.11), (0.0, 1.0), 0.83), clipped((0.8, 1.3), (-1.0, 1.0), 1.02)
        ((0.56, 1.0), (0.8, 1.02))
    """
    low, high = interval
    least, most = possible
    if value is not None:
        least = min(least, value)
        most = max(most, value)
    return min(max(low, least), most), max(min(high, most), least)


def score_within_range(name: str, estimate: Estimate) -> Estimate:
    """Return a score with its interval cut to the range that scores of its name can have."""
    kind, _ = split_score_name(name)
    possible = _RANGES.get(kind)
    if possible is None or estimate.interval is None:
        return estimate
    interval = clipped(estimate.interval, possible, estimate.value)
    return replace(estimate, interval=interval)


def inference_within_scale(answer: Inference, headline: HeadlineEstimate) -> Inference:
    """Return the inference on a headline with its interval cut to the range of its scale."""
    scale = scale_named(headline.scale)
    if not scale.bounded or answer.ci_low is None or answer.ci_high is None:
        return answer
    possible = (0.0 if scale.rooted else -scale.end, scale.end)
    low, high = clipped((answer.ci_low, answer.ci_high), possible, headline.value)
    return replace(answer, ci_low=low, ci_high=high)
