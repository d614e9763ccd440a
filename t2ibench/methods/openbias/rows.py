"""The answers as rows of counts: one row for each bias and caption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import Inference, Part, Question
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.openbias.answers import BiasAnswers, CountedRow
from t2ibench.stats import (
    Answers,
    Proportion,
    clustered_proportion,
    critical_value,
    p_value,
    pseudo_variance,
    relabelled_counts,
    squared_lean,
    squared_lean_without,
)
from t2ibench.stats.bounds import BoundedProportion
from t2ibench.stats.rounding import settled, sums_by
from t2ibench.stats.squares import SquareNoise, square_interval

POOLED = "one image a caption"  # stands for all captions where each has a single image


def rows_of(answers: Sequence[BiasAnswers]) -> list[CountedRow]:
    """The rows of a task.

    Where no caption has two answers (real images with a caption each), all captions of a bias
    make one row, whose images are those of the captions.
    """
    several = [row for row in _compared(answers) if len(row.codes) > 1]
    return several or _pooled(answers)


def _compared(answers: Sequence[BiasAnswers]) -> list[CountedRow]:
    """The captions whose answers can be compared with something."""
    return [
        caption
        for found in answers
        for caption in found.captions
        if len(caption.expected)
    ]


def completable(
    answers: Sequence[BiasAnswers], rows: Sequence[CountedRow]
) -> list[CountedRow]:
    """The rows of two or more images, answered or not, of the biases that have rows."""
    if not rows or rows[0].prompt == POOLED:
        return list(rows)
    biases = {row.bias for row in rows}
    return [
        row
        for row in _compared(answers)
        if row.bias in biases and len(row.codes) + len(row.unanswered) > 1
    ]


def completed(row: CountedRow, *, piled: bool) -> CountedRow:
    """A row whose images without an answer get the answers that make it lean least, or most.

    The sum of n (n - 1) - 2 (N - 1) r n over the classes grows with an answer of a class by twice
    n - (N - 1) r. It is convex: the least is reached one answer at a time, the most where all
    answers are of one class.

    Examples:
        >>> even = np.array([0.5, 0.5])
        >>> row = CountedRow(
        ...     0, "a chef", None, np.arange(4), np.array([0, 0, 0, 1]), even, np.arange(4, 7)
        ... )
        >>> completed(row, piled=False).counts.tolist(), completed(row, piled=True).counts.tolist()
        ([4, 3], [6, 1])
    """
    n, u = len(row.codes), len(row.unanswered)
    gains = row.counts - (n + u - 1) * row.expected
    if piled:
        given = np.full(u, settled(gains).argmax())
    else:
        given = np.zeros(u, dtype=np.int64)
        for place in range(u):
            given[place] = settled(gains).argmin()
            gains[given[place]] += 1
    return _filled(row, given)


def _filled(row: CountedRow, codes: IntArray) -> CountedRow:
    indices = np.concatenate([row.indices, row.unanswered])
    codes = np.concatenate([row.codes, codes])
    return replace(row, indices=indices, codes=codes, unanswered=row.unanswered[:0])


def _pooled(answers: Sequence[BiasAnswers]) -> list[CountedRow]:
    prompts = dict.fromkeys(
        caption.prompt for found in answers for caption in found.captions
    )
    numbers = {prompt: number for number, prompt in enumerate(prompts)}
    pooled = []
    for number, found in enumerate(answers):
        own = [row for row in found.captions if len(row.codes) and len(row.expected)]
        lost = [
            row for row in found.captions if len(row.unanswered) and not len(row.codes)
        ]
        if len(own) > 1 and found.bias.compare_with != "reference":
            pooled.append(
                CountedRow(
                    number,
                    POOLED,
                    None,
                    np.array([numbers[row.prompt] for row in own]),
                    np.concatenate([row.codes for row in own]),
                    own[0].expected,
                    np.array([numbers[row.prompt] for row in lost], int),
                    accuracy=own[0].accuracy,
                )
            )
    return pooled


def share_scores(
    rows: Sequence[CountedRow], classes: Sequence[str], level: float
) -> dict[str, Estimate]:
    """The mean over captions of each class's share, and for two classes the signed lean."""
    expected = np.mean([row.expected for row in rows], axis=0)
    scores = {
        f"share:{name}": mean_share(rows, column, float(expected[column]), level)
        for column, name in enumerate(classes)
    }
    if len(classes) == 2:
        scores["lean"] = mean_share(rows, 0, 0.5, level, less=0.5, scale=2.0)
    return scores


