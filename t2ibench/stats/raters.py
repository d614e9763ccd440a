"""Agreement of several people who answered about the same images, and their error rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement
from math import factorial, prod

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.stats.categorical import cohens_kappa, krippendorff_alpha
from t2ibench.stats.clopper_pearson import clopper_pearson

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
    """A number with its interval; None stands for what is unknown."""

    value: float | None
    low: float | None = None
    high: float | None = None


def exact_share(hits: int, total: int, level: float = 0.95) -> Interval:
    """Return a share of items, with the exact interval of Clopper and Pearson.

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
    low, high = clopper_pearson(hits, total, level)
    return Interval(value=hits / total, low=low, high=high)


def alpha_interval(
    people: Sequence[Sequence[str | None]],
    rng: np.random.Generator,
    level: float = 0.95,
) -> Interval:
    """Return Krippendorff's alpha of several people, with an interval from resampled images.

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
    value = krippendorff_alpha(people)
    if not np.isfinite(value):
        return Interval(None)
    counts = _counts_of_shared(people)
    images = len(counts)
    # The pairs of an image with m answers count 1 / (m − 1) each.
    sizes = counts.sum(axis=1)
    equal_pairs = (counts**2).sum(axis=1)
    unequal_pairs = sizes**2 - equal_pairs
    disagreement = unequal_pairs / (sizes - 1)
    # The same sums of each draw, over the images as often as it has them.
    weights = _resampled(images, rng)
    totals = weights @ counts
    answers = totals.sum(axis=1)
    equal_expected = (totals**2).sum(axis=1)
    expected = answers**2 - equal_expected
    observed = weights @ disagreement
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = 1.0 - (answers - 1) * observed / expected
    return _percentiles(
        value=value,
        draws=draws,
        chance=_chance(counts),
        images=images,
        level=level,
    )


def _counts_of_shared(people: Sequence[Sequence[str | None]]) -> Float64Array:
    """Return how many people gave each class to each image with two answers or more.

    Shape (images, k).
    """
    shared = []
    for answers in zip(*people, strict=True):
        given = [answer for answer in answers if answer]
        if len(given) > 1:
            shared.append(Counter(given))
    names = sorted(set().union(*shared))
    rows = [[counted[name] for name in names] for counted in shared]
    return np.array(rows, dtype=np.float64)


def kappa_interval(
    first: Sequence[str],
    second: Sequence[str],
    rng: np.random.Generator,
    level: float = 0.95,
) -> Interval:
    """Return Cohen's kappa of two people, with an interval from resampled images.

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
    ours = _one_hot(first, names)
    theirs = _one_hot(second, names)
    images = len(ours)
    size = float(images)
    weights = _resampled(images, rng)
    # A and E of each draw; see `cohens_kappa`.
    equal_answers = (ours * theirs).sum(axis=1)
    equal = weights @ equal_answers / size
    our_totals = weights @ ours
    their_totals = weights @ theirs
    equal_pairs = (our_totals * their_totals).sum(axis=1)
    chance = equal_pairs / size**2
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = (equal - chance) / (1 - chance)
    # E of the images themselves.
    our_counts = ours.sum(axis=0)
    their_counts = theirs.sum(axis=0)
    equal_by_chance = float((our_counts * their_counts).sum())
    return _percentiles(
        value=value,
        draws=draws,
        chance=1 - equal_by_chance / size**2,
        images=images,
        level=level,
    )


def _one_hot(answers: Sequence[str], names: Sequence[str]) -> Float64Array:
    """Return answers as indicators of the classes, shape (images, classes)."""
    codes = np.array([names.index(answer) for answer in answers])
    is_class = codes[:, None] == np.arange(len(names))
    one_hot: Float64Array = is_class.astype(np.float64)
    return one_hot


def _resampled(count: int, rng: np.random.Generator) -> Float64Array:
    """Return how often bootstrap samples contain each image, shape (draws, images)."""
    probabilities = np.full(count, 1 / count)
    drawn = rng.multinomial(count, probabilities, size=DRAWS)
    return drawn.astype(np.float64)


def _chance(counts: Float64Array) -> float:
    """Return the chance disagreement: how often two random answers about any images differ."""
    totals = counts.sum(axis=0)
    size = totals.sum()
    pairs = size * (size - 1)
    equal_pairs = (totals**2).sum()
    unequal_pairs = size**2 - equal_pairs
    return float(unequal_pairs / pairs)


def _percentiles(
    value: float, draws: Float64Array, chance: float, images: int, level: float
) -> Interval:
    """Return the percentile interval of an agreement coefficient, from bootstrap draws.

    The coefficient is 1 − disagreement / chance.
    """
    tail = (1 - level) / 2
    if value >= 1 - _LEAST:
        # With this share of disputed images, none is among n of them with probability `tail`.
        disputed = 1 - tail ** (1 / images)
        least = -1.0
        if chance > 0:
            least = max(least, 1 - disputed / chance)
        return Interval(value=value, low=least, high=1.0)
    finite = draws[np.isfinite(draws)]
    ends = np.quantile(finite, [tail, 1 - tail])
    low, high = ends.tolist()
    return Interval(
        value=value,
        low=min(low, value),
        high=max(high, value),
    )


