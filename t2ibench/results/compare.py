"""Two runs side by side: a model and its debiased version, or a model and its training images."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from t2ibench.methods import METHODS
from t2ibench.methods.core.headline import Part
from t2ibench.results.build import rounded
from t2ibench.results.display import displayed, text_only
from t2ibench.results.paired import PairedTask
from t2ibench.results.pairing import (
    Aligned,
    Contrast,
    MeanSquares,
    change_of_leans,
    change_of_roots,
    linear,
)
from t2ibench.results.schema import Headline, Results, Row, Score, TaskResult
from t2ibench.stats import holm
from t2ibench.store.answers import who_judged

Verdict = Literal["first", "second", "opposite", "tie"]
LEAN = "lean"  # the row score of which it is known that 0 is balanced


@dataclass(frozen=True, slots=True)
class Difference:
    """One score in two runs.

    Attributes:
        task: Its task.
        row: The bias, prompt or concept; empty for the headline.
        name: The score.
        first: In the first run.
        second: In the second.
        value: First minus second; of mean squares, the difference of the squares.
        low: Lower end of the difference's interval.
        high: Upper end.
        p: p-value that there is no difference; None where the runs are not paired.
        p_holm: Adjusted over the headlines (or over the rows of one score of one task).
        change: How much more the second leans than the first, in the unit that tables show: of
            leans without their signs, of the roots of mean squares. Of a score that has no fair
            value, second minus first. None without a value in both.
        paired: Whether images were paired by prompt and index.
        verdict: Which run leans less: the 'first', the 'second', neither although they differ
            ('opposite'), or neither beyond chance ('tie'); None where that cannot be said.
        notes: Why they cannot be compared, or what to know.
    """

    task: str
    row: str
    name: str
    first: Score
    second: Score
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    change: Contrast | None = None
    paired: bool = False
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Remarks:
    """What stands between two results of a task.

    Attributes:
        notes: All of it.
        comparable: Whether they measure the same quantity.
        decidable: Whether the difference may be called one of the models.
    """

    notes: list[str] = field(default_factory=list)
    comparable: bool = True
    decidable: bool = True


def difference_interval(first: Score, second: Score) -> tuple[float | None, float | None]:
    """The interval of a difference from two intervals (MOVER; Zou and Donner 2008).

    It takes the runs as independent: for runs without influences, which cannot be paired.
    """
    ends = (first.value, first.ci_low, first.ci_high, second.value, second.ci_low, second.ci_high)
    if any(end is None for end in ends):
        return None, None
    a, a_low, a_high, b, b_low, b_high = (float(end or 0.0) for end in ends)
    low = a - b - math.hypot(a - a_low, b_high - b)
    high = a - b + math.hypot(a_high - a, b - b_low)
    return low, high


def compare(
    first: Results,
    second: Results,
    first_paired: Mapping[str, PairedTask] | None = None,
    second_paired: Mapping[str, PairedTask] | None = None,
) -> list[Difference]:
    """Headlines of the tasks that both runs have, and the rows of methods that rank biases.

    Images are paired by prompt and index, so that a run and itself differ by exactly 0 [0, 0].
    """
    found = []
    for name, task in first.tasks.items():
        other = second.tasks.get(name)
        if other is None:
            continue
        influences = (first_paired or {}).get(name), (second_paired or {}).get(name)
        pair = _Pair(name, task, other, *influences)
        found += [pair.headline(), *pair.rows()]
    return _adjusted(found)


def tally(differences: Sequence[Difference]) -> Counter[Verdict | None]:
    """How often each verdict falls over the headlines."""
    return Counter(one.verdict for one in differences if not one.row)


def _adjusted(differences: Sequence[Difference]) -> list[Difference]:
    """Holm over the headlines, and over each task's rows of one score."""
    families: dict[tuple[str, str], list[int]] = {}
    for index, one in enumerate(differences):
        families.setdefault((one.task, one.name) if one.row else ("", ""), []).append(index)
    new = list(differences)
    for indices in families.values():
        p_values = holm([differences[index].p for index in indices])
        for index, p in zip(indices, p_values, strict=True):
            new[index] = replace(differences[index], p_holm=p)
    return new


