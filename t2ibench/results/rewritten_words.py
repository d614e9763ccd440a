"""Which group the rewritten prompts of a run name, as a lean of each stimulus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.methods.core.group_words import groups_named
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.wording_variance import stratum_of_wordings

_REWRITTEN = "revised_prompt"


@dataclass(frozen=True, slots=True)
class RewrittenWords:
    """What the rewritten prompts of images that were asked for without a group name.

    Attributes:
        parts: By stimulus, the share of its images whose rewritten prompt names the first group
            alone, less the share of those that name the second alone.
        first: Images whose rewritten prompt names the first group alone.
        second: Those that name the second alone.
        n_images: All images of the stimuli.
        n_rewritten: Those that were made from a rewritten prompt.
        n_prompts: By stimulus, how many prompts of the task it has.
    """

    parts: tuple[Part, ...]
    first: int
    second: int
    n_images: int
    n_rewritten: int
    n_prompts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _NamingImage:
    """One image: the prompt that was asked for, and which side its rewriting names.

    Attributes:
        prompt: The prompt of the task.
        index: Number of the image.
        side: 1 for the first group alone, -1 for the second alone, else 0.
    """

    prompt: str
    index: int
    side: float


def rewritten_words(
    samples: Iterable[Mapping[str, Any]], groups: tuple[str, str]
) -> RewrittenWords | None:
    """Return which groups rewritten prompts name; None where no prompt was rewritten.

    A stimulus's lean in these words is the mean over its prompts of the mean over their images: 2 P
    - 1 where a share P names the first group and all others the second, and an image whose text
    names neither or both counts as half of each.

    Args:
        samples: A row for each image without a group, with stimulus, prompt, index and, where its
            prompt was rewritten, that text.
        groups: The first group, to which a positive lean is, and the second.

    Examples:
        >>> rows = [
        ...     {"stimulus": "nurse", "prompt": "a nurse", "index": number, "revised_prompt": text}
        ...     for number, text in enumerate(["a male nurse", "a nurse", "a woman", "a nurse"])
        ... ]
        >>> words = rewritten_words(rows, ("male", "female"))
        >>> words.first, words.second, words.parts[0].value
        (1, 1, 0.0)
    """
    images: dict[str, list[_NamingImage]] = {}
    n_rewritten = 0
    for row in samples:
        text = row.get(_REWRITTEN)
        n_rewritten += text is not None
        image = _NamingImage(
            prompt=row["prompt"],
            index=row["index"],
            side=_side(text, groups) if text else 0.0,
        )
        images.setdefault(row["stimulus"], []).append(image)
    if not n_rewritten:
        return None
    sides = [image.side for of_stimulus in images.values() for image in of_stimulus]
    return RewrittenWords(
        parts=tuple(_part(name, named) for name, named in images.items()),
        first=sides.count(1.0),
        second=sides.count(-1.0),
        n_images=len(sides),
        n_rewritten=n_rewritten,
        n_prompts={
            name: len({image.prompt for image in named})
            for name, named in images.items()
        },
    )


def n_wordings_of(influence: Influence, stimulus: str) -> int:
    """Return in how many wordings a stimulus was asked for, from the influence on its lean.

    Where there are several, each of them is a unit of that influence.
    """
    name = stratum_of_wordings(stimulus)
    if name not in influence.strata:
        return 1
    return int((influence.stratum == influence.strata.index(name)).sum())


def _side(text: str, groups: tuple[str, str]) -> float:
    named = groups_named(text, groups)
    if len(named) != 1:
        return 0.0
    return 1.0 if groups[0] in named else -1.0


def _part(stimulus: str, images: Iterable[_NamingImage]) -> Part:
    """Return a stimulus's lean in rewritten words, with the influence of each image."""
    by_prompt: dict[str, list[_NamingImage]] = {}
    for image in images:
        by_prompt.setdefault(image.prompt, []).append(image)
    weight = 1.0 / len(by_prompt)
    means = []
    influences = []
    for prompt, of_prompt in by_prompt.items():
        sides = [image.side for image in of_prompt]
        numbers = [image.index for image in of_prompt]
        means.append(float(np.mean(sides)))
        influences.append((weight, Influence.of_mean(prompt, numbers, sides)))
    return Part(stimulus, float(np.mean(means)), Influence.combined(influences))
