"""Records in results.json of shares of images, diversity, and agreement with prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from t2ibench.stats import holm
from t2ibench.stats.clusters import clustered_proportion
from t2ibench.store.distinct import REPEATED
from t2ibench.store.images import Attempt

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _ModelMetaclass
else:
    _ModelMetaclass = type(BaseModel)

# More digits than any score means, and well above what another processor's arithmetic moves.
_DIGITS = 9


def rounded(value: float | None) -> float | None:
    """Round to nine significant digits."""
    if value is None or not np.isfinite(value):
        return None
    return float(f"{value:.{_DIGITS}g}")


# What every model of pydantic has; it stays there, and is not what somebody looks for in a result.
_OF_EVERY_MODEL = frozenset(name for name in dir(BaseModel) if not name.startswith("_"))


class _ListsItsMembers(_ModelMetaclass):
    """Metaclass whose `dir` lists only the members of a record, for notebook completion."""

    def __dir__(cls) -> list[str]:
        return sorted(set(super().__dir__()) - _OF_EVERY_MODEL)


class Record(BaseModel, metaclass=_ListsItsMembers):
    """Base of every part of results.json; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    def __dir__(self) -> list[str]:
        """Return the names of the record's fields and methods, without those of pydantic."""
        return sorted(set(super().__dir__()) - _OF_EVERY_MODEL)


class Rate(Record):
    """A share of images, with an interval for the given prompts.

    Attributes:
        count: Images.
        total: Of so many.
        share: Mean over prompts of their shares.
        ci_low: Lower end of the confidence interval.
        ci_high: Upper end.
    """

    count: int
    total: int
    share: float | None
    ci_low: float | None
    ci_high: float | None


class PromptOutcomes(Record):
    """Outcomes of a model's image requests by prompt; failed images do not count.

    Attributes:
        group: What the prompts stand for; null for all prompts of the task.
        n_prompts: Prompts.
        refused: Images that the model refused to make.
        filtered: Images that a filter took.
        revised: Images made from a prompt that the model had rewritten, of those of which it says
            what prompt it used; null where it says that of none.
    """

    group: str | None = None
    n_prompts: int
    refused: Rate
    filtered: Rate
    revised: Rate | None = None


class PromptDifference(Record):
    """Difference in prompt agreement between one group's images and those of all other groups.

    Attributes:
        value: Difference of the mean cosines.
        ci_low: Lower end of its confidence interval.
        ci_high: Upper end.
        p: p-value that there is none.
        p_holm: Adjusted over the groups of all tasks of the run (Holm), encoder by encoder.
    """

    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_holm: float | None = None


class TextImageAlignment(Record):
    """Agreement of images with their prompts: the mean cosine of image and prompt.

    Attributes:
        group: What the prompts stand for; null for all prompts of the task.
        value: Mean over prompts of the mean over their images.
        ci_low: Lower end of its confidence interval.
        ci_high: Upper end.
        question: What the interval is about: 'prompt_population', prompts like these, or
            'fixed_prompts', these with other images, where all share a stimulus; null without one.
        n_prompts: Prompts.
        n_images: Images.
        difference: Of a group from the others; null for all prompts, and where a side has fewer
            than two stimuli. Of two groups, the first has it.
    """

    group: str | None = None
    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    question: Literal["fixed_prompts", "prompt_population"] | None = None
    n_prompts: int
    n_images: int
    difference: PromptDifference | None = None


def adjust_agreements(
    tasks: Sequence[Mapping[str, Sequence[TextImageAlignment]]],
) -> None:
    """Adjust the p-values of differences between groups over a run, for each encoder."""
    for encoder in {encoder for task in tasks for encoder in task}:
        parts = [part for task in tasks for part in task.get(encoder, ())]
        differences = [part.difference for part in parts if part.difference is not None]
        p_values = holm([difference.p for difference in differences])
        for difference, p in zip(differences, p_values, strict=True):
            difference.p_holm = None if p is None else float(f"{p:.12g}")


class Diversity(Record):
    """Diversity of images of one prompt: 1 minus the mean cosine of two different images.

    Attributes:
        group: What the prompts stand for; null for all prompts of the task.
        value: Mean over prompts.
        ci_low: Lower end of its confidence interval, about these very prompts.
        ci_high: Upper end.
        n_prompts: Prompts with two distinct images or more.
        n_images: Their images.
        lowest_prompt: The prompt whose images differ least.
        lowest: How much they differ.
    """

    group: str | None = None
    value: float | None
    ci_low: float | None = None
    ci_high: float | None = None
    n_prompts: int
    n_images: int
    lowest_prompt: str
    lowest: float | None


