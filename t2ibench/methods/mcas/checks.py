"""Problems of a task of this family that its schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.methods.core import checks
from t2ibench.methods.mcas.schema import McasTask

_FEWEST_PROMPTS = 3  # a side: with fewer there is no variance between prompts


def check(task: McasTask) -> Iterator[checks.Finding]:
    """Problems of a task that its schema cannot express."""
    a, b = task.attributes.A, task.attributes.B
    for side, attribute in (("A", a), ("B", b)):
        yield from checks.duplicates(attribute.words, ("attributes", side, "words"))
        yield from checks.duplicates(attribute.prompts, ("attributes", side, "prompts"))
        if len(attribute.prompts) < _FEWEST_PROMPTS and task.unit == "prompt":
            yield checks.Finding(
                ("attributes", side, "prompts"),
                f"the headline needs {_FEWEST_PROMPTS} attribute prompts a side (8 to be well "
                f"estimated), here: {len(attribute.prompts)}",
                warning=True,
            )
    yield from checks.overlap(a.words, b.words, ("A", "B"), ("attributes", "B"))
    yield from checks.overlap(a.prompts, b.prompts, ("A", "B"), ("attributes", "B"))
    yield from checks.sizes(a.words, b.words, ("A", "B"), ("attributes",))
    yield from checks.duplicates([target.name for target in task.targets], ("targets",))
    prompts = [prompt for target in task.targets for prompt in target.prompts]
    yield from checks.duplicates(prompts, ("targets",))
    for number, target in enumerate(task.targets):
        yield from checks.articles(target.prompts, ("targets", number, "prompt"))
