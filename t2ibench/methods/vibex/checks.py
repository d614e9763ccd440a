"""What is wrong with a task of this family that its schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.errors import did_you_mean
from t2ibench.methods.core import checks
from t2ibench.methods.vibex.schema import VibexTask


def check(task: VibexTask) -> Iterator[checks.Finding]:
    """What is wrong with a task that its schema cannot express.

    Args:
        task: The task.

    Yields:
        Errors and warnings with their location in the file.
    """
    anchors = [anchor.name for anchor in task.anchors]
    yield from checks.duplicates(anchors, ("anchors",))
    yield from checks.duplicates([anchor.prompt for anchor in task.anchors], ("anchors",))
    names = [concept.name for concept in task.concepts]
    yield from checks.duplicates(
        [f"{concept.name} ({concept.query})" for concept in task.concepts], ("concepts",)
    )
    for number, concept in enumerate(task.concepts):
        if concept.tendency is not None and concept.tendency not in (*anchors, "balanced"):
            yield checks.Finding(
                ("concepts", number, "tendency"),
                f"unknown anchor '{concept.tendency}'."
                f"{did_you_mean(concept.tendency, (*anchors, 'balanced'))}",
            )
    for number, pair in enumerate(task.intersections):
        for name in pair:
            if name not in names:
                yield checks.Finding(
                    ("intersections", number),
                    f"unknown concept '{name}'.{did_you_mean(name, names)}",
                )
