"""Prompts whose images repeat one another, and what a reader is told of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from t2ibench.results.rates import Record
from t2ibench.store.distinct import REPEATED
from t2ibench.store.images import Attempt

_NAMED = 3  # prompts in a sentence
_LEAST = 3  # distinct images that show how much images vary; intervals of two cover .87 to .92
_MANY = 0.5  # of a prompt's images, and of the prompts: then it is the generator, not chance


class RepeatedPrompt(Record):
    """A prompt of which several images show one picture, which counts once.

    Attributes:
        prompt: The prompt.
        n_images: Images that the model made of it.
        n_distinct: Distinct ones.
    """

    prompt: str
    n_images: int
    n_distinct: int


def repeated_prompts(
    counts: Mapping[str, int], attempt: Callable[[str, int], Attempt | None]
) -> list[RepeatedPrompt]:
    """The prompts whose images repeat one another, those with the smallest share first.

    Args:
        counts: Prompt to images.
        attempt: What is known of an image (see `DistinctImages.get`).
    """
    found = []
    for prompt, count in counts.items():
        known = [one.status for k in range(count) if (one := attempt(prompt, k)) is not None]
        distinct, repeated = known.count("ok"), known.count(REPEATED)
        if repeated:
            found.append(
                RepeatedPrompt(prompt=prompt, n_images=distinct + repeated, n_distinct=distinct)
            )
    return sorted(found, key=lambda one: (one.n_distinct / one.n_images, one.prompt))


def too_few(found: Sequence[RepeatedPrompt], groups: Mapping[str, str]) -> str | None:
    """Why a test of embedded images decides nothing where most prompts have one image or two.

    Args:
        found: The prompts whose images repeat one another.
        groups: Every prompt to what it stands for: half of those of one group are enough.
    """
    few = Counter(groups[one.prompt] for one in found if one.n_distinct < _LEAST)
    sizes = Counter(groups.values())
    if not any(count >= _MANY * sizes[group] for group, count in few.items()):
        return None
    return (
        f"{few.total()} of {len(groups)} prompts have fewer than {_LEAST} distinct images, too few "
        "to show how much images vary"
    )


def repeats_line(found: Sequence[RepeatedPrompt], counts: Mapping[str, int]) -> str | None:
    """What a reader must know of images that repeat one another."""
    if not found:
        return None
    several = sum(count > 1 for count in counts.values())
    named = ", ".join(
        f"{one.n_distinct} distinct of {one.n_images} of '{one.prompt}'" for one in found[:_NAMED]
    )
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    # Of a generator that does not look at seeds most images repeat; of a folder a few may.
    same = sum(one.n_distinct <= _MANY * one.n_images for one in found)
    cause = "the generator seems to ignore seeds: " if same >= _MANY * several else ""
    return (
        f"{cause}{len(found)} of {several} prompts repeat their images ({named}{more}). "
        "Each distinct image counts once."
    )
