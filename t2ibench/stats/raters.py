"""Several people who answered about the same images: how far they agree, and how often they err."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats.categorical import cohens_kappa, krippendorff_alpha

# The code of a person who gave no class.
NO_CLASS = -1
# Bootstrap samples of images.
DRAWS = 400
# Accuracies of a person.
_GRID = np.linspace(0.0, 1.0, 101)
# More votes are counted as five, which makes the majority less sure.
_MOST_VOTES = 5
_LEAST = 1e-9


@dataclass(frozen=True, slots=True)
class Interval:
    """A number with its 95 % interval; None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None


def exact_share(hits: int, total: int, level: float = 0.95) -> Interval:
    """Return the share of items, with the interval of Clopper and Pearson.

    Args:
        hits: Items with the property.
        total: Items.
        level: Confidence level, in (0, 1).

    Returns:
        The share; without a value where there are no items.

    Source: Clopper & Pearson 1934.

    Example:
        >>> found = exact_share(11, 12)
        >>> round(found.low, 3), round(found.high, 3)
        (0.615, 0.998)
    """
    if not total:
        return Interval(None)
    tail = (1 - level) / 2
    low = 0.0
    if hits:
        low = float(betaincinv(hits, total - hits + 1, tail))
    high = 1.0
    if hits < total:
        high = float(betaincinv(hits + 1, total - hits, 1 - tail))
    return Interval(value=hits / total, low=low, high=high)


