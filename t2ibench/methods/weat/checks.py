"""Problems of a task of this family that its schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.methods.core import checks
from t2ibench.methods.weat.schema import WeatTask


def check(task: WeatTask) -> Iterator[checks.Finding]:
    """Problems of a task that its schema cannot express."""
    x, y = task.targets.X, task.targets.Y
    a, b = task.attributes.A, task.attributes.B
    yield from checks.two_sets(x.words, y.words, ("X", "Y"), ("targets",), "words")
    yield from checks.two_sets(a.words, b.words, ("A", "B"), ("attributes",), "words")
    for number, template in enumerate(task.templates):
        yield from checks.template(template, ["word"], ("templates", number))
