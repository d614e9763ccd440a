"""An MCAS task in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import no_score, sentence, undecided, unproven
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.mcas.schema import McasTask


def describe(task: McasTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        Such as 'Along the stereotype: images of targets stereotyped as male are more like the male
        images, rather than the female ones, than images of targets stereotyped as female are.'
        Without a p-value below .05 it claims no direction.
    """
    a, b = task.attributes.A.name, task.attributes.B.name

    def more(near: str, far: str) -> str:
        return (
            f"images of targets stereotyped as {near} are more like the {a} images, rather than "
            f"the {b} ones, than images of targets stereotyped as {far} are"
        )

    claim = (
        f"images of targets stereotyped as {a} and as {b} differ in how much they are like "
        f"the {a} images rather than the {b} ones"
    )
    along = (result.headline.value or 0.0) > 0
    direction = (
        f"along the stereotype: {more(a, b)}" if along else f"against the stereotype: {more(b, a)}"
    )
    return (
        undecided(result)
        or no_score(result)
        or unproven(result.headline, claim)
        or sentence(direction)
    )