def mean_share(
    rows: Sequence[CountedRow],
    column: int,
    against: float,
    level: float,
    *,
    less: float = 0.0,
    scale: float = 1.0,
) -> Estimate:
    """`scale` times what a class's mean share over captions is beyond `less`."""
    share = class_share(rows, column)
    accuracy = rows[0].accuracy
    interval = share.interval(level)
    p = share.p(against)
    if accuracy is not None:
        interval = accuracy.widened(interval)
        reads = accuracy.read(against)
        between = reads[0] < reads[1] and reads[0] <= share.value <= reads[1]
        p = 1.0 if between else max(share.p(end) for end in reads)
    low, high = sorted(scale * (end - less) for end in interval)
    return Estimate(
        scale * (share.value - less),
        p=p,
        test="t",
        interval=(low, high),
        influence=share_influence(rows, column).scaled(scale),
    )


def class_share(
    rows: Sequence[CountedRow], column: int
) -> Proportion | BoundedProportion:
    """The mean over captions of a class's share, for these captions."""
    return _bounded(
        clustered_proportion,
        np.array([row.counts[column] for row in rows]),
        np.array([len(row.codes) for row in rows]),
        np.array([len(row.unanswered) for row in rows]),
    )


def _bounded(
    share: Callable[[npt.ArrayLike, npt.ArrayLike], Proportion],
    hits: npt.NDArray[Any],
    known: npt.NDArray[Any],
    lost: npt.NDArray[Any],
) -> Proportion | BoundedProportion:
    """A share with its bounds, where the class of some images is not known."""
    found = share(hits, known)
    if not lost.any():
        return found
    total = known + lost
    return BoundedProportion(found.value, share(hits, total), share(hits + lost, total))


def share_influence(rows: Sequence[CountedRow], column: int) -> Influence:
    """The influence of the images on `class_share`."""
    return Influence.combined(
        (
            1.0 / len(rows),
            Influence.of_mean(row.prompt, row.indices, row.codes == column),
        )
        for row in rows
    )


def _clusters_of(rows: Sequence[CountedRow]) -> IntArray:
    names = {
        name: number
        for number, name in enumerate(dict.fromkeys(row.cluster for row in rows))
    }
    return np.array([names[row.cluster] for row in rows], dtype=np.int64)


def _expected(rows: Sequence[CountedRow]) -> tuple[Float64Array, IntArray]:
    """The expected shares of rows, padded with 0 to shape (rows, most classes); and the classes."""
    classes = np.array([len(row.expected) for row in rows], dtype=np.int64)
    width = classes.max()
    return np.array(
        [np.pad(row.expected, (0, width - len(row.expected))) for row in rows]
    ), classes


_WORK = 20_000_000  # answers that are drawn for a null distribution
_FEWEST, _MOST = 2_000, 20_000  # draws of it
_LEAST = 1e-9  # noise


@dataclass(frozen=True, slots=True)
class MeanSquare:
    """The mean squared lean of some rows."""

    value: float  # unbiased
    # of the images, by the jackknife, with the floor of its variance
    influence: Influence
    df: float  # of that: images less prompts
    # influence of the captions (or stimuli); None where a bias has fewer than two
    clusters: Influence | None
    noise: float  # mean of the squares without a lean, before their noise is subtracted
    steepest: float  # bound of its variance in one direction; see `tested`
    top: float  # the largest value
    # whether each caption had a single image, so that captions vary with the images
    pooled: bool

    @property
    def question(self) -> Question:
        """What the images' inference is about."""
        return "prompt_population" if self.pooled else "fixed_prompts"


