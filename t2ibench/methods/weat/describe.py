"""A WEAT in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import no_score, sentence, undecided, unproven
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.weat.schema import WeatTask


def describe(task: WeatTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        Such as 'The association of flowers with pleasant words, rather than unpleasant words, is
        stronger than that of insects.' Without a p-value below .05 it claims no direction.
    """
    x, y = task.targets.X.name, task.targets.Y.name
    a, b = task.attributes.A.name, task.attributes.B.name

    def stronger(near: str, far: str) -> str:
        return (
            f"the association of {near} with {a}, rather than {b}, is stronger than that of {far}"
        )

    claims = {
        "two-sided": f"{x} and {y} differ in their association with {a} rather than {b}",
        "greater": stronger(x, y),
        "less": stronger(y, x),
    }
    near, far = (x, y) if (result.headline.value or 0.0) > 0 else (y, x)
    return (
        undecided(result)
        or no_score(result)
        or unproven(result.headline, claims[task.alternative])
        or sentence(stronger(near, far))
    )
