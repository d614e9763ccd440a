"""A T2IAT in a sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import no_score, sentence, undecided, unproven
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.t2iat.schema import T2iatTask


def describe(task: T2iatTask, result: MethodResult) -> str:
    """The result as a plain sentence with its direction.

    Args:
        task: The task.
        result: Its scores.

    Returns:
        Such as 'Images of science are more like those with male, rather than female, than images
        of arts are (lean +0.47).' Without a p-value below .05 it claims no direction.
    """
    x, y = task.concepts.X.name, task.concepts.Y.name
    a, b = task.attributes.A.name, task.attributes.B.name
    claim = (
        f"images of {x} and images of {y} differ in how much they are like those with {a} rather "
        f"than {b}"
    )
    lean = result.headline.value or 0.0
    near, far = (x, y) if lean > 0 else (y, x)
    direction = (
        f"images of {near} are more like those with {a}, rather than {b}, than images of {far} "
        f"are (lean {lean:+.2f})"
    )
    return (
        undecided(result)
        or no_score(result)
        or unproven(result.headline, claim)
        or sentence(direction)
    )