def mean_square_of(rows: Sequence[CountedRow]) -> MeanSquare:
    """The mean over biases of the mean over captions of squared leans."""
    sizes = Counter(row.bias for row in rows)
    weights = np.array([1.0 / (len(sizes) * sizes[row.bias]) for row in rows])
    squares = np.array([row.square for row in rows])
    floor, steepest, df = 0.0, 0.0, 0.0
    prompts: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        prompts.setdefault(row.prompt, []).append(number)
    for members in prompts.values():
        own = [rows[k] for k in members]
        codes = _codes(own)
        floor += pseudo_variance(codes, *_expected(own), weights[members])
        steepest += float(weights[members].sum()) ** 2 / len(codes)
        df += len(codes) - 1.0
    influence = Influence.combined(
        (weight, _jackknife(row)) for weight, row in zip(weights, rows, strict=True)
    )
    top = float(weights @ [row.largest for row in rows])
    return MeanSquare(
        float(weights @ squares),
        influence.with_floor(floor),
        df,
        _clusters(rows, squares, weights),
        float(weights @ [row.noise for row in rows]),
        steepest * top**0.5,
        top,
        rows[0].prompt == POOLED,
    )


def items_of(rows: Sequence[CountedRow]) -> tuple[Part, ...]:
    """The distances of each row's shares from expected ones, for comparing two runs.

    There are k - 1 of them, which are orthogonal to each other. They are scaled so that the mean of
    value² - variance is that of `mean_square_of`.
    """
    from scipy.linalg import helmert

    sizes = Counter(row.bias for row in rows)
    count = sum(len(row.expected) - 1 for row in rows)
    items = []
    for row in rows:
        k = len(row.expected)
        scale = np.sqrt(count / (len(sizes) * sizes[row.bias]) / (1 - 1 / k))
        for number, weights in enumerate(scale * helmert(k)):
            value = float(weights @ (row.counts / len(row.codes) - row.expected))
            influence = Influence.of_mean(row.prompt, row.indices, weights[row.codes])
            items.append(Part(f"{row.bias} {row.prompt} {number}", value, influence))
    return tuple(items)


def _codes(rows: Sequence[CountedRow]) -> IntArray:
    """Codes of all rows of one prompt, shape (images, rows); -1 without an answer."""
    images = np.unique(np.concatenate([row.indices for row in rows]))
    codes = np.full((len(images), len(rows)), -1, dtype=np.int64)
    for column, row in enumerate(rows):
        codes[np.searchsorted(images, row.indices), column] = row.codes
    return codes


def _jackknife(row: CountedRow) -> Influence:
    """The influence of its images; of two images nothing is known but the floor."""
    if len(row.codes) < 3:
        without = np.full(len(row.codes), row.square)
    else:
        without = squared_lean_without(row.counts, row.expected)[row.codes]
    strata = np.zeros(len(row.codes), dtype=np.int64)
    return Influence.of_jackknife((row.prompt,), strata, row.indices, without)


def _clusters(
    rows: Sequence[CountedRow], squares: Float64Array, weights: Float64Array
) -> Influence | None:
    """The influence of what would be drawn anew; clusters of the same biases are exchangeable."""
    biases, number = np.array([row.bias for row in rows]), _clusters_of(rows)
    count = int(number.max()) + 1
    values = np.zeros(count)
    for bias in np.unique(biases):
        own = biases == bias
        several = len(np.unique(number[own]))
        if several < 2:
            return None
        moved = weights[own] * (squares[own] - squares[own].mean())
        values += sums_by(number[own], moved * np.sqrt(several / (several - 1)), count)
    asked = [tuple(np.unique(biases[number == k]).tolist()) for k in range(count)]
    kinds = list(dict.fromkeys(asked))
    stratum = np.array([kinds.index(kind) for kind in asked])
    strata = tuple(f"biases {list(kind)}" for kind in kinds)
    return Influence(strata, stratum, np.arange(count), values)


