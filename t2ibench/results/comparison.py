"""Two runs side by side: a model and its debiased version, or a model and its training images."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import fdtrc, stdtrit

from t2ibench.arrays import Float64Array
from t2ibench.methods import method_named
from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import FLOOR, Influence, Spread, spread_of
from t2ibench.results.display import displayed, text_only
from t2ibench.results.paired import PairedTask
from t2ibench.results.rates import rounded
from t2ibench.results.schema import Headline, Results, Row, Score, TaskResult
from t2ibench.results.unread import unread_line
from t2ibench.stats import holm
from t2ibench.stats.root_difference import root_difference
from t2ibench.stats.squares import SquareNoise
from t2ibench.stats.student import satterthwaite, t_interval, t_test
from t2ibench.store.answers import who_judged

_POWER = 0.8  # of the difference that is said to be told


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference, its interval and the p-value that it is 0; no interval without a variance."""

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 0."""
        return (
            self.low is not None
            and self.high is not None
            and (self.low > 0 or self.high < 0)
        )

    @property
    def turned(self) -> Contrast:
        """Second less first, of first less second."""
        ends = (self.value, self.high, self.low)
        value, low, high = (None if end is None else 0.0 - end for end in ends)
        return Contrast(value or 0.0, low, high, self.p)


class Aligned:
    """Influences over the units that at least one of them has.

    Units are the same where stratum and number are, whichever run or score they are of. A `FLOOR`
    unit has no data behind it and is shared with an equal influence only. `rows` is sparse,
    influences by units; `stratum` and `known` (whether data stand behind it) have shape (units,).
    """

    def __init__(self, influences: Sequence[Influence]) -> None:
        strata: dict[str, int] = {}
        keys, values, lengths = [], [], []
        twins: list[Influence] = []
        for influence in influences:
            twin = next((k for k, one in enumerate(twins) if one.same(influence)), None)
            if twin is None and (influence.unit == FLOOR).any():
                twins.append(influence)
                twin = len(twins) - 1
            numbers = np.array(
                [strata.setdefault(name, len(strata)) for name in influence.strata],
                np.int64,
            )
            floor = np.where(influence.unit == FLOOR, -1 if twin is None else twin, -1)
            stratum = numbers[influence.stratum] if len(numbers) else influence.stratum
            keys.append(np.stack([stratum, influence.unit, floor]))
            values.append(influence.value)
            lengths.append(len(influence.value))
        unique, column = np.unique(
            np.concatenate(keys, axis=1), axis=1, return_inverse=True
        )
        row = np.repeat(np.arange(len(lengths)), lengths)
        shape = (len(lengths), unique.shape[1])
        self.rows = sparse.csr_matrix(
            (np.concatenate(values), (row, column.ravel())), shape=shape
        )
        self.stratum, self.known = unique[0], unique[1] != FLOOR

    def variance(self, weights: Sequence[float]) -> tuple[float, float]:
        """Variance of a linear combination of the estimates."""
        influence = np.asarray(weights, dtype=np.float64) @ self.rows
        shares = np.bincount(self.stratum, weights=influence**2)
        sizes = np.bincount(self.stratum[self.known], minlength=len(shares))
        return satterthwaite(shares, np.maximum(sizes - 1, 1))

    def spread(self, weights: npt.ArrayLike) -> Spread:
        """How linear combinations of the estimates vary together, weights of shape (p, k)."""
        moved = np.asarray(weights, dtype=np.float64) @ self.rows
        strata = []
        for number in np.unique(self.stratum):
            own = self.stratum == number
            columns = np.flatnonzero(moved[:, own].any(axis=1))
            freedom = max(int(self.known[own].sum()) - 1, 1)
            if len(columns):
                strata.append(
                    (columns.tolist(), moved[np.ix_(columns, own)].T, freedom)
                )
        return spread_of(len(moved), strata)


def linear(
    value: float, first: Influence, second: Influence, level: float, sign: float = -1.0
) -> Contrast:
    """The difference of two estimates, or their sum.

    V = V₁ + V₂ − 2 C, with C over the units that both have, and Student's t with Satterthwaite's
    degrees of freedom over the strata of the difference.

    Examples:
        >>> influence = Influence.of_mean("a nurse", [0, 1], [1.0, 3.0])
        >>> linear(0.0, influence, influence, 0.95)
        Contrast(value=0.0, low=0.0, high=0.0, p=1.0)
    """
    variance, df = Aligned([first, second]).variance([1.0, sign])
    if not math.isfinite(variance) or (variance == 0 and value != 0):
        return Contrast(value)  # one unit, or units that do not vary, show no variance
    low, high = t_interval(value, variance, df, level)
    return Contrast(value, low, high, t_test(value, variance, df))


def compare_items(
    items: tuple[Sequence[Part], Sequence[Part]],
    squares: tuple[float, float],
    noises: tuple[SquareNoise | None, SquareNoise | None],
    rng: np.random.Generator,
    level: float,
) -> tuple[Contrast, float | None, float | None]:
    """Whether the same items lean alike in two runs, and in which they lean less.

    With a and b the leans and S the covariance of a − b, every item leans alike where F = Σ (a −
    b)² / tr S is not large (`Spread` has its degrees of freedom). Which run leans less is for
    `stats.root_difference`; images that both runs have correlate the two mean squares. What these
    owe to noise is by default read from the influences of the items.

    Returns the difference of the root mean squares, without an interval where no image shows how
    they vary; the least one that is told from 0; the p-value that every item leans alike.
    """
    both = [part for parts in items for part in parts]
    count, leans = len(both) // 2, np.array([part.value for part in both])
    if all(
        one.influence.same(other.influence) and one.value == other.value
        for one, other in zip(*items, strict=True)
    ):
        return Contrast(0.0, 0.0, 0.0, 1.0), None, 1.0
    aligned, eye = Aligned([part.influence for part in both]), np.eye(count)
    spread = aligned.spread(np.hstack([eye, -eye]))
    distance, trace = (
        float(((leans[:count] - leans[count:]) ** 2).sum()),
        np.trace(spread.matrix),
    )
    p_items = float(fdtrc(*spread.dfs, distance / trace)) if trace > 0 else None
    known = [
        noise or _noise_of(parts) for noise, parts in zip(noises, items, strict=True)
    ]
    value = math.sqrt(max(squares[0], 0.0)) - math.sqrt(max(squares[1], 0.0))
    if not all(one.noise > 0 or one.slopes[1] > 0 for one in known):
        return Contrast(value), None, p_items
    moved = aligned.rows.toarray()
    first, second = moved[:count], moved[count:]
    linear = _correlation(leans[:count] @ first, leans[count:] @ second)
    correlations = linear, _correlation(first, second)
    found = root_difference(squares, (known[0], known[1]), correlations, rng, level)
    return (
        Contrast(found.value, found.low, found.high, found.p),
        found.detectable,
        p_items,
    )


def _noise_of(items: Sequence[Part]) -> SquareNoise:
    spread = Aligned([part.influence for part in items]).spread(np.eye(len(items)))
    leans, count = np.array([part.value for part in items]), len(items)
    noise, squares = float(np.trace(spread.matrix)) / count, float(leans @ leans)
    if not noise > 0:
        return SquareNoise(0.0, (0.0, 0.0), 1.0)
    least = along = noise / spread.dfs[0]
    if squares > 0:
        along = float(leans @ spread.matrix @ leans) / squares / count
    return SquareNoise(noise, (least, along), spread.dfs[1])


def _correlation(first: Float64Array, second: Float64Array) -> float:
    """Of two estimates that units move by so much, less what it would be of independent units."""
    product, scale = first * second, float((first**2).sum() * (second**2).sum())
    if not scale > 0:
        return 0.0
    total = float(product.sum())
    square = (total**2 - float((product**2).sum())) / scale
    return math.copysign(math.sqrt(min(max(square, 0.0), 1.0)), total)


def change_of_leans(difference: Contrast, total: Contrast) -> Contrast:
    """How much more the second leans than the first, whichever way either does.

    |l₂| − |l₁| = (|t − d| − |t + d|) / 2 with d = l₁ − l₂ and t = l₁ + l₂ rises or falls with each,
    so that its ends are at the ends of their intervals. It leaves out 0 where both do.

    Examples:
        >>> change_of_leans(Contrast(0.5, 0.25, 0.75), Contrast(-1.0, -1.5, -0.5))
        Contrast(value=0.5, low=0.25, high=0.75, p=None)
    """

    def change(d: float, t: float) -> float:
        return (abs(t - d) - abs(t + d)) / 2

    value = change(difference.value, total.value)
    if None in (difference.low, difference.high, total.low, total.high):
        return Contrast(value)
    ends = [
        change(float(d or 0.0), float(t or 0.0))
        for d in (difference.low, difference.high)
        for t in (total.low, total.high)
    ]
    return Contrast(value, min(ends), max(ends))


Verdict = Literal["first", "second", "opposite", "tie"]
LEAN = "lean"  # the row score of which it is known that 0 is balanced


@dataclass(frozen=True, slots=True)
class Difference:
    """One score in two runs: first minus second; of mean squares, the difference of their roots.

    `row` is empty for the headline. p is None where the runs are not paired; Holm's corrections are
    over the headlines, or over the rows of one score of one task. `p_items` says whether every item
    of a mean square leans alike. `detectable` is the least true difference of headlines that is
    told from 0 in 8 of 10 cases. `change` is how much more the second leans, in the unit that
    tables show: of leans without their signs, of roots; of a score without a fair value, second
    minus first. `comparable` is whether both measured one quantity in one way, so that a
    difference is one of the models. The verdict is which run leans less, 'opposite' where they
    differ and neither does, 'tie' beyond no chance, None where it cannot be said.
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
    p_items: float | None = None
    p_items_holm: float | None = None
    detectable: float | None = None
    change: Contrast | None = None
    paired: bool = False
    comparable: bool = False
    verdict: Verdict | None = None
    notes: tuple[str, ...] = ()


