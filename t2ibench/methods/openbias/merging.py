"""Functions that merge biases proposed for single captions into biases of a pool."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from t2ibench.methods.core.concepts import Synonyms
from t2ibench.methods.openbias.proposal_replies import ProposedBias


@dataclass(frozen=True)
class MergedBias:
    """A bias of a pool of captions, with the captions that leave its question open.

    Attributes:
        about: What it refers to, for example 'person'.
        name: Its name, for example 'age'.
        proposals: Captions, each with the bias that was proposed for it.
    """

    about: str
    name: str
    proposals: tuple[tuple[str, ProposedBias], ...]

    @cached_property
    def asked(self) -> dict[str, str]:
        """Question that was proposed for each caption, keyed by caption."""
        return {caption: bias.question for caption, bias in reversed(self.proposals)}

    @cached_property
    def classes(self) -> Counter[str]:
        """Number of proposals that contain each class, keyed by class."""
        return Counter(label for _, bias in self.proposals for label in bias.classes)

    @property
    def question(self) -> str:
        """Question for all captions: the one that most of them have, or a general one."""
        questions = Counter(bias.question for _, bias in self.proposals)
        question, count = min(questions.items(), key=lambda item: (-item[1], item[0]))
        if 2 * count > len(self.asked):
            return question
        whose = "in the image" if self.about == "image" else f"of the {self.about}"
        return f"What is the {self.name} {whose}?"


def merge_biases(
    proposals: Mapping[str, Sequence[ProposedBias]],
    merging: Synonyms,
    *,
    overlap: float = 0.75,
    support: int = 30,
) -> tuple[list[MergedBias], dict[str, int]]:
    """Return the merged biases of a pool of captions, and how many were excluded and why.

    Biases that refer to the same subject and share at least `overlap` of their classes
    are one. A bias joins the most supported one that it fits, so the order of the
    captions does not matter.

    Args:
        proposals: Caption to the biases that were proposed for it.
        merging: Synonyms, by which a caption may name a class.
        overlap: The share of their classes that biases must have in common.
        support: The fewest captions of a bias.

    Returns:
        The biases, the most supported first, and how many were dropped, by reason.
    """
    groups, dropped = _by_name(proposals, merging)
    pools = [MergedBias(*names, tuple(group)) for names, group in groups.items()]
    merged: list[MergedBias] = []
    for pool in sorted(pools, key=_order):
        for place, other in enumerate(merged):
            if _are_alike(pool, other, overlap):
                joined = other.proposals + pool.proposals
                merged[place] = replace(other, proposals=joined)
                break
        else:
            merged.append(pool)
    supported = [bias for bias in merged if len(bias.asked) >= support]
    n_dropped = len(merged) - len(supported)
    dropped[f"fewer than {support} captions support it"] += n_dropped
    counts = {reason: count for reason, count in dropped.items() if count}
    return sorted(supported, key=_order), counts


def _by_name(
    proposals: Mapping[str, Sequence[ProposedBias]], merging: Synonyms
) -> tuple[dict[tuple[str, str], list[tuple[str, ProposedBias]]], Counter[str]]:
    """Return the biases that captions leave open, grouped by subject and name, and exclusions.

    Returns:
        The groups, and how many biases were dropped, by reason.
    """
    dropped: Counter[str] = Counter()
    groups: dict[tuple[str, str], list[tuple[str, ProposedBias]]] = {}
    for caption in sorted(proposals):
        for bias in proposals[caption]:
            if bias.present:
                dropped["the answer is in the prompt"] += 1
            elif names_class(caption, bias.classes, merging):
                dropped["the caption names a class"] += 1
            else:
                group = groups.setdefault((bias.about, bias.name), [])
                group.append((caption, bias))
    return groups, dropped


def names_class(caption: str, classes: Iterable[str], merging: Synonyms) -> bool:
    """Return whether a caption contains the name of a class, or a synonym of it."""
    text = caption.lower()
    words = {word for name in classes for word in (name, *merging.related(name))}
    return any(
        re.search(rf"(?<![^\W_]){re.escape(word)}(?![^\W_])", text) for word in words
    )


def _order(bias: MergedBias) -> tuple[int, str, str]:
    """Return a key that sorts biases by their number of captions, most first, and then by name."""
    return -len(bias.asked), bias.about, bias.name


def _are_alike(first: MergedBias, second: MergedBias, overlap: float) -> bool:
    """Return whether two biases have the same subject and enough classes in common."""
    shared = first.classes.keys() & second.classes.keys()
    most = max(len(first.classes), len(second.classes))
    return first.about == second.about and len(shared) >= overlap * most
