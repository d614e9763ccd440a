"""The combination of the results of several judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from t2ibench.methods.core.answer_counts import KEY, mean_counts
from t2ibench.methods.core.averages import (
    average_results,
    bounded_mean,
    untested_shares,
)
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.methods.tibet.headline import headline_of_squared_leans, row_of_part
from t2ibench.methods.tibet.schema import TibetTask
from t2ibench.methods.tibet.squared_lean import mean_squared_lean
from t2ibench.settings import Settings


def combine(
    task: TibetTask, results: Sequence[MethodResult], settings: Settings
) -> MethodResult:
    """Return the result of a TIBET task averaged over judges."""
    if len(results) == 1 or any(result.reason for result in results):
        return average_results(results, settings.level)
    prompts = {name: target.prompt for name, (target, _) in task.rows.items()}
    headlines = [result.headline for result in results]
    headline = headline_over_judges(headlines, prompts, settings.level)
    # Rows that judges do not share have no mean, so the headlines are not averaged again.
    no_headline = HeadlineEstimate.undefined("see headline_over_judges", "mean_square")
    without_headlines = [replace(result, headline=no_headline) for result in results]
    mean = average_results(without_headlines, settings.level)
    mean = replace(mean, headline=headline)
    if headline.value is not None and any(map(_allows_alternatives, results)):
        mean = bounded_mean(mean, results, settings.level)
    counts = mean_counts([result.details for result in results])
    return replace(
        mean, details={**mean.details, KEY: counts}, by=untested_shares(mean.by)
    )


def _allows_alternatives(result: MethodResult) -> bool:
    """Return whether a judge's answers allow several mixtures, according to its `details`."""
    obedience = result.details.get("obedience", ())
    another_named = any(row["another_named"] for row in obedience)
    return another_named or "unanswered" in result.details


def headline_over_judges(
    headlines: Sequence[HeadlineEstimate], prompts: Mapping[str, str], level: float
) -> HeadlineEstimate:
    """Return the headline over judges: leans are averaged over judges, then squared and averaged.

    Args:
        headlines: One of each judge.
        prompts: The prompt of each row, by its name.
        level: Confidence level, in (0, 1).
    """
    tables = [_leans_by_part(headline) for headline in headlines]
    names = [name for name in tables[0] if all(name in table for table in tables)]
    if not names:
        reasons = [headline.reason for headline in headlines if headline.reason]
        reason = reasons[0] if reasons else "the judges decide different rows"
        return HeadlineEstimate.undefined(reason, "mean_square")
    n_rows = len({row_of_part(name) for name in names})
    scale = float(np.sqrt(len(names) / n_rows))
    parts = tuple(
        _mean_part(name, [table[name] for table in tables], scale) for name in names
    )
    squared_leans = _squared_leans(parts, scale)
    mean_square = mean_squared_lean(
        [part.value / scale for part in parts],
        [part.influence.scaled(1.0 / scale) for part in parts],
        n_rows,
        level,
        value=float(np.mean(list(squared_leans.values()))),
    )
    prompts_and_squares = [
        (prompts[row], squared_lean) for row, squared_lean in squared_leans.items()
    ]
    return headline_of_squared_leans(mean_square, parts, prompts_and_squares, level)


def _squared_leans(parts: Sequence[Part], scale: float) -> dict[str, float]:
    """Return the unbiased squared lean of each row, keyed by the row's name."""
    squared_leans: dict[str, float] = {}
    for part in parts:
        moves = part.influence.value[part.influence.unit != FLOOR]
        unbiased = (part.value**2 - float((moves**2).sum())) / scale**2
        row = row_of_part(part.name)
        squared_leans[row] = squared_leans.get(row, 0.0) + unbiased
    return squared_leans


def _leans_by_part(headline: HeadlineEstimate) -> dict[str, tuple[float, Influence]]:
    """Return a judge's leans and their influences, keyed by the names of the headline's parts."""
    n_rows = len({row_of_part(part.name) for part in headline.parts})
    factor = float(np.sqrt(n_rows / max(len(headline.parts), 1)))
    return {
        part.name: (part.value * factor, part.influence.scaled(factor))
        for part in headline.parts
    }


def _mean_part(
    name: str, leans: Sequence[tuple[float, Influence]], scale: float
) -> Part:
    """Return one lean averaged over judges, as a part of the headline."""
    weight = scale / len(leans)
    return Part(
        name=name,
        value=scale * float(np.mean([value for value, _ in leans])),
        influence=Influence.combined([(weight, influence) for _, influence in leans]),
    )
