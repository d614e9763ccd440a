"""An OpenBias task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import beyond_chance, no_score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.openbias.schema import OpenBiasTask


def describe(task: OpenBiasTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

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
        return "The answers are about as evenly spread over the classes as chance alone makes them."
    strongest = result.details["ranking"][0]["bias"]
    detail = next(row for row in result.details["biases"] if row["bias"] == strongest)
    share = detail["counts"][detail["majority"]] / sum(detail["counts"].values())
    one_of = f"The strongest of {len(task.biases)} biases" if len(task.biases) > 1 else "The bias"
    return (
        f"{one_of} is '{strongest}': {100 * share:.0f} % of the answers are '{detail['majority']}'."
    )