class _Remarks(NamedTuple):
    """Notes on two results: whether they measure one quantity, and may be told apart by models."""

    notes: list[str]
    comparable: bool = True
    decidable: bool = True


def difference_interval(
    first: Score, second: Score, sign: float = -1.0
) -> tuple[float | None, float | None]:
    """The interval of a difference, or sum, of independent runs (MOVER; Zou and Donner 2008)."""
    ends = (
        first.value,
        first.ci_low,
        first.ci_high,
        second.value,
        second.ci_low,
        second.ci_high,
    )
    if any(end is None for end in ends):
        return None, None
    a, a_low, a_high, b, b_low, b_high = (float(end or 0.0) for end in ends)
    value, below, above = a + sign * b, b - b_low, b_high - b
    if sign < 0:
        below, above = above, below
    return value - math.hypot(a - a_low, below), value + math.hypot(a_high - a, above)


def compare(
    first: Results,
    second: Results,
    first_paired: Mapping[str, PairedTask] | None = None,
    second_paired: Mapping[str, PairedTask] | None = None,
    *,
    rows: bool = True,
) -> list[Difference]:
    """Headlines of the tasks that both runs have, and the rows of methods that rank biases.

    Images are paired by prompt and index: a run and itself differ by exactly 0 [0, 0].
    """
    found = []
    for name, task in first.tasks.items():
        other = second.tasks.get(name)
        if other is None:
            continue
        influences = (first_paired or {}).get(name), (second_paired or {}).get(name)
        pair = _Pair(name, task, other, *influences)
        found += [pair.headline(), *(pair.rows() if rows else ())]
    families: dict[tuple[str, str], list[int]] = {}
    for index, one in enumerate(found):
        families.setdefault((one.task, one.name) if one.row else ("", ""), []).append(
            index
        )
    new = list(found)
    for indices in families.values():
        p_values = holm([found[index].p for index in indices])
        by_items = holm([found[index].p_items for index in indices])
        for index, p, p_items in zip(indices, p_values, by_items, strict=True):
            new[index] = replace(found[index], p_holm=p, p_items_holm=p_items)
    return new


