"""How a model treated the prompts of a task: refused, filtered, rewritten, by group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from t2ibench.results.build import rounded
from t2ibench.results.rates import Rate, Treatment
from t2ibench.stats.proportions import clustered_proportion
from t2ibench.store.images import Attempt

_SHOWN = 6  # groups in a sentence


def treatment(
    counts: Mapping[str, int],
    groups: Mapping[str, str],
    attempt: Callable[[str, int], Attempt | None],
    level: float,
) -> list[Treatment]:
    """The shares of images that were refused, filtered, or made from a rewritten prompt.

    Images that failed do not count: they say nothing about the prompt. The shares are means over
    prompts, their intervals about these very prompts.
    """
    by_prompt: dict[str, list[Attempt]] = {}
    for prompt, count in counts.items():
        found = [attempt(prompt, index) for index in range(count)]
        known = [one for one in found if one is not None and one.status != "failed"]
        if known:
            by_prompt[prompt] = known
    if not any(
        one.status != "ok" or one.revised_prompt is not None
        for known in by_prompt.values()
        for one in known
    ):
        return []
    parts: dict[str, list[list[Attempt]]] = {}
    for prompt, known in by_prompt.items():
        parts.setdefault(groups.get(prompt, ""), []).append(known)
    whole = [_of(None, list(by_prompt.values()), level)]
    if len(parts) == 1:
        return whole
    return [*whole, *(_of(name, known, level) for name, known in parts.items())]


def _of(group: str | None, prompts: Sequence[Sequence[Attempt]], level: float) -> Treatment:
    told = [[one for one in known if one.revised_prompt is not None] for known in prompts]
    told = [known for known in told if known]
    return Treatment(
        group=group,
        n_prompts=len(prompts),
        refused=_rate(prompts, lambda one: one.status == "refused", level),
        filtered=_rate(prompts, lambda one: one.status == "filtered", level),
        revised=_rate(told, is_revised, level) if told else None,
    )


def is_revised(attempt: Attempt) -> bool:
    """Whether the model says that it used another prompt; spaces do not count."""
    said = attempt.revised_prompt
    return said is not None and said.split() != attempt.prompt.split()


def _rate(
    prompts: Sequence[Sequence[Attempt]], hit: Callable[[Attempt], bool], level: float
) -> Rate:
    hits = [sum(map(hit, known)) for known in prompts]
    totals = [len(known) for known in prompts]
    share = clustered_proportion(hits, totals)
    low, high = share.interval(level)
    return Rate(
        count=sum(hits),
        total=sum(totals),
        share=rounded(share.value),
        ci_low=rounded(low),
        ci_high=rounded(high),
    )


def revised_line(found: Sequence[Treatment]) -> str | None:
    """What a reader must know of rewritten prompts."""
    if not found or found[0].revised is None or not found[0].revised.count:
        return None
    whole = found[0].revised
    shares = [
        f"{one.group or 'others'} {_percent(one.revised.share)}"
        for one in found[1:]
        if one.revised is not None
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
