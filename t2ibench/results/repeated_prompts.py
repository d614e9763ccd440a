"""Prompts of which a model made the same image several times, which then counts once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from t2ibench.results.json_record import Record
from t2ibench.store.distinct import REPEATED
from t2ibench.store.images import Attempt

_NAMED = 3  # prompts in a sentence
# distinct images that show how much images vary; intervals of two cover .87 to .92
_LEAST = 3
# of a prompt's images, and of the prompts: then it is the generator, not chance
_MANY = 0.5


class RepeatedPrompt(Record):
    """A prompt of which several images have the same content, which count as one.

    Attributes:
        prompt: The prompt.
        n_images: Images that the model made of it.
        n_distinct: Distinct ones.
    """

    prompt: str
    n_images: int
    n_distinct: int


def repeated_prompts(
    counts: Mapping[str, int], first: Callable[[str, int], Sequence[Attempt | None]]
) -> list[RepeatedPrompt]:
    """Return prompts with repeated images, the smallest share of distinct images first."""
    repeated_prompts = []
    for prompt, count in counts.items():
        statuses = [
            attempt.status for attempt in first(prompt, count) if attempt is not None
        ]
        distinct, repeated = statuses.count("ok"), statuses.count(REPEATED)
        if repeated:
            repeated_prompts.append(
                RepeatedPrompt(
                    prompt=prompt, n_images=distinct + repeated, n_distinct=distinct
                )
            )
    return by_share(repeated_prompts)


def by_share(prompts: Iterable[RepeatedPrompt]) -> list[RepeatedPrompt]:
    """Return prompts sorted by their share of distinct images, the smallest first."""
    return sorted(
        prompts, key=lambda prompt: (prompt.n_distinct / prompt.n_images, prompt.prompt)
    )


def too_few(prompts: Sequence[RepeatedPrompt], groups: Mapping[str, str]) -> str | None:
    """Return why a test has too few distinct images to conclude anything; None if it has enough.

    It is None if fewer prompts of every group have few distinct images.
    """
    few = Counter(
        groups[prompt.prompt] for prompt in prompts if prompt.n_distinct < _LEAST
    )
    sizes = Counter(groups.values())
    if not any(count >= _MANY * sizes[group] for group, count in few.items()):
        return None
    return (
        f"{few.total()} of {len(groups)} prompts have fewer than {_LEAST} distinct images, too few "
        "to show how much images vary"
    )


def repeats_line(
    prompts: Sequence[RepeatedPrompt], counts: Mapping[str, int]
) -> str | None:
    """Return a note on prompts whose images repeat; None if there are none."""
    if not prompts:
        return None
    several = sum(count > 1 for count in counts.values())
    named = ", ".join(
        f"{prompt.n_distinct} distinct of {prompt.n_images} of '{prompt.prompt}'"
        for prompt in prompts[:_NAMED]
    )
    more = f" and {len(prompts) - _NAMED} more" if len(prompts) > _NAMED else ""
    # Of a generator that does not look at seeds most images repeat; of a folder a few may.
    same = sum(prompt.n_distinct <= _MANY * prompt.n_images for prompt in prompts)
    cause = "the generator seems to ignore seeds: " if same >= _MANY * several else ""
    return (
        f"{cause}{len(prompts)} of {several} prompts repeat their images ({named}{more}). "
        "Each distinct image counts once."
    )