class _Pair:
    """One task in two runs."""

    def __init__(
        self,
        name: str,
        first: TaskResult,
        second: TaskResult,
        first_paired: PairedTask | None,
        second_paired: PairedTask | None,
    ) -> None:
        self.name, self.first, self.second = name, first, second
        self.level = first.settings.level
        self.remarks = _remarks(first, second)
        self.paired: tuple[PairedTask, PairedTask] | None = None
        if first_paired is not None and second_paired is not None:
            self.paired = first_paired, second_paired

    def headline(self) -> Difference:
        """The difference of the headlines."""
        first, second = self.first.headline, self.second.headline
        blank = Difference(
            self.name, "", "headline", first, second, notes=tuple(self.remarks.notes)
        )
        if not self.remarks.comparable or first.value is None or second.value is None:
            return blank
        if (first.scale, first.question) != (second.scale, second.question):
            return replace(blank, notes=(*blank.notes, "another kind of headline"))
        parts = self.paired and (self.paired[0].headline, self.paired[1].headline)
        if not parts or not all(parts) or not self._is_current(first, second):
            return self._unpaired(blank, first.scale == "lean", first.scale is not None)
        if first.scale == "mean_square" and not _is_linear(parts[0]):
            return self._squares(blank, *parts)
        return self._linear(blank, parts[0][0], parts[1][0], first.scale == "lean")

    def _is_current(self, first: Headline, second: Headline) -> bool:
        """Whether the influences are those of the results beside them."""
        assert self.paired is not None
        for headline, paired in zip((first, second), self.paired, strict=True):
            stale = headline.scale != paired.scale or headline.question != paired.question
            if stale or (
                _is_linear(paired.headline) and not _equal(headline.value, paired.headline[0].value)
            ):
                return False
        return True

    def rows(self) -> Iterator[Difference]:
        """The differences of the rows' scores."""
        mine, theirs = _unique(self.first.by), _unique(self.second.by)
        for score in METHODS.get(self.first.method).row_scores:
            for (name, group), row in mine.items():
                other = theirs.get((name, group))
                if other is not None and score in row.scores and score in other.scores:
                    yield self._row(row, other, score)

    def _row(self, row: Row, other: Row, score: str) -> Difference:
        first, second = row.scores[score], other.scores[score]
        notes = tuple(self.remarks.notes)
        blank = Difference(self.name, row.name, score, first, second, notes=notes)
        if not self.remarks.comparable or first.value is None or second.value is None:
            return blank
        signed = score == LEAN
        if self.paired is not None and not (first.as_published or second.as_published):
            parts = [paired.rows.get((row.name, score)) for paired in self.paired]
            a, b = parts
            if a and b and _equal(first.value, a.value) and _equal(second.value, b.value):
                return self._linear(blank, a, b, signed, signed)
        return self._unpaired(blank, signed, signed)

    def _linear(
        self, blank: Difference, first: Part, second: Part, signed: bool, ranked: bool = True
    ) -> Difference:
        value = (blank.first.value or 0.0) - (blank.second.value or 0.0)
        difference = linear(value, first.influence, second.influence, self.level)
        if signed:
            both = first.value + second.value
            total = linear(both, first.influence, second.influence, self.level, 1.0)
            change = change_of_leans(difference, total)
            return self._decided(blank, difference, total, change, ranked)
        change = _turned(difference)
        if getattr(blank.first, "scale", None) == "mean_square":
            aligned = Aligned([first.influence, second.influence])
            alone = aligned.variance([1.0, 0.0])[0], aligned.variance([0.0, 1.0])[0]
            of_difference = aligned.variance([1.0, -1.0])
            squares = first.value, second.value
            change = change_of_roots(squares, alone, *of_difference, self.level)
        return self._decided(blank, difference, None, change, ranked)

    def _squares(
        self, blank: Difference, first: Sequence[Part], second: Sequence[Part]
    ) -> Difference:
        theirs = {part.name: part for part in second}
        shared = [part for part in first if part.name in theirs]
        if not shared:
            return replace(blank, notes=(*blank.notes, "no row in common"))
        others = [theirs[part.name] for part in shared]
        squares = blank.first.value or 0.0, blank.second.value or 0.0
        if len(shared) < max(len(first), len(second)):
            squares = _mean_square(shared), _mean_square(others)
            count = f"{len(shared)} of {max(len(first), len(second))} rows in common"
            blank = replace(blank, notes=(*blank.notes, count))
        both = MeanSquares(shared, others)
        difference = both.difference(squares[0] - squares[1], self.level)
        return self._decided(blank, difference, None, both.change(*squares, self.level), True)

    def _decided(
        self,
        blank: Difference,
        found: Contrast,
        total: Contrast | None,
        change: Contrast,
        ranked: bool,
    ) -> Difference:
        verdict = _verdict(found, total) if ranked and self.remarks.decidable else None
        low, high = change.low, change.high
        if verdict == "tie" and low is not None and high is not None:
            low, high = min(low, 0.0), max(high, 0.0)  # of roots, one test decides
        return replace(
            blank,
            value=rounded(found.value),
            low=rounded(found.low),
            high=rounded(found.high),
            p=rounded(found.p) if self.remarks.decidable else None,
            change=Contrast(rounded(change.value) or 0.0, rounded(low), rounded(high)),
            paired=True,
            verdict=verdict,
        )

    def _unpaired(self, blank: Difference, signed: bool, ranked: bool) -> Difference:
        first, second = blank.first, blank.second
        value = (first.value or 0.0) - (second.value or 0.0)
        found = Contrast(value, *difference_interval(first, second))
        total, change = None, _turned(found)
        if signed:
            sum_value = (first.value or 0.0) + (second.value or 0.0)
            total = Contrast(sum_value, *difference_interval(first, _negative(second)))
            change = change_of_leans(found, total)
        elif isinstance(first, Headline) and isinstance(second, Headline):
            roots = _as_shown(first), _as_shown(second)
            size = (roots[0].value or 0.0) - (roots[1].value or 0.0)
            change = _turned(Contrast(size, *difference_interval(*roots)))
        decided = self._decided(blank, found, total, change, ranked)
        return replace(decided, paired=False, p=None, notes=(*blank.notes, "unpaired"))


