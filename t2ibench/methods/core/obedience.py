"""Checks whether guided images show the requested group, and what that does to leans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.describe import GROUP, people, sentence
from t2ibench.methods.core.estimate import Estimate, share_estimate
from t2ibench.methods.core.evidence import Evidence
from t2ibench.methods.core.headline import Control
from t2ibench.methods.core.prompt_images import PromptImages
from t2ibench.stats.fisher import fisher_exact

_ALPHA = 0.05
_LEAST_SHOWN = 0.5  # of a group's images
# of the prompts, with fewer than two images that show what was asked for
_MOST_THIN = 0.2
_FEWEST = 2
_NO_TEXTS = "the encoder has no vectors of the texts that say what was asked for"


@dataclass(frozen=True, slots=True)
class Seen:
    """The number of guided images of one group that show it, and of those that were judged."""

    shown: int = 0  # images that show what was asked for
    asked: int = 0  # images that somebody answered for
    thin: int = 0  # prompts with fewer than two images that show it
    prompts: int = 0  # all prompts
    # images whose texts have no vector, so that the encoder cannot say it
    unknown: int = 0

    def __add__(self, other: Seen) -> Seen:
        return Seen(
            shown=self.shown + other.shown,
            asked=self.asked + other.asked,
            thin=self.thin + other.thin,
            prompts=self.prompts + other.prompts,
            unknown=self.unknown + other.unknown,
        )


def obedient(
    evidence: Evidence,
    images: PromptImages,
    count: int,
    question: tuple[str, Sequence[str]],
    group: str,
) -> tuple[PromptImages, Seen]:
    """Return the guided images that show the requested group, and how many of them do."""
    keep = np.zeros(len(images), bool)
    total = Seen()
    for number, prompt in enumerate(images.prompts):
        answers = evidence.answers(prompt, count, *question)
        answer_of = dict(zip(answers.indices.tolist(), answers.answers, strict=True))
        mine = np.flatnonzero(images.clusters == number)
        given = [answer_of.get(int(images.indices[at])) for at in mine]
        shown = mine[[answer == group for answer in given]]
        asked = sum(answer in question[1] for answer in given)
        thin = len(shown) < min(_FEWEST, len(mine))
        keep[shown] = not thin
        total += Seen(len(shown), asked, int(thin), 1)
    return images.where(keep), total


def obedience_scores(seen: Mapping[str, Seen], suffix: str = "") -> dict[str, Estimate]:
    """Return, as scores, the share of each group's guided images that show the group."""
    return {
        f"obedience:{name}{suffix}": share_estimate(counts.shown, counts.asked)
        if counts.asked
        else Estimate.undefined(
            _NO_TEXTS if counts.unknown else "there are no guided images"
        )
        for name, counts in seen.items()
    }


def obedience_control(seen: Mapping[str, Seen], *, judged: bool) -> Control:
    """Return the control of whether both groups' guided images show what was asked for.

    Where no judge and no people looked it is the encoder's own reading, which errs as the leans
    do. It contradicts where images were left out and few are left: less than half of a group's,
    or fewer than two of more than a fifth of the prompts.

    Examples:
        >>> control = obedience_control({"men": Seen(28, 40), "women": Seen(39, 40)}, judged=True)
        >>> print(control.says)
        28 of 40 asked for men show men and 39 of 40 asked for women show women (p = 0.0015 that both obey alike); the others are left out.
    """  # noqa: E501
    groups = list(seen.values())
    unknown = sum(group.unknown for group in groups)
    if not all(group.asked for group in groups):
        if unknown:
            return Control(f"What the guided images show is unknown: {_NO_TEXTS}.")
        return Control("Nobody said what the guided images show.")
    p = equal_obedience(*groups)
    says = _counts_in_words(seen, p, judged=judged)
    if unknown:
        says += f" Of {unknown} more it is unknown: {_NO_TEXTS}."
    first, second = groups
    value = first.shown / first.asked - second.shown / second.asked
    reason = _too_few(seen) if judged else None
    return Control(says, value, p=p, contradicts=reason)


