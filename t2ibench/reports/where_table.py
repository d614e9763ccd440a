"""Table of where a lean comes from, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from t2ibench.decimals import p_value
from t2ibench.reports.cells import ends, number
from t2ibench.reports.where_sentences import (
    ABOUT,
    PART_NAMES,
    named_groups,
    where_sentences,
)
from t2ibench.reports.writers import Table
from t2ibench.results.contrast import Contrast
from t2ibench.results.json_record import rounded
from t2ibench.results.rewritten_words import RewrittenWords
from t2ibench.results.schema import Score
from t2ibench.results.where import Finding, LeanSource, Where

_WORDS = "texts of the prompts"


@dataclass(frozen=True, slots=True)
class WhereRecord:
    """One number of where a lean comes from as a record; None stands for what is unknown.

    Attributes:
        where: The texts, the images of a run, or the words of its rewriter.
        quantity: What is measured.
        value: Its value.
        ci_low: Lower end of its interval.
        ci_high: Upper end.
        p: Its p-value.
        p_holm: The same after Holm's correction.
        clear: Whether that is below 1 − level; None where it decides nothing.
    """

    where: str
    quantity: str
    value: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    clear: bool | None = None


def where_table(result: Where) -> Table:
    """Return a table with a row for each number of each run."""
    records = list(where_records(result))
    first, second = named_groups(result)
    level = f"{100 * result.level:g} % CI"
    notes = [
        f"{result.task}: above 0 is nearer to {first}, below 0 nearer to {second}.",
        *where_sentences(result),
        ABOUT,
    ]
    return Table(
        ("Where", "What", "Value", level, "p", "p (Holm)", "Clear"),
        _rows(records),
        notes,
        [asdict(record) for record in records],
    )


def _rows(records: list[WhereRecord]) -> list[list[str]]:
    rows = []
    previous = ""
    for record in records:
        place = "" if record.where == previous else record.where
        previous = record.where
        clear = {None: "", True: "clear", False: "not clear"}[record.clear]
        interval = ends(record.ci_low, record.ci_high)
        p_values = p_value(record.p), p_value(record.p_holm)
        value = number(record.value)
        rows.append([place, record.quantity, value, interval, *p_values, clear])
    return rows


def where_records(result: Where) -> Iterator[WhereRecord]:
    """Yield a record for each number: of the texts, and of each run and its rewriter."""
    words = result.sources[0].split.words
    spread = float(np.std(words, ddof=1))
    yield WhereRecord(_WORDS, "standard deviation of leans", rounded(spread))
    for source in result.sources:
        yield from _of_images(source)
        yield from _of_changes(result, source)
        if source.rewritten is not None:
            yield from _of_rewriter(result, source, source.rewritten)


def _of_images(source: LeanSource) -> Iterator[WhereRecord]:
    split = source.split
    place = f"images of {source.name}"
    findings = {finding.name: finding for finding in source.findings}
    yield _of_score(place, "mean squared lean", split.total)
    yield _of_score(place, f"· {PART_NAMES['common']}", split.common)
    yield _of_score(place, f"· {PART_NAMES['following']}", split.following)
    beside = f"· {PART_NAMES['beside']}"
    yield _of_score(place, beside, split.beside, findings["beside"])
    yield _of_contrast(place, "mean lean", split.mean, findings["mean"])
    slope = "slope on the words' leans, these prompts"
    yield _of_contrast(place, slope, split.slope, findings["slope"])
    others = "slope, other prompts like these"
    yield _of_contrast(place, others, split.slope_of_others)
    order = split.order
    tau = Score(
        value=_finite(order.tau),
        ci_low=_finite(order.low),
        ci_high=_finite(order.high),
        p=_finite(order.p),
    )
    yield _of_score(place, "order shared with the words (Kendall's tau)", tau)


def _of_changes(result: Where, source: LeanSource) -> Iterator[WhereRecord]:
    change = source.change
    if change is None:
        return
    place = f"images of {source.name} less {result.sources[0].name}"
    findings = {finding.name: finding for finding in source.changes}
    yield _of_contrast(place, "mean lean", change.mean, findings["change_of_mean"])
    slope = "slope on the words' leans"
    yield _of_contrast(place, slope, change.slope, findings["change_of_slope"])
    beside = f"root of what lies {PART_NAMES['beside']}"
    yield _of_contrast(place, beside, change.beside, findings["change_of_beside"])
    shift = "root mean square by which single prompts move"
    yield _of_score(place, shift, change.shift)


def _of_rewriter(
    result: Where, source: LeanSource, words: RewrittenWords
) -> Iterator[WhereRecord]:
    place = f"rewritten prompts of {source.name}"
    total = words.n_images
    for group, count in zip(named_groups(result), (words.first, words.second), strict=True):
        yield WhereRecord(
            place, f"share that names {group} alone", rounded(count / total)
        )
    leans = np.array([part.value for part in words.parts])
    yield WhereRecord(place, "mean lean of the words", rounded(float(leans.mean())))
    root = math.sqrt(float((leans**2).mean()))
    yield WhereRecord(place, "root mean square over prompts", rounded(root))
    if source.added is None:
        return
    place = f"images of {source.name} less its rewritten prompts"
    findings = {finding.name: finding for finding in source.changes}
    yield _of_contrast(place, "mean lean", source.added.mean, findings["added_mean"])
    yield _of_score(place, "mean square", source.added.square, findings["added"])


def _of_score(
    place: str, quantity: str, score: Score, finding: Finding | None = None
) -> WhereRecord:
    return WhereRecord(
        place,
        quantity,
        rounded(score.value),
        rounded(score.ci_low),
        rounded(score.ci_high),
        rounded(score.p),
        None if finding is None else rounded(finding.p_holm),
        None if finding is None else finding.clear,
    )


def _of_contrast(
    place: str, quantity: str, contrast: Contrast, finding: Finding | None = None
) -> WhereRecord:
    score = Score(
        value=contrast.value,
        ci_low=contrast.low,
        ci_high=contrast.high,
        p=contrast.p,
    )
    return _of_score(place, quantity, score, finding)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
