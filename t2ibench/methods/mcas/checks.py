"""Problems of a task of this family that its schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.methods.core import checks
from t2ibench.methods.mcas.schema import McasTask


def check(task: McasTask) -> Iterator[checks.Finding]:
    """Problems of a task that its schema cannot express.

    Args:
        task: The task.

    Yields:
        A finding for each, with its location in the file.
    """
    a, b = task.attributes.A, task.attributes.B
    for side, attribute in (("A", a), ("B", b)):
        yield from checks.duplicates(attribute.words, ("attributes", side, "words"))
        yield from checks.duplicates(attribute.prompts, ("attributes", side, "prompts"))
    yield from checks.overlap(a.words, b.words, ("A", "B"), ("attributes", "B"))
    yield from checks.overlap(a.prompts, b.prompts, ("A", "B"), ("attributes", "B"))
    yield from checks.sizes(a.words, b.words, ("A", "B"), ("attributes",))
    yield from checks.duplicates([target.name for target in task.targets], ("targets",))
    yield from checks.duplicates([target.prompt for target in task.targets], ("targets",))
    for number, target in enumerate(task.targets):
        yield from checks.articles([target.prompt], ("targets", number, "prompt"))
