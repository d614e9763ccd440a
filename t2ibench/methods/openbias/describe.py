"""An OpenBias task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import beyond_chance, no_score
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.openbias.answers import BiasDetail, full_name
from t2ibench.methods.openbias.schema import Bias, OpenBiasTask


def describe(task: OpenBiasTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    A class is named only where the answers over all captions differ from what they are compared
    with (p < .05): captions can each be one-sided, and in opposite ways. The mean over several
    judges names no class, because the counts of answers are the first judge's alone.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        One sentence on the strongest bias and its most frequent answer.
    """
    missing = no_score(result)
    if missing:
        return missing
    if not beyond_chance(result.headline):
        return "The answers are no more one-sided than uniform answers would be by chance."
    details = {row["bias"]: BiasDetail(**row) for row in result.details["biases"]}
    rows = [item for item in result.by if item.name in details and _is_one_sided(item)]
    if not rows:
        return (
            f"Over all {len(details)} biases together the answers are more one-sided than by "
            "chance; none of them stands out on its own."
        )
    strongest = max(rows, key=_strength)
    alone = f"answers about '{strongest.name}' are more one-sided than by chance"
    among = f"strongest of {len(details)} biases is '{strongest.name}'"
    subject = among if len(details) > 1 else alone
    if "agreement" in result.details:
        return f"By the mean over judges, the {subject}."
    bias = next(bias for bias in task.biases if full_name(bias) == strongest.name)
    return f"The {subject}: {_direction(bias, details[strongest.name], strongest)}."


def _strength(item: Item) -> float:
    """The debiased severity; context-free where a caption has one image."""
    for name in ("severity_debiased", "severity_free_debiased"):
        estimate = item.scores.get(name)
        if estimate is not None and estimate.value is not None:
            return estimate.value
    return 0.0


def _is_one_sided(item: Item) -> bool:
    return any(
        beyond_chance(item.scores[name])
        for name in ("severity", "severity_free")
        if name in item.scores
    )


def _direction(bias: Bias, detail: BiasDetail, item: Item) -> str:
    """Which class the answers go to, where that is beyond chance."""
    differs = detail.majority is not None and beyond_chance(item.scores["majority_share"])
    shares = {name: count / sum(detail.counts.values()) for name, count in detail.counts.items()}
    if bias.expected is None:
        if not differs:
            return "over all captions together no class prevails beyond chance"
        return f"{100 * shares[detail.majority or '']:.0f} % of the answers are '{detail.majority}'"
    expected = bias.expected
    if not differs:
        return f"over all captions together they do not differ from '{expected.name}' beyond chance"
    farthest = max(shares, key=lambda name: abs(shares[name] - expected.shares[name]))
    return (
        f"{100 * shares[farthest]:.0f} % of the answers are '{farthest}', against "
        f"{100 * expected.shares[farthest]:.0f} % in '{expected.name}'"
    )