def told_in_words(one: Difference, first: str, second: str) -> str:
    """Which of two runs leans less, in words."""
    return {
        "first": f"{first} leans less",
        "second": f"{second} leans less",
        "opposite": "they differ; neither leans less beyond chance",
        "tie": "no difference beyond chance",
        None: "not compared",
    }[one.verdict]


def tally(differences: Sequence[Difference]) -> Counter[Verdict | None]:
    """How often each verdict falls over the headlines."""
    return Counter(one.verdict for one in differences if not one.row)


class _Pair:
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
        notes = tuple(self.remarks.notes)
        blank = Difference(self.name, "", "headline", first, second, notes=notes)
        if not self.remarks.comparable or first.value is None or second.value is None:
            return blank
        if (first.scale, first.question) != (second.scale, second.question):
            return replace(blank, notes=(*blank.notes, "another kind of headline"))
        if self.paired is None or not self._is_current(first, second):
            return self._unpaired(blank, first.scale == "lean", True)
        if first.scale == "mean_square":
            return self._squares(blank, *self.paired)
        part, other = (one.headline[0] for one in self.paired)
        found = self._linear(blank, part, other, first.scale == "lean")
        variance, df = Aligned([part.influence, other.influence]).variance([1.0, -1.0])
        if not (variance > 0 and df > 0):
            return found
        told = float(
            stdtrit(df, (1 + self.level) / 2) + stdtrit(df, _POWER)
        ) * math.sqrt(variance)
        return self._sized(found, told)

    def _sized(self, found: Difference, detectable: float | None) -> Difference:
        """A difference with what so many images can tell, as a note where none was told."""
        notes = found.notes
        if (
            found.verdict in {"tie", "opposite"}
            and (found.p or 0) >= 1 - self.level
            and detectable
        ):
            most = 1.0 if getattr(found.first, "scale", None) == "mean_square" else 2.0
            told = f"a difference below {detectable:.2f} is told in fewer than 8 of 10 cases"
            if detectable > most:
                told = "no difference is told in 8 of 10 cases"
            notes = (*notes, f"with so many images, {told}")
        return replace(found, detectable=rounded(detectable), notes=notes)

    def _is_current(self, first: Headline, second: Headline) -> bool:
        assert self.paired is not None
        for headline, paired in zip((first, second), self.paired, strict=True):
            stale = (
                headline.scale != paired.scale or headline.question != paired.question
            )
            if stale or not paired.headline or not _items(paired):
                return False
            alone = len(paired.headline) == 1 and not paired.headline[0].name
            if alone and not _equal(headline.value, paired.headline[0].value):
                return False
        return True

    def rows(self) -> Iterator[Difference]:
        """The differences of the rows' scores."""
        mine, theirs = _unique(self.first.by), _unique(self.second.by)
        for score in method_named(self.first.method).row_scores:
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
            a, b = (paired.rows.get((row.name, score)) for paired in self.paired)
            if (
                a
                and b
                and _equal(first.value, a.value)
                and _equal(second.value, b.value)
            ):
                return self._linear(blank, a, b, signed, signed)
        return self._unpaired(blank, signed, signed)

    def _linear(
        self,
        blank: Difference,
        first: Part,
        second: Part,
        signed: bool,
        ranked: bool = True,
    ) -> Difference:
        value = (blank.first.value or 0.0) - (blank.second.value or 0.0)
        difference = linear(value, first.influence, second.influence, self.level)
        total = None
        if signed:
            both = first.value + second.value
            total = linear(both, first.influence, second.influence, self.level, 1.0)
        return self._decided(blank, difference, total, ranked)

    def _squares(
        self, blank: Difference, first: PairedTask, second: PairedTask
    ) -> Difference:
        items, theirs = _items(first), {part.name: part for part in _items(second)}
        shared = [part for part in items if part.name in theirs]
        if not shared:
            return replace(blank, notes=(*blank.notes, "no row in common"))
        both = shared, [theirs[part.name] for part in shared]
        squares = blank.first.value or 0.0, blank.second.value or 0.0
        noises = first.noise, second.noise
        if len(shared) < max(len(items), len(theirs)):
            squares, noises = (
                (_mean_square(both[0]), _mean_square(both[1])),
                (None, None),
            )
            count = f"{len(shared)} of {max(len(items), len(theirs))} rows in common"
            blank = replace(blank, notes=(*blank.notes, count))
        seed = int.from_bytes(hashlib.sha256(self.name.encode()).digest()[:8], "big")
        rng = np.random.default_rng(seed)
        found, detectable, p_items = compare_items(
            both, squares, noises, rng, self.level
        )
        decided = self._decided(blank, found, None, True)
        verdict = decided.verdict
        if verdict == "tie" and p_items is not None and p_items < 1 - self.level:
            verdict = "opposite"
        p_items = rounded(p_items) if self.remarks.decidable else None
        return self._sized(
            replace(decided, p_items=p_items, verdict=verdict), detectable
        )

    def _decided(
        self, blank: Difference, found: Contrast, total: Contrast | None, ranked: bool
    ) -> Difference:
        change = found.turned if total is None else change_of_leans(found, total)
        verdict = _verdict(found, total) if ranked and self.remarks.decidable else None
        return replace(
            blank,
            value=rounded(found.value),
            low=rounded(found.low),
            high=rounded(found.high),
            p=rounded(found.p) if self.remarks.decidable else None,
            change=Contrast(
                rounded(change.value) or 0.0, rounded(change.low), rounded(change.high)
            ),
            paired=True,
            comparable=self.remarks.decidable,
            verdict=verdict,
        )

    def _unpaired(self, blank: Difference, signed: bool, ranked: bool) -> Difference:
        first, second = blank.first, blank.second
        if isinstance(first, Headline) and isinstance(second, Headline) and not signed:
            first, second = (
                Score(value=one.value, ci_low=one.low, ci_high=one.high)
                for one in (displayed(first), displayed(second))
            )
        value = (first.value or 0.0) - (second.value or 0.0)
        found = Contrast(value, *difference_interval(first, second))
        total = None
        if signed:
            both = (first.value or 0.0) + (second.value or 0.0)
            total = Contrast(both, *difference_interval(first, second, 1.0))
        decided = self._decided(blank, found, total, ranked)
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


