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
_WORDING = "wording"


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
        has_wordings: Whether each image's wording is known, so that each wording of a stimulus
            counts alike.
    """

    parts: tuple[Part, ...]
    first: int
    second: int
    n_images: int
    n_rewritten: int
    n_prompts: Mapping[str, int]
    has_wordings: bool = False


@dataclass(frozen=True, slots=True)
class _NamingImage:
    """One image: the prompt that was asked for, and which side its rewriting names.

    Attributes:
        prompt: The prompt of the task.
        index: Number of the image.
        side: 1 for the first group alone, -1 for the second alone, else 0.
        wording: Number of the wording that the prompt is of; None where it is not known.
    """

    prompt: str
    index: int
    side: float
    wording: int | None


def rewritten_words(
    samples: Iterable[Mapping[str, Any]], groups: tuple[str, str]
) -> RewrittenWords | None:
    """Return which groups rewritten prompts name; None where no prompt was rewritten.

    A stimulus's lean in these words is the mean over its wordings of the mean over their prompts of
    the mean over their images: 2 P - 1 where a share P names the first group and all others the
    second, and an image whose text names neither or both counts as half of each. Where a row lacks
    its wording, each prompt of the stimulus counts alike.

    Args:
        samples: A row for each image without a group, with stimulus, prompt, index, the number of
            its wording where the task has several, and, where its prompt was rewritten, that text.
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
    # Texts that several images have are read once.
    sides_of_texts: dict[str, float] = {}
    n_rewritten = 0
    for row in samples:
        text = row.get(_REWRITTEN) or ""
        n_rewritten += row.get(_REWRITTEN) is not None
        if text not in sides_of_texts:
            sides_of_texts[text] = _side(text, groups) if text else 0.0
        image = _NamingImage(
            prompt=row["prompt"],
            index=row["index"],
            side=sides_of_texts[text],
            wording=row.get(_WORDING),
        )
        images.setdefault(row["stimulus"], []).append(image)
    if not n_rewritten:
        return None
    shown = [image for of_stimulus in images.values() for image in of_stimulus]
    sides = [image.side for image in shown]
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
        has_wordings=all(image.wording is not None for image in shown),
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
    by_wording: dict[int | None, dict[str, list[_NamingImage]]] = {}
    for image in images:
        prompts = by_wording.setdefault(image.wording, {})
        prompts.setdefault(image.prompt, []).append(image)
    value = 0.0
    influences = []
    for prompts in by_wording.values():
        weight = 1.0 / (len(by_wording) * len(prompts))
        for prompt, of_prompt in prompts.items():
            sides = [image.side for image in of_prompt]
            numbers = [image.index for image in of_prompt]
            value += weight * float(np.mean(sides))
            influences.append((weight, Influence.of_mean(prompt, numbers, sides)))
    return Part(stimulus, value, Influence.combined(influences))
