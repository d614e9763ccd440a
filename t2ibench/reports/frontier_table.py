"""Table of what remedies change and cost, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from t2ibench.decimals import p_value, significant
from t2ibench.reports.cells import number, signed
from t2ibench.reports.frontier_sentences import (
    ABOUT,
    NUMBER_NAMES,
    digits_of,
    remedy_sentences,
    verdict_of,
)
from t2ibench.reports.writers import Table
from t2ibench.results.contrast import Contrast
from t2ibench.results.frontier import Frontier, Remedy
from t2ibench.results.frontier_numbers import GroupChange
from t2ibench.results.json_record import rounded
from t2ibench.results.schema import Score

# The Vendi score, whose scale ends at the number of images.
VENDI = "vendi"


@dataclass(frozen=True, slots=True)
class FrontierRecord:
    """One number of a remedy as a record; None stands for what is unknown.

    Attributes:
        remedy: The run with the remedy.
        number: Which number.
        of: The group, test or row that it is of; empty for the number itself.
        before: Its value before; its interval follows.
        after: Its value after.
        change: After minus before.
        p: The p-value of the change.
        p_holm: The same after Holm's correction, over the groups or tests of one number.
        reader: The encoder or judge that it is read by.
        verdict: Whether it is a clear cost, in words.
        reason: Why it was not measured.
    """

    remedy: str
    number: str
    of: str = ""
    before: float | None = None
    before_low: float | None = None
    before_high: float | None = None
    after: float | None = None
    after_low: float | None = None
    after_high: float | None = None
    change: float | None = None
    change_low: float | None = None
    change_high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    reader: str = ""
    verdict: str = ""
    reason: str = ""


def frontier_table(frontier: Frontier) -> Table:
    """Return a table with a row for each number of each remedy, its groups and tests below it."""
    records = list(frontier_records(frontier))
    level = f"{100 * frontier.level:g} % CI"
    headers = ("Remedy", "Number", "Before", "After", "Change", level, "p", "Verdict")
    notes = [
        f"Before: {frontier.before.name}. The remedy is for the lean of {frontier.task} "
        f"({frontier.attribute})."
    ]
    for remedy in frontier.remedies:
        sentences = " ".join(remedy_sentences(frontier, remedy))
        notes.append(f"{remedy.name}: {sentences}")
        notes += [f"{remedy.name}: {note}" for note in remedy.notes]
    return Table(
        headers,
        [_cells(record) for record in records],
        [*notes, ABOUT],
        [asdict(record) for record in records],
    )


def frontier_records(frontier: Frontier) -> Iterator[FrontierRecord]:
    """Yield a record for each number of each remedy, its groups and tests below it."""
    for remedy in frontier.remedies:
        for name, value in remedy.numbers.items():
            yield _record(
                FrontierRecord(
                    remedy.name,
                    name,
                    reader=value.reader,
                    verdict=verdict_of(name, remedy),
                    reason=value.reason,
                ),
                value.before,
                value.after,
                value.change,
                None,
            )
            yield from _details(remedy, name)


def _details(remedy: Remedy, name: str) -> Iterator[FrontierRecord]:
    groups: dict[str, tuple[GroupChange, ...]] = {
        "contradictions": remedy.contradictions,
        "diversity": remedy.diversity,
        "refusals": remedy.refusals,
    }
    for group in groups.get(name, ()):
        blank = FrontierRecord(remedy.name, name, group.group)
        yield _record(blank, group.before, group.after, group.change, group.p_holm)
    if name == "diversity":
        for group in remedy.vendi:
            blank = FrontierRecord(
                remedy.name,
                VENDI,
                f"{group.group}: Vendi score",
                verdict="exploratory",
            )
            yield _record(blank, group.before, group.after, group.change, group.p_holm)
    if name == "contradictions":
        for row in remedy.turned:
            blank = FrontierRecord(remedy.name, "turned", row.row, verdict="turned")
            scores = Score(value=row.first), Score(value=row.second)
            change = Contrast(row.second - row.first, p=row.p)
            yield _record(blank, *scores, change, row.p)
    if name == "spill_over":
        for cell in remedy.spill_over:
            shift = cell.shift
            change = Contrast(shift.value or 0.0, shift.ci_low, shift.ci_high, cell.p)
            blank = FrontierRecord(remedy.name, name, f"{cell.task} ({cell.attribute})")
            yield _record(blank, Score(value=0.0), shift, change, cell.p_holm)


def _record(
    blank: FrontierRecord,
    before: Score,
    after: Score,
    change: Contrast | None,
    p_holm: float | None,
) -> FrontierRecord:
    values = asdict(blank) | {
        "before": rounded(before.value),
        "before_low": rounded(before.ci_low),
        "before_high": rounded(before.ci_high),
        "after": rounded(after.value),
        "after_low": rounded(after.ci_low),
        "after_high": rounded(after.ci_high),
        "p_holm": rounded(p_holm),
    }
    if change is not None:
        values |= {
            "change": rounded(change.value),
            "change_low": rounded(change.low),
            "change_high": rounded(change.high),
            "p": rounded(change.p),
        }
    return FrontierRecord(**values)


def _cells(record: FrontierRecord) -> list[str]:
    names: dict[str, str] = {str(key): words for key, words in NUMBER_NAMES.items()}
    name = names.get(record.number, record.number)
    return [
        "" if record.of else record.remedy,
        f"· {record.of}" if record.of else name,
        _written(record, record.before),
        _written(record, record.after),
        _written(record, record.change, sign=True),
        _interval(record),
        p_value(record.p if record.p_holm is None else record.p_holm),
        record.verdict,
    ]


def _interval(record: FrontierRecord) -> str:
    if record.change_low is None or record.change_high is None:
        return "–"
    low = _written(record, record.change_low)
    return f"[{low}, {_written(record, record.change_high)}]"


def _written(record: FrontierRecord, value: float | None, *, sign: bool = False) -> str:
    """Return a value as its number is written: docs/reading.md has the rules."""
    if record.number == VENDI:
        return significant(value, sign=sign)
    digits = digits_of(record.number)
    return signed(value, digits) if sign else number(value, digits)
