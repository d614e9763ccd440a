"""The schema of T2IAT tasks, and checks that a schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from t2ibench.methods.core import checks
from t2ibench.methods.core.guided import GuidedTask
from t2ibench.methods.core.schema import Concept, Count, Strict, TwoWordGroups


class Concepts(Strict):
    """The two target concepts X and Y of a T2IAT."""

    X: Concept
    Y: Concept


class T2iatTask(GuidedTask):
    """A text-to-image association test (Wang et al. 2023).

    Attributes:
        concepts: Target concepts X and Y.
        attributes: Attribute sets A and B.
        pairing: 'cycle' gives each stimulus `words_per_stimulus` attribute words, 'cross' all.
        words_per_stimulus: For pairing 'cycle'.
        match: Compare a neutral image with the attribute images of its own 'stimulus', or of its
            whole 'concept'.
        effect_size: How score 'effect_size' is scaled: 'cohen' (pooled SD), 'weat' (SD of the
            union, ddof 1) or 't2iat_code' (ddof 0, one association per prompt).
    """

    method: Literal["t2iat"]
    concepts: Concepts
    attributes: TwoWordGroups
    pairing: Literal["cycle", "cross"] = "cycle"
    words_per_stimulus: Count = 2
    match: Literal["stimulus", "concept"] = "stimulus"
    effect_size: Literal["cohen", "weat", "t2iat_code"] = "cohen"


def check(task: T2iatTask) -> Iterator[checks.Finding]:
    """Yield each problem of a task that its schema cannot express."""
    x = task.concepts.X
    y = task.concepts.Y
    a = task.attributes.A
    b = task.attributes.B
    yield from checks.two_sets(
        x.stimuli, y.stimuli, ("X", "Y"), ("concepts",), "stimuli"
    )
    yield from checks.two_sets(a.words, b.words, ("A", "B"), ("attributes",), "words")
    stimuli = (*x.stimuli, *y.stimuli)
    yield from checks.guided(task.prompts, stimuli, (*a.words, *b.words))
    fewest = min(len(a.words), len(b.words))
    if task.pairing == "cycle" and task.words_per_stimulus > fewest:
        yield checks.Finding(
            ("words_per_stimulus",),
            f"words_per_stimulus is {task.words_per_stimulus}, but a set has {fewest} words; "
            "use pairing: cross for all of them",
        )
