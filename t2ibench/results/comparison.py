"""Two runs side by side: a model and its debiased version, or a model and its training images."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from scipy import sparse

from t2ibench.arrays import Float64Array
from t2ibench.methods import METHODS
from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.headline import Part
from t2ibench.methods.core.influence import FLOOR, Influence
from t2ibench.results.display import displayed, text_only
from t2ibench.results.paired import PairedTask
from t2ibench.results.rates import rounded
from t2ibench.results.schema import GeneratorInfo, Headline, Results, Row, Score, TaskResult
from t2ibench.stats import holm
from t2ibench.stats.student import satterthwaite, t_interval, t_test
from t2ibench.store.answers import who_judged

_LARGE = 1e9  # degrees of freedom of a variance that is as good as known
_DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference with its uncertainty.

    Attributes:
        value: The difference.
        low: Lower end of its interval; None where the variance is unknown.
        high: Upper end.
        p: p-value that it is 0.
    """

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Aligned:
    """Influences over the units that at least one of them has.

    Units are the same where stratum and number are, whichever run or score they are of. A `FLOOR`
    unit has no data behind it and is shared with an equal influence only.

    Args:
        influences: One or more.

    Attributes:
        rows: Sparse matrix of influences by units.
        stratum: Stratum of each unit, shape (units,).
        known: Whether data stand behind a unit, shape (units,).
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
                [strata.setdefault(name, len(strata)) for name in influence.strata], np.int64
            )
            floor = np.where(influence.unit == FLOOR, -1 if twin is None else twin, -1)
            stratum = numbers[influence.stratum] if len(numbers) else influence.stratum
            keys.append(np.stack([stratum, influence.unit, floor]))
            values.append(influence.value)
            lengths.append(len(influence.value))
        unique, column = np.unique(np.concatenate(keys, axis=1), axis=1, return_inverse=True)
        row = np.repeat(np.arange(len(lengths)), lengths)
        shape = (len(lengths), unique.shape[1])
        self.rows = sparse.csr_matrix((np.concatenate(values), (row, column.ravel())), shape=shape)
        self.stratum, self.known = unique[0], unique[1] != FLOOR

    def variance(self, weights: Sequence[float]) -> tuple[float, float]:
        """Variance of a linear combination of the estimates."""
        influence = np.asarray(weights, dtype=np.float64) @ self.rows
        shares = np.bincount(self.stratum, weights=influence**2)
        sizes = np.bincount(self.stratum[self.known], minlength=len(shares))
        return satterthwaite(shares, np.maximum(sizes - 1, 1))

    def covariances(self) -> Float64Array:
        """Covariances of the estimates."""
        return np.asarray((self.rows @ self.rows.T).todense(), dtype=np.float64)


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
    return _contrast(value, *Aligned([first, second]).variance([1.0, sign]), level)


class MeanSquares:
    """Two unbiased mean squares of the same leans in two runs.

    With l the leans of one row in both runs, V their variances, C their covariance:

    Var((l₁² − V₁) − (l₂² − V₂)) = 4 (l₁² V₁ + l₂² V₂ − 2 l₁ l₂ C) − 2 (V₁² + V₂² − 2 C²)

    is an unbiased estimate of the variance, summed over rows with the covariances between them,
    and at least 2 (V₁² + V₂² − 2 C²), its value where no row leans.

    Args:
        first: The leans of the first run.
        second: The same leans of the second, in the same order.
    """

    def __init__(self, first: Sequence[Part], second: Sequence[Part]) -> None:
        self._aligned = Aligned([part.influence for part in (*first, *second)])
        self._covariances = self._aligned.covariances()
        self._leans = np.array([part.value for part in (*first, *second)])
        self._alike = all(a.influence.same(b.influence) for a, b in zip(first, second, strict=True))

    def _variance(self, first: float, second: float) -> tuple[float, float]:
        """Variance and degrees of freedom of a combination of both mean squares."""
        count = len(self._leans) // 2
        weights = np.repeat([first, second], count) / count
        linear_variance, df = self._aligned.variance((2 * weights * self._leans).tolist())
        pairs = self._covariances * weights  # Σ A, with A the weights on the diagonal
        curvature = 2.0 * float((pairs * pairs.T).sum())
        if self._alike and first + second == 0:
            curvature = 0.0  # rounding aside
        variance = max(linear_variance - curvature, curvature, 0.0)
        return variance, df if math.isfinite(df) else _LARGE

    def difference(self, value: float, level: float) -> Contrast:
        """First minus second."""
        return _contrast(value, *self._variance(1.0, -1.0), level)

    def change(self, first: float, second: float, level: float) -> Contrast:
        """How much larger the root of the second is; see `change_of_roots`."""
        alone = self._variance(1.0, 0.0)[0], self._variance(0.0, 1.0)[0]
        return change_of_roots((first, second), alone, *self._variance(1.0, -1.0), level)


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


def change_of_roots(
    squares: tuple[float, float],
    variances: tuple[float, float],
    of_difference: float,
    df: float,
    level: float,
) -> Contrast:
    """How much larger the root of a second mean square is than that of a first.

    A root has no variance where the square is about 0. So both squares are drawn from their joint t
    distribution around the estimates, and the ends are quantiles of the difference of the roots, as
    those of one root are the roots of the ends of its square.
    """
    first, second = (math.sqrt(max(square, 0.0)) for square in squares)
    value = second - first
    if not all(math.isfinite(one) for one in (*variances, of_difference)):
        return Contrast(value)
    if of_difference == 0:
        return Contrast(value, value, value) if value == 0 else Contrast(value)
    largest = math.sqrt(variances[0] * variances[1])
    shared = min(max((sum(variances) - of_difference) / 2, -largest), largest)
    rng = np.random.default_rng(0)
    half = rng.standard_normal((2, _DRAWS)) / np.sqrt(rng.chisquare(df, _DRAWS) / df)
    draws = np.concatenate([half, -half], axis=1)
    spread = math.sqrt(variances[0])
    slope = shared / spread if spread else 0.0
    rest = math.sqrt(max(variances[1] - slope**2, 0.0))
    moved = squares[0] + spread * draws[0], squares[1] + slope * draws[0] + rest * draws[1]
    roots = [np.sqrt(np.maximum(one, 0.0)) for one in moved]
    low, high = np.quantile(roots[1] - roots[0], [(1 - level) / 2, (1 + level) / 2])
    return Contrast(value, float(low), float(high))


def _contrast(value: float, variance: float, df: float, level: float) -> Contrast:
    if not math.isfinite(variance) or (variance == 0 and value != 0):
        return Contrast(value)  # one unit, or units that do not vary, show no variance
    low, high = t_interval(value, variance, df, level)
    return Contrast(value, low, high, t_test(value, variance, df))


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
    families: dict[tuple[str, str], list[int]] = {}
    for index, one in enumerate(found):
        families.setdefault((one.task, one.name) if one.row else ("", ""), []).append(index)
    new = list(found)
    for indices in families.values():
        p_values = holm([found[index].p for index in indices])
        for index, p in zip(indices, p_values, strict=True):
            new[index] = replace(found[index], p_holm=p)
    return new


def tally(differences: Sequence[Difference]) -> Counter[Verdict | None]:
    """How often each verdict falls over the headlines."""
    return Counter(one.verdict for one in differences if not one.row)


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


def rewriting_line(first: Results, second: Results) -> str | None:
    """What a reader of a comparison must know of rewriters."""
    models = first.model, second.model
    if not any(model.rewriter for model in models):
        return None
    mine, theirs = map(_name, models)
    one, other = ((model.rewriter.fingerprint if model.rewriter else None) for model in models)
    alone = [model.rewriter.generator if model.rewriter else model.fingerprint for model in models]
    others = [] if alone[0] == alone[1] else ["the generator"]
    shared = first.tasks.keys() & second.tasks.keys()
    seeds = [{results.tasks[name].settings.seed for name in shared} for results in (first, second)]
    if seeds[0] != seeds[1]:
        others.append("the seed")
    if _libraries(models[0]) != _libraries(models[1]):
        others.append("the versions of the libraries that made the images")
    what = listed(others)
    if one == other:
        same = f"Both runs have the same rewriter, {mine}"
        return f"{same}; {what} {_verb(others)}." if others else f"{same}."
    if others:
        return f"The rewriter differs ({mine} and {theirs}), and so {_verb(others, 'do')} {what}."
    return (
        f"Only the rewriter differs: {mine} in the first run, {theirs} in the second. Generator, "
        "settings and seeds are the same."
    )


def _name(model: GeneratorInfo) -> str:
    return model.rewriter.name if model.rewriter else "none"


def _libraries(model: GeneratorInfo) -> list[dict[str, str]]:
    found = [model.libraries, *model.other_libraries]
    return sorted(found, key=lambda one: sorted(one.items()))


def _verb(words: list[str], verb: str = "differ") -> str:
    plural = len(words) > 1 or (words and words[0].startswith("the versions"))
    if verb == "do":
        return "do" if plural else "does"
    return "differ" if plural else "differs"