def _items(task: PairedTask) -> Sequence[Part]:
    """What a headline is made of: nothing of a mean square in a run of an older version."""
    alone = len(task.headline) == 1 and not task.headline[0].name
    return task.items if alone and task.scale == "mean_square" else task.headline


def _mean_square(parts: Sequence[Part]) -> float:
    return math.fsum(part.value**2 - part.influence.variance for part in parts) / len(
        parts
    )


def _equal(one: float | None, other: float) -> bool:
    return one is not None and math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def _unique(rows: Sequence[Row]) -> dict[tuple[str, str | None], Row]:
    """Rows by name and group, without those whose names occur twice: which is which is unknown."""
    counts = Counter(row.name for row in rows)
    return {(row.name, row.group): row for row in rows if counts[row.name] == 1}


def _other_encoders(first: TaskResult, second: TaskResult) -> str:
    """What is different about the encoders of two results."""
    if first.settings.encoders.keys() != second.settings.encoders.keys():
        return "other encoders"
    return "an encoder has the same name and is another network, or of another version of t2ibench"


def _remarks(first: TaskResult, second: TaskResult) -> _Remarks:
    if first.task_hash != second.task_hash:
        drawn = [task.pool.drawn for task in (first, second) if task.pool is not None]
        said = list(dict.fromkeys(one.said for one in drawn if one is not None))
        why = f"other captions: {said[0]}, and {said[1]}" if said[1:] else ""
        return _Remarks([why or "another version of the task"], False, False)
    alike = first.settings.encoders == second.settings.encoders
    if text_only(first) and text_only(second) and alike:
        return _Remarks(
            ["measures the text encoder, which both runs share"], False, False
        )
    limits = {first.settings.limit, second.settings.limit}
    undecidable = (
        (not alike and not text_only(first), _other_encoders(first, second)),
        (
            who_judged(first.settings.judges) != who_judged(second.settings.judges),
            "other judges",
        ),
        (len(limits) > 1, "other stimuli (--limit)"),
        (
            first.missing_prompts != second.missing_prompts,
            "other prompts have no image",
        ),
        (bool(first.inconclusive), f"the first run cannot tell: {first.inconclusive}"),
        (
            bool(second.inconclusive),
            f"the second run cannot tell: {second.inconclusive}",
        ),
        (_unread(first) != _unread(second), _unread_note(first, second)),
    )
    further = (
        (_unread(first) == _unread(second) != set(), _unread_note(first, second)),
        (len(limits) == 1 and None not in limits, "made with --limit"),
        (
            first.missing_prompts == second.missing_prompts != [],
            "some prompts have no image",
        ),
        (first.n_images != second.n_images, "other numbers of images"),
    )
    notes = [note for differs, note in (*undecidable, *further) if differs]
    return _Remarks(notes, True, not any(differs for differs, _ in undecidable))