def most_voted(votes: Sequence[str]) -> str | None:
    """Return the answer that most people gave; None if several are the most frequent.

    Args:
        votes: One answer a person.

    Returns:
        The answer.

    Example:
        >>> most_voted(["a", "b", "a"]), most_voted(["a", "b"])
        ('a', None)
    """
    ranked = Counter(votes).most_common()
    if not ranked:
        return None
    winner, most = ranked[0]
    n_winners = sum(count == most for _, count in ranked)
    return winner if n_winners == 1 else None


@dataclass(frozen=True, slots=True)
class MajorityAccuracy:
    """The accuracy of majority answers about images, corrected for guesses.

    With the accuracy A, a majority reads a true share p of one of k classes as 1/k + A (p − 1/k):
    A is 1 for people who do not err, and 0 for people who guess.
    """

    value: float
    low: float  # the least that their disagreement leaves possible
    k: int = 2  # classes

    def widened(self, interval: tuple[float, float]) -> tuple[float, float]:
        """Return the interval of a true share, given that of the share of majority answers.

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
        lowest = min(read_low, low)
        highest = max(read_high, round(high, 12))
        return max(0.0, lowest), min(1.0, highest)

    def read(self, share: float) -> tuple[float, float]:
        """Return the least and the largest share of majority answers that a true share may give.

        Example:
            >>> MajorityAccuracy(0.9, 0.5).read(0.9)
            (0.7, 0.9)
        """
        even = 1 / self.k
        of_least_accuracy = even + self.low * (share - even)
        low = min(share, of_least_accuracy)
        high = max(share, of_least_accuracy)
        return round(low, 12), round(high, 12)


def majority_accuracy(
    votes: npt.ArrayLike,
    prompts: npt.ArrayLike,
    k: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> MajorityAccuracy | None:
    """Return the accuracy of majority answers about images, estimated from disagreements.

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
        votes=np.asarray(votes, dtype=np.int64),
        prompts=np.asarray(prompts, dtype=np.int64),
        k=k,
    )
    if not table.disputed:
        return None
    images = len(table.sizes)
    # Images are drawn again within their prompts.
    weights = np.zeros((DRAWS, images))
    for prompt in np.unique(table.prompts):
        of_prompt = np.flatnonzero(table.prompts == prompt)
        weights[:, of_prompt] = _resampled(len(of_prompt), rng)
    each_once = np.ones((1, images))
    value = float(table.accuracy(each_once)[0])
    draws = table.accuracy(weights)
    tail = (1 - level) / 2
    end = float(np.quantile(draws, tail))
    low = max(0.0, min(end, value))
    return MajorityAccuracy(value=value, low=low, k=k)