def null_means(
    rows: Sequence[CountedRow], n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """Each bias's mean squared lean where nothing leans, what its images share kept.

    Shape (draws, biases of the rows in ascending order); fewer than `n_draws` for many answers.
    """
    images: dict[tuple[str, int], int] = {}
    keys = [(row.prompt, int(index)) for row in rows for index in row.indices]
    numbers = [images.setdefault(key, len(images)) for key in keys]
    expected, classes = _expected(rows)
    table = Answers(
        image=np.array(numbers, dtype=np.int64),
        row=np.repeat(np.arange(len(rows)), [len(row.codes) for row in rows]),
        code=np.concatenate([row.codes for row in rows]),
        expected=expected,
        classes=classes,
    )
    biases, column = np.unique([row.bias for row in rows], return_inverse=True)
    means = (column[:, None] == np.arange(len(biases))) / np.bincount(column)
    fitting = int(np.clip(_WORK // len(table.image), _FEWEST, _MOST))
    draws = relabelled_counts(table, min(n_draws, fitting), rng)
    return np.concatenate(
        [squared_lean(counts, expected, classes) @ means for counts in draws]
    )


@dataclass(frozen=True, slots=True)
class Tested:
    """A mean square of the known answers with its test."""

    square: MeanSquare
    p: float
    critical: float  # the largest value that is not rejected
    inference: dict[Question, Inference]
    null: Float64Array  # draws of it where nothing leans, shape (draws,)
    # The share of the images without an answer, the 'least' and the 'most' that it may be for all
    # images, and 'p_like_the_rest', the p-value if these are like the others.
    unanswered: dict[str, float] = field(default_factory=dict)

    @property
    def bounds(self) -> dict[str, Estimate]:
        """What is known of the mean square of all images, as scores."""
        names = ("unanswered_share", "squared_lean_least", "squared_lean_most")
        values = self.unanswered.values()
        return {
            name: Estimate(value) for name, value in zip(names, values, strict=False)
        }


@dataclass(frozen=True, slots=True)
class _Mistakes:
    """What mistakes of several people can do to a mean square.

    With the accuracy A a majority reads a lean of θ from expected shares r as A θ + (1 − A) c, with
    c = 1/k − r. So the root of a mean square is off by (1 − A) |c| at most, after which 1 / A
    times it is the largest that it may be.
    """

    accuracy: float  # the least
    offset: float  # the largest of (1 − A) |c|

    def applied(self, test: Tested, null: Float64Array) -> Tested:
        """A test and intervals with room for the mistakes."""
        if self.accuracy >= 1:
            return test
        p, noise = test.p, test.square.noise
        if self.offset > 0:
            beyond = (
                max(0.0, max(test.square.value + noise, 0.0) ** 0.5 - self.offset) ** 2
            )
            p = p_value(null, beyond - noise, "greater", exact=False)
        inference = {
            question: self._widened(ends, p, test.square.top)
            for question, ends in test.inference.items()
        }
        return replace(test, p=p, inference=inference)

    def _widened(self, ends: Inference, p: float, top: float) -> Inference:
        if ends.ci_low is None or ends.ci_high is None:
            return ends
        low, high = ends.ci_low, ends.ci_high
        if low > 0:
            low = max(0.0, low**0.5 - self.offset) ** 2
        root = (max(high, 0.0) ** 0.5 + self.offset) / max(self.accuracy, _LEAST)
        return replace(ends, ci_low=low, ci_high=max(high, min(top, root**2)), p=p)


def _mistakes_of(rows: Sequence[CountedRow]) -> _Mistakes:
    sizes = Counter(row.bias for row in rows)
    offset = 0.0
    for row in rows:
        even = 1 / len(row.expected)
        distance = float(((even - row.expected) ** 2).sum()) / (1 - even)
        wrong = 0.0 if row.accuracy is None else 1 - row.accuracy.low
        offset += wrong**2 * distance / (len(sizes) * sizes[row.bias])
    accuracy = min(1.0 if row.accuracy is None else row.accuracy.low for row in rows)
    return _Mistakes(accuracy, float(settled(offset)) ** 0.5)


class Nulls:
    """Each bias's mean squared lean where nothing leans; `complete` are the rows of all images."""

    def __init__(
        self,
        rows: Sequence[CountedRow],
        complete: Sequence[CountedRow],
        n_draws: int,
        rng: np.random.Generator,
    ) -> None:
        self.complete = complete
        self._biases = sorted({row.bias for row in rows})
        self._answered = null_means(rows, n_draws, rng)
        self._all = self._answered
        if any(len(row.unanswered) for row in complete):
            self._all = null_means(
                [completed(row, piled=False) for row in complete], n_draws, rng
            )

    def tested(self, rows: Sequence[CountedRow], level: float) -> Tested:
        """The test of the mean square of rows.

        Whatever the images without an answer show, the mean square of all images lies between
        those of the answers that make it least and most. Its test is that of the least among
        answers about all images, and its interval reaches from the lower end of the least's to the
        upper end of the most's.
        """
        biases = {row.bias for row in rows}
        columns = [self._biases.index(bias) for bias in sorted(biases)]
        null, everything = (
            draws[:, columns].mean(axis=1) for draws in (self._answered, self._all)
        )
        mistakes = _mistakes_of(rows)
        found = mistakes.applied(tested(mean_square_of(rows), null, level), null)
        whole = [row for row in self.complete if row.bias in biases]
        lost = sum(len(row.unanswered) for row in whole)
        if not lost:
            return found
        least, most = (
            mistakes.applied(
                tested(
                    mean_square_of([completed(row, piled=piled) for row in whole]),
                    everything,
                    level,
                ),
                everything,
            )
            for piled in (False, True)
        )
        inference = {
            question: ends.up_to(most.inference[question], found.square.value)
            for question, ends in least.inference.items()
        }
        unanswered = {
            "share": lost / (lost + sum(len(row.codes) for row in whole)),
            "least": least.square.value,
            "most": most.square.value,
            "p_like_the_rest": found.p,
        }
        return replace(found, p=least.p, inference=inference, unanswered=unanswered)


def noise_of(square: MeanSquare, null: Float64Array) -> SquareNoise:
    """What a mean square owes to noise, which has a bound even where all answers are alike.

    For two classes, shares p and an expected r ≥ ½ the variance is 4 p (1 − p) / n, and at most
    √T (1 − x/T) / n. The bound has the weight of two images.
    """
    noise = max(square.noise, _LEAST)  # an expected share of 1 leaves none
    bound, df = square.steepest, square.df
    along = (df * min(_slope(square, square.influence.variance), bound) + 2 * bound) / (
        df + 2
    )
    return SquareNoise(noise, (float(null.var()) / (2 * noise), along), df, square.top)


def _slope(square: MeanSquare, variance: float) -> float:
    noise, rest = max(square.noise, _LEAST), max(1.0 - square.value / square.top, 0.0)
    return (
        variance / (2 * noise + 4 * max(square.value, 0.0)) / rest
        if rest > 0
        else np.inf
    )


def tested(square: MeanSquare, null: Float64Array, level: float) -> Tested:
    """The test of a mean square, and intervals that agree with it.

    Both questions have one test: a mean of squares is 0 only where each of them is. `null` are
    draws of it where nothing leans.
    """
    p = p_value(null, square.value, "greater", exact=False)
    critical = critical_value(null, level)
    own, clusters = noise_of(square, null), square.clusters

    def inference(along: float, df: float) -> Inference:
        seen, limit, slopes = (
            square.value + own.noise,
            critical + own.noise,
            (own.slopes[0], along),
        )
        low, high = square_interval(
            seen, limit, own.noise, slopes, df, level, top=own.top
        )
        return Inference(low, high, p, df)

    along = own.slopes[1]
    found: dict[Question, Inference] = {square.question: inference(along, own.df)}
    if not square.pooled:
        found["prompt_population"] = Inference(reason="a bias has a single caption")
        if clusters is not None:
            units, varied = len(clusters.value), clusters.variance > 0
            df = max(1.0, min(clusters.df if varied else float(units), units - 1.0))
            between = _slope(square, clusters.variance) if varied else 0.0
            found["prompt_population"] = inference(max(along, between), df)
    return Tested(square, p, critical, found, null)
