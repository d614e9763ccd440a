"""What is wrong with a task of this family that its schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.methods.core import checks
from t2ibench.methods.tibet.schema import TibetTask


def check(task: TibetTask) -> Iterator[checks.Finding]:
    """What is wrong with a task that its schema cannot express."""
    yield from checks.duplicates([target.prompt for target in task.prompts], ("prompts",))
    for number, target in enumerate(task.prompts):
        yield from checks.duplicates(
            [axis.name for axis in target.axes], ("prompts", number, "axes")
        )
        for index, axis in enumerate(target.axes):
            at: checks.Location = ("prompts", number, "axes", index)
            yield from checks.duplicates([cf.name for cf in axis.counterfactuals], at)
            yield from checks.duplicates([cf.prompt for cf in axis.counterfactuals], at)
            if len(axis.counterfactuals) < 2:
                yield checks.Finding(at, "an axis with one counterfactual has no MAD", warning=True)
            for row, cf in enumerate(axis.counterfactuals):
                yield from _check_counterfactual(target.prompt, cf.prompt, (*at, row))


def _check_counterfactual(
    prompt: str, changed: str, at: checks.Location
) -> Iterator[checks.Finding]:
    if changed == prompt:
        yield checks.Finding(at, "the counterfactual is the prompt itself")
    if abs(len(changed.split()) - len(prompt.split())) >= 5:
        message = f"'{changed}' is 5 or more words longer or shorter than its prompt"
        yield checks.Finding(at, message, warning=True)
    yield from checks.articles([changed], at)