def _verdict(difference: Contrast, total: Contrast | None) -> Verdict | None:
    """Which run leans less; `total` is the sum of two leans, None of magnitudes."""
    # l₁² − l₂² = (l₁ − l₂)(l₁ + l₂): magnitudes differ where both factors differ from 0. Testing
    # both (an intersection-union test) keeps its level without any approximation to the squares.
    if difference.low is None or (total is not None and total.low is None):
        return None
    if not difference.differs:
        return "tie"
    if total is None:
        return "first" if difference.value < 0 else "second"
    if not total.differs:
        return "opposite"
    return "first" if difference.value * total.value < 0 else "second"


def _is_linear(parts: Sequence[Part]) -> bool:
    """Whether a headline moves with its units by itself, not as a mean of squares of rows."""
    return len(parts) == 1 and not parts[0].name


def _mean_square(parts: Sequence[Part]) -> float:
    return math.fsum(part.value**2 - part.influence.variance for part in parts) / len(parts)


def _equal(one: float | None, other: float) -> bool:
    return one is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def _turned(found: Contrast) -> Contrast:
    """Second minus first, of first minus second."""
    ends = (found.value, found.high, found.low)
    value, low, high = (None if end is None else 0.0 - end for end in ends)
    return Contrast(value or 0.0, low, high)


def _as_shown(headline: Headline) -> Score:
    shown = displayed(headline)
    return Score(value=shown.value, ci_low=shown.low, ci_high=shown.high)


def _negative(score: Score) -> Score:
    ends = (score.value, score.ci_high, score.ci_low)
    value, low, high = (None if end is None else -end for end in ends)
    return Score(value=value, ci_low=low, ci_high=high)


def _unique(rows: Sequence[Row]) -> dict[tuple[str, str | None], Row]:
    """Rows by name and group, without those whose names occur twice: which is which is unknown."""
    counts = Counter(row.name for row in rows)
    return {(row.name, row.group): row for row in rows if counts[row.name] == 1}


def _other_task(first: TaskResult, second: TaskResult) -> str:
    """Why two results are of two tasks."""
    drawn = [task.pool.drawn for task in (first, second) if task.pool is not None]
    said = [one.said for one in drawn if one is not None]
    if len(set(said)) < 2:
        return "another version of the task"
    return f"other captions: {said[0]}, and {said[1]}"


def _remarks(first: TaskResult, second: TaskResult) -> _Remarks:
    """What makes two results of a task hard to compare."""
    if first.task_hash != second.task_hash:
        return _Remarks([_other_task(first, second)], False, False)
    alike = first.settings.encoders == second.settings.encoders
    if text_only(first) and text_only(second) and alike:
        return _Remarks(["measures the text encoder, which both runs share"], False, False)
    notes, decidable = [], True
    limits = {first.settings.limit, second.settings.limit}
    for differs, note in (
        (not alike and not text_only(first), "other encoders"),
        (who_judged(first.settings.judges) != who_judged(second.settings.judges), "other judges"),
        (len(limits) > 1, "other stimuli (--limit)"),
        (first.missing_prompts != second.missing_prompts, "other prompts have no image"),
        (bool(first.inconclusive), "the first is inconclusive"),
        (bool(second.inconclusive), "the second is inconclusive"),
    ):
        if differs:
            notes.append(note)
            decidable = False
    if len(limits) == 1 and None not in limits:
        notes.append("made with --limit")
    if first.missing_prompts == second.missing_prompts != []:
        notes.append("some prompts have no image")
    if first.n_images != second.n_images:
        notes.append("other numbers of images")
    return _Remarks(notes, True, decidable)