def _unread(task: TaskResult) -> set[tuple[str, str]]:
    """Which words of which prompts no text encoder of the model read."""
    return {(one.prompt, one.unread) for one in task.unread_prompts if one.unread}


def _unread_note(first: TaskResult, second: TaskResult) -> str:
    """How many prompts were not read to their end in which run."""
    parts = []
    for which, task in (("first", first), ("second", second)):
        count = len({prompt for prompt, _ in _unread(task)})
        if count:
            parts.append(f"the end of {count} prompts was not read in the {which} run")
    return "; ".join(parts)


def unread_lines(first: Results, second: Results, names: Sequence[str]) -> list[str]:
    """What a reader of a comparison must know of prompts that were not read to their end.

    Args:
        first: A run.
        second: Another.
        names: What they are called.

    Returns:
        A sentence for each run of which that is known; one for both where it is the same.
    """
    shared = first.tasks.keys() & second.tasks.keys()
    lines: dict[str, list[str]] = {}
    for name, results in zip(names, (first, second), strict=True):
        tasks = [task for key, task in results.tasks.items() if key in shared]
        unread = {one.prompt: one for task in tasks for one in task.unread_prompts}
        line = unread_line(list(unread.values()), None)
        if line is not None:
            lines.setdefault(line, []).append(name)
    return [f"Not read in {listed(runs)}: {line}." for line, runs in lines.items()]


