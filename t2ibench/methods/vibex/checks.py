"""What is wrong with a task of this family that its schema cannot express."""

from __future__ import annotations

from collections.abc import Iterator

from t2ibench.errors import did_you_mean
from t2ibench.methods.core import checks
from t2ibench.methods.vibex.schema import VibexTask

_WORDS_EACH = 20  # reference words for each concept: Holm's p cannot fall below 1 / 20 with fewer


def check(task: VibexTask) -> Iterator[checks.Finding]:
    """What is wrong with a task that its schema cannot express."""
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
    yield from _reference(task)


def _reference(task: VibexTask) -> Iterator[checks.Finding]:
    at = ("reference",)
    words, template = task.reference.words, task.reference.template
    problems = list(checks.template(template, ["word"], (*at, "template")))
    yield from problems
    yield from checks.duplicates(words, (*at, "words"))
    asked = [concept for concept in task.concepts if concept.query == "forward"]
    needed = _WORDS_EACH * len(asked)
    if len(words) < needed:
        yield checks.Finding(
            (*at, "words"),
            f"{len(words)} reference words for {len(asked)} forward queries: with fewer than "
            f"{needed}, no concept can stand out after Holm's correction",
            warning=True,
        )
    if problems:
        return
    yield from checks.articles(task.reference.texts, (*at, "template"))
    meant = {concept.prompt for concept in asked} | {anchor.prompt for anchor in task.anchors}
    both = sorted(meant & set(task.reference.texts))
    if both:
        yield checks.Finding(
            (*at, "words"), f"the reference holds what is asked: {', '.join(map(repr, both))}"
        )