def alpha_interval(
    people: Sequence[Sequence[str | None]],
    rng: np.random.Generator,
    level: float = 0.95,
) -> Interval:
    """Krippendorff's alpha of several people, with an interval over images.

    Images are drawn again, with all answers about them. Where nobody disagrees about any of n
    images, the lower end is that of a share 1 − tail^(1/n) of disputed images.

    Args:
        people: One list of classes a person, one entry an image, None without an answer.
        rng: Of the draws.
        level: Confidence level, in (0, 1).

    Returns:
        Alpha; without a value where no image has two answers, or only one class occurs.

    Source: Krippendorff 2011; Efron & Tibshirani 1993, section 13, for the percentile interval.

    Example:
        >>> first, second = ["a"] * 10 + ["b"] * 10, ["a"] * 9 + ["b"] * 11
        >>> found = alpha_interval([first, second], np.random.default_rng(0))
        >>> round(found.value, 2), 0.6 < found.low < 0.9 <= found.high
        (0.9, True)
    """
    items = [
        [answer for answer in answers if answer]
        for answers in zip(*people, strict=True)
    ]
    shared = [Counter(answers) for answers in items if len(answers) > 1]
    value = krippendorff_alpha(people)
    if not np.isfinite(value):
        return Interval(None)
    names = sorted(set().union(*shared))
    counts = np.array(
        [[item[name] for name in names] for item in shared], dtype=np.float64
    )
    sizes = counts.sum(axis=1)
    unequal = (sizes**2 - (counts**2).sum(axis=1)) / (sizes - 1)
    weights = _resampled(len(counts), rng)
    totals = weights @ counts
    pairs = totals.sum(axis=1)
    expected = pairs**2 - (totals**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = 1.0 - (pairs - 1) * (weights @ unequal) / expected
    chance = float((pairs - 1)[0] and _chance(counts))
    return _percentiles(value, draws, chance, len(counts), level)


def kappa_interval(
    first: Sequence[str],
    second: Sequence[str],
    rng: np.random.Generator,
    level: float = 0.95,
) -> Interval:
    """Cohen's kappa of two people, with an interval over images.

    Args:
        first: One person's classes, one an image.
        second: The other's, of the same images.
        rng: Of the draws of images.
        level: Confidence level, in (0, 1).

    Returns:
        Kappa; without a value where both only ever give one and the same class.

    Source: Cohen 1960; Efron & Tibshirani 1993, section 13. See `alpha_interval`.

    Example:
        >>> found = kappa_interval(["a"] * 6 + ["b"] * 6, ["a"] * 6 + ["b"] * 6,
        ...                        np.random.default_rng(0))
        >>> found.value, found.low < 1, found.high
        (1.0, True, 1.0)
    """
    value = cohens_kappa(first, second)
    if not np.isfinite(value):
        return Interval(None)
    names = sorted({*first, *second})
    ours = _one_hot([names.index(name) for name in first], len(names))
    theirs = _one_hot([names.index(name) for name in second], len(names))
    weights = _resampled(len(ours), rng)
    size = float(len(ours))
    chance = ((weights @ ours) * (weights @ theirs)).sum(axis=1) / size**2
    equal = weights @ (ours * theirs).sum(axis=1) / size
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = (equal - chance) / (1 - chance)
    by_chance = 1 - float((ours.sum(axis=0) * theirs.sum(axis=0)).sum()) / size**2
    return _percentiles(value, draws, by_chance, len(ours), level)


def _one_hot(codes: Sequence[int], k: int) -> Float64Array:
    matrix: Float64Array = np.equal.outer(np.asarray(codes), np.arange(k)).astype(
        np.float64
    )
    return matrix


def _resampled(count: int, rng: np.random.Generator) -> Float64Array:
    """Return how often each image is drawn, shape (draws, images)."""
    weights: Float64Array = rng.multinomial(
        count, np.full(count, 1 / count), DRAWS
    ).astype(float)
    return weights


def _chance(counts: Float64Array) -> float:
    """Return the chance disagreement: how often two answers about random images differ."""
    totals = counts.sum(axis=0)
    size = totals.sum()
    return float((size**2 - (totals**2).sum()) / (size * (size - 1)))


def _percentiles(
    value: float, draws: Float64Array, chance: float, images: int, level: float
) -> Interval:
    tail = (1 - level) / 2
    usable = draws[np.isfinite(draws)]
    if value >= 1 - _LEAST:
        disputed = 1 - tail ** (1 / images)
        least = max(-1.0, 1 - disputed / chance) if chance > 0 else -1.0
        return Interval(value=value, low=least, high=1.0)
    low, high = np.quantile(usable, [tail, 1 - tail]).tolist()
    return Interval(value=value, low=min(low, value), high=max(high, value))


def most_voted(votes: Sequence[str]) -> str | None:
    """What most people answered; None where several answers are the most frequent.

    Args:
        votes: One answer a person.

    Returns:
        The answer.

    Example:
        >>> most_voted(["a", "b", "a"]), most_voted(["a", "b"])
        ('a', None)
    """
    ranked = Counter(votes).most_common(2)
    tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    return ranked[0][0] if ranked and not tied else None


@dataclass(frozen=True, slots=True)
class MajorityAccuracy:
    """How much of what images show is in what most people said, corrected for guesses.

    With the accuracy A, a majority reads a true share p of one of k classes as 1/k + A (p − 1/k):
    A is 1 for people who do not err, and 0 for people who guess.
    """

    value: float
    low: float  # the least that their disagreement leaves possible
    k: int = 2  # classes

    def widened(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return the interval of a true share, from that of a share of what most people said.

        It has room for every accuracy from the least to 1.

        Example:
            >>> MajorityAccuracy(0.9, 0.8).widened((0.5, 0.82))
            (0.5, 0.9)
        """
        even = 1 / self.k
        least = max(self.low, _LEAST)
        read_low, read_high = interval
        low = (read_low - even) / least + even
        high = (read_high - even) / least + even
        return max(0.0, min(read_low, low)), min(1.0, max(read_high, round(high, 12)))

    def read(self, share: float) -> tuple[float, float]:
        """Between which shares a true one may be read.

        Example:
            >>> MajorityAccuracy(0.9, 0.5).read(0.9)
            (0.7, 0.9)
        """
        even = 1 / self.k
        ends = sorted((share, even + self.low * (share - even)))
        return round(ends[0], 12), round(ends[1], 12)


def majority_accuracy(
    votes: npt.ArrayLike,
    prompts: npt.ArrayLike,
    k: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> MajorityAccuracy | None:
    """Return how far what most people say about images can be wrong, from how they disagree.

    Of an image that is clear, a person sees the class with probability a, and otherwise guesses
    among all k; of others everybody guesses. With a share w of clear images two people's agreement
    beyond guesses is S = (k P(same) − 1) / (k − 1) = w a², whatever the images show (Bennett's S;
    Maxwell's random error coefficient). How often three people say the same tells a from w. Of one
    or two people only S is known, and all images are taken as clear. A follows from a, w and the
    number of people; its lower end is the bootstrap's over images. It is never below S for any
    mixture of difficulties.

    Args:
        votes: Number of the class that each person gave each image, shape (images, people), −1
            without a class.
        prompts: Number of each image's prompt, shape (images,).
        k: Number of classes.
        rng: Of the draws of images.
        level: Confidence level, in (0, 1).

    Returns:
        The accuracy; None where no image has two votes, or nobody disagrees about any.

    Source: Bennett, Alpert & Goldstein 1954; Maxwell 1977, "Coefficients of agreement between
        observers and their interpretation"; the rest is derived here.

    Example:
        Three people, one of whom is wrong about every fourth image:

        >>> votes = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]] * 10)
        >>> found = majority_accuracy(votes, np.zeros(40, int), 2, np.random.default_rng(0))
        >>> round(found.value, 2), 0.7 < found.low < found.value
        (0.95, True)
    """
    table = _Votes(
        np.asarray(votes, dtype=np.int64), np.asarray(prompts, dtype=np.int64), k
    )
    if not table.disputed:
        return None
    weights = np.zeros((DRAWS, len(table.sizes)))
    for prompt in np.unique(table.prompts):
        of_prompt = np.flatnonzero(table.prompts == prompt)
        weights[:, of_prompt] = _resampled(len(of_prompt), rng)
    value = float(table.accuracy(np.ones((1, len(table.sizes))))[0])
    low = float(np.quantile(table.accuracy(weights), (1 - level) / 2))
    return MajorityAccuracy(value, max(0.0, min(low, value)), k)


@dataclass(frozen=True)
class _Votes:
    """Votes about images, with their moments."""

    votes: IntArray
    prompts: IntArray
    k: int

    @cached_property
    def counts(self) -> Float64Array:
        """Votes of each class, shape (images, k)."""
        counted: Float64Array = (
            (self.votes[..., None] == np.arange(self.k)).sum(axis=1).astype(float)
        )
        return counted

    @cached_property
    def sizes(self) -> Float64Array:
        """Votes, shape (images,)."""
        total: Float64Array = self.counts.sum(axis=1)
        return total

    @property
    def disputed(self) -> bool:
        """Return whether people disagree about any image."""
        return bool((self.counts.max(axis=1, initial=0.0) < self.sizes).any())

    def accuracy(self, weights: Float64Array) -> Float64Array:
        """Return a for images drawn as often as the weights say, shape (draws,)."""
        agreement = np.clip(self._agreement(weights), 0.0, 1.0)
        seen = np.maximum(self._seen(weights, agreement), np.sqrt(agreement))
        clear = np.divide(agreement, seen**2, out=np.zeros_like(seen), where=seen > 0)
        result = np.zeros(len(weights))
        for size, images in self._mix.items():
            decided, right = _majority_table(size, self.k)
            of_clear = clear * np.interp(seen, _GRID, decided)
            of_others = (1 - clear) * decided[0]
            accuracy = np.interp(seen, _GRID, right)
            result += images * of_clear * accuracy / (of_clear + of_others)
        return result

    @cached_property
    def _mix(self) -> dict[int, float]:
        """Share of the images with each number of votes, of those with a majority."""
        ordered = np.sort(self.counts, axis=1)
        decided = self.sizes[ordered[:, -1] > ordered[:, -2]]
        counted = Counter(int(min(size, _MOST_VOTES)) for size in decided)
        return {size: count / len(decided) for size, count in sorted(counted.items())}

    def _agreement(self, weights: Float64Array) -> Float64Array:
        """Mean agreement of two people beyond guesses, shape (draws,)."""
        several = self.sizes > 1
        counts = self.counts[several]
        sizes = self.sizes[several]
        same = (counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))
        beyond = (self.k * same - 1) / (self.k - 1)
        chosen = weights[:, several]
        mean: Float64Array = chosen @ beyond / np.maximum(chosen.sum(axis=1), _LEAST)
        return mean

    def _seen(self, weights: Float64Array, agreement: Float64Array) -> Float64Array:
        """Return how well a person sees a clear image, from what three people say alike.

        With x the indicator of a class less 1/k, E[x x x] = S a e + a² f E[x], f = (1 − 1/k)³ +
        1/k³ and e = f/k − 1/k³. The a with the least squared differences, over prompts and classes.
        """
        several = self.sizes > 2
        if not several.any():
            return np.sqrt(agreement)
        even = 1 / self.k
        factor = (1 - even) ** 3 + even**3
        offset = factor * even - even**3
        mean, triple = self._moments(several)
        sums = np.zeros((len(weights), 5))
        for prompt in np.unique(self.prompts[several]):
            of_prompt = weights[:, several] * (self.prompts[several] == prompt)
            images = np.maximum(of_prompt.sum(axis=1, keepdims=True), _LEAST)
            x = of_prompt @ mean / images
            y = of_prompt @ triple / images
            parts = [x * x, x * y, y * y, x, y]
            sums += images * np.column_stack([part.sum(axis=1) for part in parts])
        total = weights[:, several].sum(axis=1) * self.k
        xx, xy, yy, x, y = (column[:, None] for column in sums.T)
        linear = agreement[:, None] * _GRID * offset
        square = _GRID**2 * factor
        loss = yy - 2 * linear * y - 2 * square * xy + 2 * linear * square * x
        loss = loss + linear**2 * total[:, None] + square**2 * xx
        allowed = np.sqrt(agreement)[:, None] - _LEAST <= _GRID
        best: IntArray = np.where(allowed, np.round(loss, 12), np.inf).argmin(axis=1)
        chosen: Float64Array = _GRID[best]
        return chosen

    def _moments(
        self, several: npt.NDArray[np.bool_]
    ) -> tuple[Float64Array, Float64Array]:
        """Of each image and class, the mean of x over people, and of x x x over three of them."""
        counts = self.counts[several]
        sizes = self.sizes[several][:, None]
        even = 1 / self.k
        first, second, third = (
            counts * (1 - even) ** power + (sizes - counts) * (-even) ** power
            for power in (1, 2, 3)
        )
        triples = sizes * (sizes - 1) * (sizes - 2)
        return first / sizes, (first**3 - 3 * first * second + 2 * third) / triples


@lru_cache(maxsize=64)
def _majority_table(votes: int, k: int) -> tuple[Float64Array, Float64Array]:
    """How often votes have a majority, and its accuracy beyond guesses, over a grid of people's.

    Example:
        >>> decided, right = _majority_table(3, 2)
        >>> bool((decided > 1 - 1e-9).all()), round(float(right[50]), 4)  # 1.5 · .5 − .5 · .5³
        (True, 0.6875)
    """
    truth = _GRID + (1 - _GRID) / k
    another = (1 - _GRID) / k
    decided = np.zeros(len(_GRID))
    right = np.zeros(len(_GRID))
    for codes in combinations_with_replacement(range(k), votes):
        counts = Counter(codes)
        winner = most_voted([str(code) for code in codes])
        if winner is None:
            continue
        ways = factorial(votes) / prod(factorial(count) for count in counts.values())
        chance = ways * truth ** counts[0] * another ** (votes - counts[0])
        decided += chance
        right += chance * (winner == "0")
    share = np.divide(right, decided, out=np.full(len(_GRID), 1 / k), where=decided > 0)
    return decided, (k * share - 1) / (k - 1)


def coded(answers: Sequence[Mapping[str, str]], classes: Sequence[str]) -> IntArray:
    """Votes about images as numbers.

    Args:
        answers: For each image, person to answer.
        classes: The classes, by number.

    Returns:
        Shape (images, people), people by name; −1 for anything but a class.

    Example:
        >>> coded([{"anna": "b", "ben": "a"}, {"ben": "unknown"}], ["a", "b"]).tolist()
        [[1, 0], [-1, -1]]
    """
    people = sorted({name for image in answers for name in image})
    numbers = {name: number for number, name in enumerate(classes)}
    rows = [
        [numbers.get(image.get(name, ""), NO_CLASS) for name in people]
        for image in answers
    ]
    return np.array(rows, dtype=np.int64).reshape(len(answers), len(people))