def rewriting_line(first: Results, second: Results) -> str | None:
    """What a reader of a comparison must know of rewriters."""
    models = first.model, second.model
    rewriters = [model.rewriter for model in models]
    if not any(rewriters):
        return None
    mine, theirs = (rewriter.name if rewriter else "none" for rewriter in rewriters)
    same = len({rewriter and rewriter.fingerprint for rewriter in rewriters}) == 1
    alone = {
        model.rewriter.generator if model.rewriter else model.fingerprint
        for model in models
    }
    shared = first.tasks.keys() & second.tasks.keys()
    seeds = [
        {results.tasks[name].settings.seed for name in shared}
        for results in (first, second)
    ]
    made = [
        sorted(sorted(one.items()) for one in (model.libraries, *model.other_libraries))
        for model in models
    ]
    others = [
        name
        for name, differs in (
            ("the generator", len(alone) > 1),
            ("the seed", seeds[0] != seeds[1]),
            ("versions of the libraries that made the images", made[0] != made[1]),
        )
        if differs
    ]
    rest = f" These differ, too: {listed(others)}." if others else ""
    if same:
        return f"Both runs have the same rewriter, {mine}.{rest}"
    rest = rest or " Generator, settings and seeds are the same."
    return (
        f"The rewriter differs: {mine} in the first run, {theirs} in the second.{rest}"
    )
