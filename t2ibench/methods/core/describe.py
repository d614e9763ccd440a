"""Pieces of the plain sentences in which methods say their results."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.core.estimate import Estimate, MethodResult

_ALPHA = 0.05


def beyond_chance(estimate: Estimate) -> bool:
    """Whether a score's own p-value is below .05.

    Args:
        estimate: The score.

    Returns:
        False also where it has no p-value.
    """
    return estimate.p is not None and estimate.p < _ALPHA


def no_score(result: MethodResult) -> str | None:
    """The sentence for a result without a headline; None where there is one.

    Args:
        result: What a method found.

    Returns:
        A sentence with the reason.
    """
    if result.headline.value is not None:
        return None
    reason = result.reason or result.headline.reason or "there is not enough evidence"
    return f"No score: {reason.rstrip('.')}."


def listed(names: Sequence[str]) -> str:
    """Names as a phrase.

    Args:
        names: One or more.

    Returns:
        'a', 'a and b' or 'a, b and c'.

    Examples:
        >>> listed(["nurse", "chef", "judge"])
        'nurse, chef and judge'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