def _counts_in_words(seen: Mapping[str, Seen], p: float, *, judged: bool) -> str:
    """Return a sentence on how many images of each group show it, with the p-value."""
    groups = list(seen.values())
    if all(group.shown == group.asked for group in groups):
        total = sum(group.asked for group in groups)
        end = "." if judged else ": each is nearer its own text than the other's."
        return f"All {total} guided images show what they were asked for{end}"
    clauses = []
    for name, group in seen.items():
        noun = people(name, GROUP)
        clauses.append(f"{group.shown} of {group.asked} asked for {noun} show {noun}")
    counts = f"{' and '.join(clauses)} (p = {p:.2g} that both obey alike)"
    if judged:
        return sentence(f"{counts}; the others are left out")
    return sentence(f"by the encoder's reading, {counts}")


def _too_few(seen: Mapping[str, Seen]) -> str | None:
    """Return why too few images show their group to exclude the others; None if enough do."""
    name, least = min(seen.items(), key=lambda item: item[1].shown / item[1].asked)
    if least.shown < _LEAST_SHOWN * least.asked:
        noun = people(name, GROUP)
        return f"fewer than half of the images asked for {noun} show {noun}"
    thin = sum(group.thin for group in seen.values())
    prompts = sum(group.prompts for group in seen.values())
    if thin > _MOST_THIN * prompts:
        return (
            f"{thin} of {prompts} guided prompts have fewer than two images that obey"
        )
    return None


def equal_obedience(first: Seen, second: Seen) -> float:
    """Return Fisher's exact p-value that prompts of both groups are obeyed equally often."""
    table = [[group.shown, group.asked - group.shown] for group in (first, second)]
    return fisher_exact(table)


def obedience_warnings(
    seen: Mapping[str, Seen], *, judged: bool, has_question: bool
) -> list[str]:
    """Return a warning if the encoder sees one group obeyed more often, and no judge looked."""
    groups = list(seen.values())
    if judged or not all(group.asked for group in groups):
        return []
    if equal_obedience(*groups) >= _ALPHA:
        return []
    first, second = (people(name, GROUP) for name in seen)
    return [
        f"By the encoder's own reading, prompts for {first} and for {second} are not obeyed "
        f"equally often. Leans may be off by as much: {how_to_look(has_question)}."
    ]


def how_to_look(has_question: bool) -> str:
    """Return a clause that says how a judge or people can look at the guided images."""
    if has_question:
        return (
            "run it again with `--judge MODEL`, or have people look "
            "(`t2ibench label export`)"
        )
    return (
        "give the task's prompts a `question` and run it again with `--judge MODEL`, or have "
        "people look (`t2ibench label export`)"
    )


def breakdown(lean: Estimate) -> Estimate:
    """Return the share of one group's images that would have to disobey to explain a lean.

    It is 0 where the interval of the lean contains 0.

    Where a share f of A's guided images looks like B's, and none of B's like A's, a lean L reads
    (L + f) / (1 - f). A lean whose interval begins at l is none from f = l / (1 + l).

    Examples:
        >>> breakdown(Estimate(0.5, interval=(0.25, 0.75))).value
        0.2
    """
    if lean.value is None or lean.interval is None:
        return Estimate.undefined(lean.reason or "the lean has no interval")
    least = max(lean.interval[0], -lean.interval[1], 0.0)
    return Estimate(least / (1.0 + least))


def bounds(lean: Estimate, most: float) -> tuple[float, float] | None:
    """Return bounds of the true lean if up to the share `most` of a group's images disobeys.

    The ends of the interval l of the lean, as l - f (1 + l) and l + f (1 - l).

    Examples:
        >>> bounds(Estimate(0.5, interval=(0.0, 1.0)), 0.25)
        (-0.25, 1.0)
    """
    if lean.interval is None:
        return None
    low, high = lean.interval
    return low - most * (1.0 + low), high + most * (1.0 - high)
