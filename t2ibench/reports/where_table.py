"""Table of where a lean comes from, for people and for programs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from t2ibench.decimals import SCALE_DECIMALS, p_value, readable
from t2ibench.reports.cells import signed
from t2ibench.reports.where_sentences import (
    PART_NAMES,
    SMALL_DECIMALS,
    about,
    named_groups,
    where_sentences,
)
from t2ibench.reports.writers import Table
from t2ibench.results.contrast import Contrast
from t2ibench.results.corrected_tests import NamedTest
from t2ibench.results.json_record import rounded
from t2ibench.results.rewritten_words import RewrittenWords
from t2ibench.results.schema import Score
from t2ibench.results.where import LeanSource, Where

_WORDS = "texts of the prompts"
_SPREAD_OF_WORDS = "standard deviation of leans"
_TOTAL = "mean squared lean"
_MEAN = "mean lean"
_SLOPE = "slope on the words' leans"
_SLOPE_OF_OTHERS = "slope, other prompts like these"
_TAU = "order shared with the words (Kendall's tau)"
_ROOT_BESIDE = f"root of what lies {PART_NAMES['beside']}"
_SHIFT = "root mean square by which single prompts move"
_SHARE = "share that names "
_MEAN_OF_WORDS = "mean lean of the words"
_ROOT_OF_WORDS = "root mean square over prompts, chance of the rewritings included"
_ADDED_SQUARE = "mean square"
_UNSIGNED = {_SPREAD_OF_WORDS, _SHIFT, _ROOT_OF_WORDS}
_SQUARES = {_TOTAL, _ADDED_SQUARE, *(f"· {name}" for name in PART_NAMES.values())}
_SLOPES = {_SLOPE, f"{_SLOPE}, these prompts", _SLOPE_OF_OTHERS}


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
        about(result),
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
        value = _written(record.quantity, record.value)
        interval = _interval(record)
        p_values = p_value(record.p), p_value(record.p_holm)
        rows.append([place, record.quantity, value, interval, *p_values, clear])
    return rows


def _interval(record: WhereRecord) -> str:
    if record.ci_low is None or record.ci_high is None:
        return "–"
    low = _written(record.quantity, record.ci_low).lstrip("+")
    high = _written(record.quantity, record.ci_high).lstrip("+")
    return f"[{low}, {high}]"


def _written(quantity: str, value: float | None) -> str:
    """Return a value as its quantity is written: docs/reading.md has the rules."""
    if value is None:
        return "–"
    if quantity.startswith(_SHARE):
        return f"{readable(100 * value, 0)} %"
    if quantity in _SQUARES:
        return readable(value, SMALL_DECIMALS)
    if quantity in _SLOPES:
        return signed(value, SMALL_DECIMALS)
    if quantity in _UNSIGNED:
        return readable(value, SCALE_DECIMALS)
    return signed(value)


def where_records(result: Where) -> Iterator[WhereRecord]:
    """Yield a record for each number: of the texts, and of each run and its rewriter."""
    words = result.sources[0].split.words
    spread = float(np.std(words, ddof=1))
    yield WhereRecord(_WORDS, _SPREAD_OF_WORDS, rounded(spread))
    for source in result.sources:
        yield from _of_images(source)
        yield from _of_changes(result, source)
        if source.rewritten is not None:
            yield from _of_rewriter(result, source, source.rewritten)


def _of_images(source: LeanSource) -> Iterator[WhereRecord]:
    split = source.split
    place = f"images of {source.name}"
    findings = {finding.name: finding for finding in source.findings}
    yield _of_score(place, _TOTAL, split.total)
    yield _of_score(place, f"· {PART_NAMES['common']}", split.common)
    yield _of_score(place, f"· {PART_NAMES['following']}", split.following)
    beside = f"· {PART_NAMES['beside']}"
    yield _of_score(place, beside, split.beside, findings["beside"])
    yield _of_contrast(place, _MEAN, split.mean, findings["mean"])
    slope = f"{_SLOPE}, these prompts"
    yield _of_contrast(place, slope, split.slope, findings["slope"])
    yield _of_contrast(place, _SLOPE_OF_OTHERS, split.slope_of_others)
    order = split.order
    tau = Score(
        value=_finite(order.tau),
        ci_low=_finite(order.low),
        ci_high=_finite(order.high),
        p=_finite(order.p),
    )
    yield _of_score(place, _TAU, tau)


def _of_changes(result: Where, source: LeanSource) -> Iterator[WhereRecord]:
    change = source.change
    if change is None:
        return
    place = f"images of {source.name} less {result.sources[0].name}"
    findings = {finding.name: finding for finding in source.changes}
    yield _of_contrast(place, _MEAN, change.mean, findings["change_of_mean"])
    yield _of_contrast(place, _SLOPE, change.slope, findings["change_of_slope"])
    beside = findings["change_of_beside"]
    yield _of_contrast(place, _ROOT_BESIDE, change.beside, beside)
    yield _of_score(place, _SHIFT, change.shift)


def _of_rewriter(
    result: Where, source: LeanSource, words: RewrittenWords
) -> Iterator[WhereRecord]:
    place = f"rewritten prompts of {source.name}"
    total = words.n_images
    counts = (words.first, words.second)
    for group, count in zip(named_groups(result), counts, strict=True):
        yield WhereRecord(place, f"{_SHARE}{group} alone", rounded(count / total))
    leans = np.array([part.value for part in words.parts])
    yield WhereRecord(place, _MEAN_OF_WORDS, rounded(float(leans.mean())))
    root = math.sqrt(float((leans**2).mean()))
    yield WhereRecord(place, _ROOT_OF_WORDS, rounded(root))
    if source.added is None:
        return
    place = f"images of {source.name} less its rewritten prompts"
    findings = {finding.name: finding for finding in source.changes}
    yield _of_contrast(place, _MEAN, source.added.mean, findings["added_mean"])
    yield _of_score(place, _ADDED_SQUARE, source.added.square, findings["added"])


def _of_score(
    place: str, quantity: str, score: Score, finding: NamedTest[str] | None = None
) -> WhereRecord:
    """Return a record; a finding without a p-value decides nothing, whatever the score's is."""
    decides = finding is not None and finding.p is not None
    return WhereRecord(
        place,
        quantity,
        rounded(score.value),
        rounded(score.ci_low),
        rounded(score.ci_high),
        rounded(score.p) if decides or finding is None else None,
        rounded(finding.p_holm) if finding is not None else None,
        finding.clear if finding is not None and decides else None,
    )


def _of_contrast(
    place: str, quantity: str, contrast: Contrast, finding: NamedTest[str] | None = None
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
