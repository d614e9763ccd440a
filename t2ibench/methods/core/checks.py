"""What every family's checks are made of: overlaps, duplicates, placeholders, articles.

A check looks for what a run would trip over and the schema cannot say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from t2ibench.errors import did_you_mean, nearest
from t2ibench.methods.core.prompts import fill, placeholders, wrong_articles
from t2ibench.methods.core.schema import GuidedPrompts, Warned

Location = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a task.

    Attributes:
        at: Where in the file: keys and list positions from the top.
        message: What is wrong, what was expected, the nearest spelling.
        warning: Whether a run may go on all the same.
        kind: What `expected_warnings` calls it, where it can be meant.
    """

    at: Location
    message: str
    warning: bool = False
    kind: Warned | None = None


def duplicates(words: Iterable[str], at: Location) -> Iterator[Finding]:
    """Words that are given more than once."""
    repeated = [word for word, count in Counter(words).items() if count > 1]
    if repeated:
        yield Finding(at, f"words given more than once: {', '.join(map(repr, repeated))}")


def overlap(
    first: Sequence[str], second: Sequence[str], names: tuple[str, str], at: Location
) -> Iterator[Finding]:
    """Words that two sets share, whatever their case."""
    both = sorted({word.lower() for word in first} & {word.lower() for word in second})
    if both:
        yield Finding(at, f"{names[0]} and {names[1]} share words: {', '.join(map(repr, both))}")


def sizes(
    first: Sequence[str], second: Sequence[str], names: tuple[str, str], at: Location
) -> Iterator[Finding]:
    """Sets of unequal size, as a warning."""
    if len(first) != len(second):
        yield Finding(
            at,
            f"{names[0]} has {len(first)} words, {names[1]} has {len(second)}; "
            "the published tests use sets of equal size",
            warning=True,
            kind="unequal_sizes",
        )


def template(text: str, wanted: Sequence[str], at: Location) -> Iterator[Finding]:
    """Placeholders that a template lacks, and those that nobody fills."""
    found = placeholders(text)
    meant = set()  # a misspelt placeholder is one problem, not two
    for name in found:
        if name not in wanted:
            meant.add(nearest(name, wanted))
            known = ", ".join(f"'{{{each}}}'" for each in wanted)
            yield Finding(
                at,
                f"unknown placeholder '{{{name}}}'.{did_you_mean(name, wanted)} Known: {known}.",
            )
    for name in wanted:
        if name not in found and name not in meant:
            yield Finding(at, f"the template lacks the placeholder '{{{name}}}'")
    if text.count("{") != text.count("}"):
        yield Finding(at, "the template has an unmatched brace")


def articles(prompts: Iterable[str], at: Location) -> Iterator[Finding]:
    """Prompts such as 'a engineer', as a warning."""
    wrong = sorted({place for prompt in prompts for place in wrong_articles(prompt)})
    if wrong:
        shown = ", ".join(repr(place) for place in wrong[:4])
        more = f" and {len(wrong) - 4} more" if len(wrong) > 4 else ""
        message = f"wrong article: {shown}{more}; '{{a stimulus}}' puts the right one in"
        yield Finding(at, message, warning=True, kind="articles")


def guided(
    prompts: GuidedPrompts, stimuli: Sequence[str], attributes: Sequence[str]
) -> Iterator[Finding]:
    """A neutral and a guided template, and the articles of what they make."""
    templates = [
        *template(prompts.neutral, ["stimulus"], ("prompts", "neutral")),
        *template(prompts.guided, ["stimulus", "attribute"], ("prompts", "guided")),
    ]
    yield from templates
    if templates:
        return
    yield from articles(
        (fill(prompts.neutral, stimulus=word) for word in stimuli), ("prompts", "neutral")
    )
    pairs = [(word, attributes[0]) for word in stimuli]
    pairs += [(stimuli[0], word) for word in attributes]
    yield from articles(
        (fill(prompts.guided, stimulus=one, attribute=other) for one, other in pairs),
        ("prompts", "guided"),
    )