_SHOWN = 6  # groups in a sentence


_UNMADE = {"refused", "filtered"}


def prompt_outcomes(
    counts: Mapping[str, int],
    groups: Mapping[str, str],
    first: Callable[[str, int], Sequence[Attempt | None]],
    level: float,
) -> list[PromptOutcomes]:
    """Return the shares of images that were refused, filtered or made from a rewritten prompt.

    Images that failed do not count: they say nothing about the prompt. `first` gives the first n
    images of a prompt.
    """
    by_prompt: dict[str, list[Attempt]] = {}
    for prompt, count in counts.items():
        attempts = first(prompt, count)
        made = [
            attempt
            for attempt in attempts
            if attempt is not None and attempt.status != "failed"
        ]
        if made:
            by_prompt[prompt] = made
    if not any(
        attempt.status in _UNMADE or attempt.revised_prompt is not None
        for attempts in by_prompt.values()
        for attempt in attempts
    ):
        return []
    parts: dict[str, list[list[Attempt]]] = {}
    for prompt, made in by_prompt.items():
        parts.setdefault(groups.get(prompt, ""), []).append(made)
    whole = [_of(None, list(by_prompt.values()), level)]
    if len(parts) == 1:
        return whole
    return [*whole, *(_of(name, prompts, level) for name, prompts in parts.items())]


def _of(
    group: str | None, prompts: Sequence[Sequence[Attempt]], level: float
) -> PromptOutcomes:
    rewritten = [
        [attempt for attempt in attempts if attempt.revised_prompt is not None]
        for attempts in prompts
    ]
    rewritten = [attempts for attempts in rewritten if attempts]
    return PromptOutcomes(
        group=group,
        n_prompts=len(prompts),
        refused=_rate(prompts, lambda attempt: attempt.status == "refused", level),
        filtered=_rate(prompts, lambda attempt: attempt.status == "filtered", level),
        revised=_rate(rewritten, is_revised, level) if rewritten else None,
    )


def is_revised(attempt: Attempt) -> bool:
    """Return whether the model reports another prompt than the requested one, up to spaces."""
    revised_prompt = attempt.revised_prompt
    return (
        revised_prompt is not None and revised_prompt.split() != attempt.prompt.split()
    )


def _rate(
    prompts: Sequence[Sequence[Attempt]], hit: Callable[[Attempt], bool], level: float
) -> Rate:
    hits = [sum(map(hit, attempts)) for attempts in prompts]
    totals = [len(attempts) for attempts in prompts]
    share = clustered_proportion(hits, totals)
    low, high = share.interval(level)
    return Rate(
        count=sum(hits),
        total=sum(totals),
        share=rounded(share.value),
        ci_low=rounded(low),
        ci_high=rounded(high),
    )


def revised_line(outcomes: Sequence[PromptOutcomes]) -> str | None:
    """Return a note on rewritten prompts, or None."""
    if not outcomes or outcomes[0].revised is None or not outcomes[0].revised.count:
        return None
    whole = outcomes[0].revised
    shares = [
        f"{outcome.group or 'others'} {_percent(outcome.revised.share)}"
        for outcome in outcomes[1:]
        if outcome.revised is not None
    ]
    more = f" and {len(shares) - _SHOWN} more groups" if len(shares) > _SHOWN else ""
    by_group = f"; {', '.join(shares[:_SHOWN])}{more}" if shares else ""
    return (
        f"the model rewrote the prompts of {whole.count} of {whole.total} images "
        f"({_percent(whole.share)}, interval {_percent(whole.ci_low)} to "
        f"{_percent(whole.ci_high)}{by_group}), so the result is about its rewriting too."
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


_NAMED = 3  # prompts in a sentence
# distinct images that show how much images vary; intervals of two cover .87 to .92
_LEAST = 3
# of a prompt's images, and of the prompts: then it is the generator, not chance
_MANY = 0.5


class RepeatedPrompt(Record):
    """A prompt with several images of identical content, which count once.

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
    """Sort repeated prompts by their share of distinct images, smallest first."""
    return sorted(
        prompts, key=lambda prompt: (prompt.n_distinct / prompt.n_images, prompt.prompt)
    )


def too_few(prompts: Sequence[RepeatedPrompt], groups: Mapping[str, str]) -> str | None:
    """Return why a test is inconclusive if most prompts of a group have few distinct images."""
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
    """Return a note on repeated images, or None."""
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
