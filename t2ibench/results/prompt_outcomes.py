"""What became of image requests: shares refused, filtered, or made from a rewritten prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from pydantic import Field

from t2ibench.results.json_record import Record, rounded
from t2ibench.stats.clusters import clustered_proportion
from t2ibench.store.images import Attempt
from t2ibench.store.refusals import categories_of

_SHOWN = 6  # groups in a sentence
_UNMADE = {"refused", "filtered"}


class Rate(Record):
    """A share of images, with an interval that is about exactly these prompts.

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
    """What became of the image requests of a group of prompts; failed images do not count.

    Attributes:
        group: What the prompts stand for; null for all prompts of the task.
        n_prompts: Prompts.
        refused: Images that the model refused to make.
        filtered: Images that a filter took.
        revised: Images made from a prompt that the model had rewritten, of those of which it says
            what prompt it used; null where it says that of none.
        categories: Images refused or filtered, by the category that the server's filter named.
    """

    group: str | None = None
    n_prompts: int
    refused: Rate
    filtered: Rate
    revised: Rate | None = None
    categories: dict[str, int] = Field(default_factory=dict)


def prompt_outcomes(
    counts: Mapping[str, int],
    groups: Mapping[str, str],
    first: Callable[[str, int], Sequence[Attempt | None]],
    level: float,
) -> list[PromptOutcomes]:
    """Return what became of image requests, overall and per group; empty if all went as asked.

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
        categories=_categories(prompts),
    )


def _categories(prompts: Sequence[Sequence[Attempt]]) -> dict[str, int]:
    """Return how many images a filter declined for each category that it named."""
    counts = Counter(
        category
        for attempts in prompts
        for attempt in attempts
        for category in categories_of(attempt.reason)
    )
    return dict(sorted(counts.items()))


def is_revised(attempt: Attempt) -> bool:
    """Return whether the model says that it changed the prompt, other than in its spaces."""
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


def revised_line(outcomes: Sequence[PromptOutcomes], request: str = "") -> str | None:
    """Return a note on how many prompts the model rewrote; None if it rewrote none.

    With a `request` that was added to them, it is about that.
    """
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
    if request:
        return (
            f"'{request}' was added to the prompts of {whole.count} of {whole.total} images, "
            "so the result is about that request too."
        )
    return (
        f"the model rewrote the prompts of {whole.count} of {whole.total} images "
        f"({_percent(whole.share)}, interval {_percent(whole.ci_low)} to "
        f"{_percent(whole.ci_high)}{by_group}), so the result is about its rewriting too."
    )


def categories_line(outcomes: Sequence[PromptOutcomes]) -> str | None:
    """Return a note on the categories that a server's filter named; None if it named none."""
    if not outcomes or not outcomes[0].categories:
        return None
    parts = []
    for category, count in outcomes[0].categories.items():
        by_group = [
            f"{outcome.group or 'others'} {outcome.categories[category]}"
            for outcome in outcomes[1:]
            if category in outcome.categories
        ]
        more = ", …" if len(by_group) > _SHOWN else ""
        groups = f" ({', '.join(by_group[:_SHOWN])}{more})" if by_group else ""
        parts.append(f"{category} {count}{groups}")
    return f"the server's filter named these categories: {'; '.join(parts)}."


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"