@dataclass(frozen=True)
class _Votes:
    """People's votes about the class of each image, with the images' prompts."""

    votes: IntArray
    prompts: IntArray
    k: int

    @cached_property
    def counts(self) -> Float64Array:
        """Number of votes for each class about each image, shape (images, k)."""
        is_class = self.votes[..., None] == np.arange(self.k)
        n_votes = is_class.sum(axis=1)
        counted: Float64Array = n_votes.astype(np.float64)
        return counted

    @cached_property
    def sizes(self) -> Float64Array:
        """Number of votes about each image, shape (images,)."""
        total: Float64Array = self.counts.sum(axis=1)
        return total

    @property
    def disputed(self) -> bool:
        """Whether people disagree about any image."""
        largest = self.counts.max(axis=1, initial=0.0)
        in_several_classes = largest < self.sizes
        return bool(in_several_classes.any())

    def accuracy(self, weights: Float64Array) -> Float64Array:
        """Return the accuracy of majority answers in each bootstrap sample, shape (draws,)."""
        agreement = np.clip(self._agreement(weights), 0.0, 1.0)
        fitted = self._seen(weights, agreement)
        # a is least where all images are clear: w = 1 and a = √S.
        seen = np.maximum(fitted, np.sqrt(agreement))
        clear = np.divide(
            agreement,
            seen**2,
            out=np.zeros_like(seen),
            where=seen > 0,
        )
        result = np.zeros(len(weights))
        for size, images in self._mix.items():
            decided, right = _majority_table(size, self.k)
            decided_of_clear = np.interp(seen, _GRID, decided)
            decided_of_guesses = decided[0]
            of_clear = clear * decided_of_clear
            of_others = (1 - clear) * decided_of_guesses
            with_majority = of_clear + of_others
            accuracy = np.interp(seen, _GRID, right)
            result += images * of_clear * accuracy / with_majority
        return result

    @cached_property
    def _mix(self) -> dict[int, float]:
        """Share of images with each number of votes, among images with a majority."""
        ordered = np.sort(self.counts, axis=1)
        most = ordered[:, -1]
        second_most = ordered[:, -2]
        sizes = self.sizes[most > second_most]
        images = len(sizes)
        counted = Counter(int(min(size, _MOST_VOTES)) for size in sizes)
        return {size: count / images for size, count in sorted(counted.items())}

    def _agreement(self, weights: Float64Array) -> Float64Array:
        """Return the mean agreement of two people, corrected for guesses, shape (draws,)."""
        several = self.sizes > 1
        counts = self.counts[several]
        sizes = self.sizes[several]
        equal_pairs = (counts * (counts - 1)).sum(axis=1)
        pairs = sizes * (sizes - 1)
        same = equal_pairs / pairs
        beyond = (self.k * same - 1) / (self.k - 1)
        chosen = weights[:, several]
        images = np.maximum(chosen.sum(axis=1), _LEAST)
        mean: Float64Array = chosen @ beyond / images
        return mean

    def _seen(self, weights: Float64Array, agreement: Float64Array) -> Float64Array:
        """Return one person's accuracy on clear images, from the agreement of three people.

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
        chosen = weights[:, several]
        prompts = self.prompts[several]
        # Of each draw, the sums over prompts and classes of x², xy, y², x and y, with x the mean
        # indicator of a prompt's images and y the mean of the triple products.
        sums = np.zeros((len(weights), 5))
        for prompt in np.unique(prompts):
            of_prompt = chosen * (prompts == prompt)
            images = np.maximum(of_prompt.sum(axis=1, keepdims=True), _LEAST)
            x = of_prompt @ mean / images
            y = of_prompt @ triple / images
            parts = [x * x, x * y, y * y, x, y]
            sums_of_classes = [part.sum(axis=1) for part in parts]
            sums += images * np.column_stack(sums_of_classes)
        total = chosen.sum(axis=1)[:, None] * self.k
        xx, xy, yy, x, y = (column[:, None] for column in sums.T)
        # y is predicted as u + v x at each a of the grid: u = S a e and v = a² f.
        u = agreement[:, None] * _GRID * offset
        v = _GRID**2 * factor
        loss = yy - 2 * u * y - 2 * v * xy
        loss = loss + 2 * u * v * x
        loss = loss + u**2 * total
        loss = loss + v**2 * xx
        least = np.sqrt(agreement)[:, None]
        allowed = least - _LEAST <= _GRID
        rounded = np.round(loss, 12)
        best = np.where(allowed, rounded, np.inf).argmin(axis=1)
        fitted: Float64Array = _GRID[best]
        return fitted

    def _moments(
        self, several: npt.NDArray[np.bool_]
    ) -> tuple[Float64Array, Float64Array]:
        """Return the mean, and mean triple product, of people's votes for each image and class.

        A vote x is the indicator of the class less 1/k; triples are of three different people.
        """
        counts = self.counts[several]
        sizes = self.sizes[several][:, None]
        others = sizes - counts
        even = 1 / self.k

        def power_sum(power: int) -> Float64Array:
            """Return the sum over people of a power of their votes, each 1 − 1/k or −1/k."""
            of_class = counts * (1 - even) ** power
            of_others = others * (-even) ** power
            total: Float64Array = of_class + of_others
            return total

        first = power_sum(1)
        second = power_sum(2)
        third = power_sum(3)
        mean = first / sizes
        # Newton's identity: the sum of the products of three different people's x.
        triples = sizes * (sizes - 1) * (sizes - 2)
        products = first**3 - 3 * first * second + 2 * third
        return mean, products / triples


@lru_cache(maxsize=64)
def _majority_table(votes: int, k: int) -> tuple[Float64Array, Float64Array]:
    """Return how often votes have a majority, and its accuracy, for each accuracy of a person.

    Both are given for each accuracy of the grid; accuracies are corrected for guesses.

    Example:
        >>> decided, right = _majority_table(3, 2)
        >>> bool((decided > 1 - 1e-9).all()), round(float(right[50]), 4)  # 1.5 · .5 − .5 · .5³
        (True, 0.6875)
    """
    # Class 0 is the true one. A person gives it, or any other one, with these probabilities.
    another = (1 - _GRID) / k
    truth = _GRID + another
    decided = np.zeros(len(_GRID))
    right = np.zeros(len(_GRID))
    for codes in combinations_with_replacement(range(k), votes):
        winner = most_voted([str(code) for code in codes])
        if winner is None:
            continue
        counts = Counter(codes)
        orders_of_same = prod(factorial(count) for count in counts.values())
        ways = factorial(votes) / orders_of_same
        n_right = counts[0]
        n_wrong = votes - n_right
        chance = ways * truth**n_right * another**n_wrong
        decided += chance
        if winner == "0":
            right += chance
    even = np.full(len(_GRID), 1 / k)
    share = np.divide(right, decided, out=even, where=decided > 0)
    accuracy = (k * share - 1) / (k - 1)
    return decided, accuracy


def coded(answers: Sequence[Mapping[str, str]], classes: Sequence[str]) -> IntArray:
    """Return people's votes about images as indices of classes, shape (images, people).

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
    codes = np.full((len(answers), len(people)), NO_CLASS, dtype=np.int64)
    for row, image in enumerate(answers):
        for column, name in enumerate(people):
            answer = image.get(name, "")
            codes[row, column] = numbers.get(answer, NO_CLASS)
    return codes
