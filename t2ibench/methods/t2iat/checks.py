"""Problems of a task of this family that its schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.methods.core import checks
from t2ibench.methods.core.guided import GuidedPrompts
from t2ibench.methods.core.prompts import alternatives
from t2ibench.methods.t2iat.schema import T2iatTask


def check(task: T2iatTask) -> Iterator[checks.Finding]:
    """Problems of a task that its schema cannot express."""
    x, y = task.concepts.X, task.concepts.Y
    a, b = task.attributes.A, task.attributes.B
    yield from checks.two_sets(x.stimuli, y.stimuli, ("X", "Y"), ("concepts",), "stimuli")
    yield from checks.two_sets(a.words, b.words, ("A", "B"), ("attributes",), "words")
    found = (
        checks.guided(prompts, (*x.stimuli, *y.stimuli), (*a.words, *b.words))
        for prompts in _each_alternative(task.prompts)
    )
    yield from dict.fromkeys(finding for findings in found for finding in findings)
    fewest = min(len(a.words), len(b.words))
    if task.pairing == "cycle" and task.words_per_stimulus > fewest:
        yield checks.Finding(
            ("words_per_stimulus",),
            f"words_per_stimulus is {task.words_per_stimulus}, but a set has {fewest} words; "
            "use pairing: cross for all of them",
        )


def _each_alternative(prompts: GuidedPrompts) -> Iterator[GuidedPrompts]:
    """The templates with each choice of the neutral prompts' alternatives."""
    choices = [alternatives(wording.neutral) for wording in prompts.wordings]
    for number in range(max(map(len, choices))):
        chosen = [choice[number % len(choice)] for choice in choices]
        copies = [
            wording.model_copy(update={"neutral": neutral})
            for wording, neutral in zip(prompts.wordings, chosen, strict=True)
        ]
        changed = {"templates": copies} if prompts.templates else {"paraphrases": copies[1:]}
        yield prompts.model_copy(update={"neutral": chosen[0], **changed})
