"""The images of a prompt and of its counterfactuals as bags of concepts, and their resamples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.concepts import Synonyms, concept_counts
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import UNKNOWN, Evidence
from t2ibench.methods.tibet.schema import Axis, TibetPrompt, TibetTask, questions_of
from t2ibench.settings import Settings
from t2ibench.stats import concept_association, mad
from t2ibench.stats.rounding import settled

_ROUNDING = 1e-9
CAS, MAD = "concept_association_score", "mean_absolute_deviation"


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """The images of one prompt as one axis sees them."""

    prompt: str
    units: IntArray  # which sample each is, shape (n,)
    features: Float64Array  # shape (n, d)


@dataclass(frozen=True, slots=True)
class Mixture:
    """Shares of k counterfactuals, and how each image moves them.

    Influences are scaled so that their squares sum to the variance of a share.
    """

    # shape (k,), of sum 1; each may lie outside of 0 to 1 by chance
    shares: Float64Array
    # influence of each of the prompt's images, then of each counterfactual's, and in the last row
    # of the one more that it takes for at least some variance, shape (n + 1, k) each
    moved: tuple[Float64Array, ...]
    # the same if all shares are 1 / k, for the test that they are
    even: tuple[Float64Array, ...]
    # part of the variances' sum that the influences count twice: products of the errors of two
    # means, which are the errors of both
    twice: float


@dataclass(frozen=True, slots=True)
class Separation:
    """How well the images of the counterfactuals can be told apart."""

    ratio: float  # the least squared distance between them over its standard error
    # the two nearest; None where every two differ, but one is like a mixture of the others
    pair: tuple[int, int] | None


def mixture(
    start: Float64Array, changed: Sequence[Float64Array], *, invert: bool = True
) -> Mixture:
    """The shares of k counterfactuals among a prompt's images.

    Features have the shape (n, d) for n images, two or more of each. Without `invert` P = B B': not
    shares but B B' (r - G 1/K), which needs no counterfactuals that differ, and is 0 where the
    shares are even.

    Examples:
        Three of four images show a man, and so does every image of the first counterfactual:

        >>> man, woman = [1.0, 0.0], [0.0, 1.0]
        >>> start = np.array([man, man, man, woman])
        >>> found = mixture(start, [np.array([man] * 4), np.array([woman] * 4)])
        >>> found.shares.round(6).tolist()
        [0.75, 0.25]
    """
    k = len(changed)
    means = np.stack([rows.mean(axis=0) for rows in changed])
    gram = _gram(changed, means)
    centring, basis = np.eye(k) - 1.0 / k, contrast_basis(k)
    solve: Float64Array = centring
    if invert:
        solve = basis @ np.linalg.pinv(basis.T @ gram @ basis, _ROUNDING) @ basis.T
    even = np.full(k, 1.0 / k)
    centre = start.mean(axis=0)
    shares = even + solve @ (means @ centre - gram @ even)
    # The one more image is as like each of the counterfactuals.
    usual = np.clip(shares, 0.0, None)
    distances = ((np.eye(k) - usual / usual.sum()) ** 2).sum(axis=1)
    directions = [shares - 1.0 / k, *(np.eye(k) - 1.0 / k)]

    def moved(weights: Float64Array, like: Float64Array) -> tuple[Float64Array, ...]:
        rest = centre - weights @ means
        found = [_scaled((start - centre) @ means.T @ solve)]
        for number, rows in enumerate(changed):
            error = rows - means[number]
            places = -weights[number] * (error @ means.T)
            places[:, number] += error @ rest
            found.append(_scaled(places @ solve))
        least = [float(distances.mean()), *(like**2 * 2 * (k - 1) / k)]
        return tuple(map(_floored, found, least, directions))

    twice = float(np.trace(solve @ _products(start, changed) @ solve))
    inverted = shares if invert else even
    return Mixture(shares, moved(inverted, shares), moved(even, even), twice)


def _floored(
    rows: Float64Array, distance: float, direction: Float64Array
) -> Float64Array:
    """Influences of n images and of what one at a mean squared distance would add."""
    n, variance = len(rows), float((rows**2).sum())
    missing = max(((n - 1) * variance + distance / n) / n - variance, 0.0)
    length = float(np.sqrt(direction @ direction))
    if length < _ROUNDING:
        direction, length = contrast_basis(len(direction))[:, 0], 1.0
    return np.vstack([rows, np.sqrt(missing) * direction / length])


def separation(changed: Sequence[Float64Array]) -> Separation:
    """Whether the counterfactuals' images can be told apart, so that shares mean something.

    The squared distance |sum over k of a_k m_k|² of every pair, and of the contrast a in which the
    counterfactuals differ least, is unbiased; its standard error is at least what it would be if
    one more image of each counterfactual were as like the other counterfactuals as its own: two
    sets of three equal answers are not yet two kinds of image. The ratio of two sets of g images
    that differ in every image is g / 2.

    Examples:
        >>> men, women = np.array([[1.0, 0.0]] * 10), np.array([[0.0, 1.0]] * 10)
        >>> round(separation([men, women]).ratio, 6)
        5.0
    """
    k = len(changed)
    means = np.stack([rows.mean(axis=0) for rows in changed])
    gram = _gram(changed, means)
    pairs = list(combinations(range(k), 2))
    contrasts = [(np.eye(k)[a] - np.eye(k)[b]) / np.sqrt(2) for a, b in pairs]
    basis = contrast_basis(k)
    if k > 2:
        # Answers give equal eigenvalues; among them every processor has to choose alike.
        ties = np.diag(np.arange(1.0, k)) * _ROUNDING * np.abs(gram).max()
        contrasts.append(basis @ np.linalg.eigh(basis.T @ gram @ basis + ties)[1][:, 0])
    ratios = settled([_ratio(contrast, changed, means, gram) for contrast in contrasts])
    least = int(np.argmin(ratios))
    return Separation(
        float(ratios[least]), pairs[least] if least < len(pairs) else None
    )


def contrast_basis(k: int) -> Float64Array:
    """Orthonormal contrasts of k shares, shape (k, k - 1): the first k' against the next (Helmert).

    Examples:
        >>> (contrast_basis(2) * np.sqrt(2)).round(9).tolist()
        [[1.0], [-1.0]]
    """
    basis: Float64Array = np.zeros((k, k - 1))
    for column in range(k - 1):
        size = column + 1
        basis[:size, column] = 1.0 / np.sqrt(size * (size + 1))
        basis[size, column] = -np.sqrt(size / (size + 1))
    return basis


def _gram(changed: Sequence[Float64Array], means: Float64Array) -> Float64Array:
    """Scalar products of means; those of a mean with itself over pairs of different images."""
    gram: Float64Array = means @ means.T
    for number, rows in enumerate(changed):
        n, total = len(rows), rows.sum(axis=0)
        gram[number, number] = (total @ total - (rows**2).sum()) / (n * (n - 1))
    return gram


def _scaled(moved: Float64Array) -> Float64Array:
    """Values of the images of one set as influences on their mean."""
    n = len(moved)
    centred: Float64Array = (moved - moved.mean(axis=0)) / np.sqrt(n * (n - 1))
    return centred


def _ratio(
    contrast: Float64Array,
    changed: Sequence[Float64Array],
    means: Float64Array,
    gram: Float64Array,
) -> float:
    """The squared length of a contrast of means over its standard error."""
    length = float(contrast @ gram @ contrast)
    if not length > _ROUNDING * np.abs(gram).max():
        return -np.inf
    axis = contrast @ means
    places = means @ axis
    involved = contrast != 0
    variance = 0.0
    for number in np.flatnonzero(involved).tolist():
        n = len(changed[number])
        spread = float((changed[number] @ axis).var(ddof=1))
        others = float(((places[involved] - places[number]) ** 2).mean())
        spread = max(spread, ((n - 1) * spread + others) / n)
        variance += 4.0 * float(contrast[number]) ** 2 * spread / n
    return length / float(np.sqrt(variance))


def _products(start: Float64Array, changed: Sequence[Float64Array]) -> Float64Array:
    """Covariance of r - G 1/K that comes from products of the errors of two means, (k, k)."""
    k = len(changed)
    sets = [rows - rows.mean(axis=0) for rows in (start, *changed)]
    found: Float64Array = np.zeros((k, k))
    for a in range(k):
        found[a, a] += _trace(sets[0], sets[a + 1]) + _own_trace(sets[a + 1]) / k**2
        for b in range(k):
            if a != b:
                trace = _trace(sets[a + 1], sets[b + 1]) / k**2
                found[a, a] += trace
                found[a, b] += trace
    return found


def _trace(first: Float64Array, second: Float64Array) -> float:
    """tr(S T) / (n m) of the covariances S and T of two centred sets."""
    n, m = len(first), len(second)
    return float(((first @ second.T) ** 2).sum()) / ((n - 1) * (m - 1) * n * m)


def _own_trace(rows: Float64Array) -> float:
    """2 tr(S²) / (n (n - 1)) of one centred set; unbiased (Bai and Saranadasa 1996)."""
    n = len(rows)
    f = n - 1
    if f < 2:
        return 0.0
    products = rows @ rows.T
    square, trace = float((products**2).sum()) / f**2, float(np.trace(products)) / f
    unbiased = f**2 / ((f - 1) * (f + 2)) * (square - trace**2 / f)
    return 2.0 * max(unbiased, 0.0) / (n * (n - 1))


@dataclass(frozen=True, slots=True)
class ImageSet:
    """The answered images of one prompt."""

    prompt: str
    indices: IntArray  # which sample each is, shape (n,)
    # which answer each image got to each question, shape (n, questions); -1 is none
    answers: IntArray
    embeddings: Float64Array  # shape (m, d), where an encoder saw the images
    excluded: Counter[str]
    floor: float  # concepts that are rarer count as absent
    texts: Sequence[str] = ()
    # how often each concept occurs in an answer, shape (answers, v)
    concepts: Float64Array = field(default_factory=lambda: np.zeros((0, 0)))

    def __len__(self) -> int:
        return len(self.indices)

    def bags(self, answers: IntArray | None = None) -> Float64Array:
        """How often each concept occurs in the answers about each image, shape (n, v)."""
        chosen = self.answers if answers is None else answers
        padded = np.vstack([self.concepts, np.zeros(self.concepts.shape[1])])
        bags: Float64Array = padded[chosen].sum(axis=1)
        return bags

    def histogram(self) -> Float64Array:
        """Mean concept frequencies of an image, shape (v,); see `bags`."""
        return drop_rare(self.bags().mean(axis=0), self.floor)

    def similarity(self, other: ImageSet) -> float | None:
        """Mean cosine of every image with every image of another set (CAS_CLIP)."""
        if not len(self.embeddings) or not len(other.embeddings):
            return None
        return float(self.embeddings.mean(axis=0) @ other.embeddings.mean(axis=0))

    def samples(self, questions: Sequence[str]) -> list[dict[str, Any]]:
        """The answers as samples."""
        return [
            {
                "prompt": self.prompt,
                "index": int(index),
                "answers": {
                    question: self.texts[number] if number >= 0 else UNKNOWN
                    for question, number in zip(questions, row.tolist(), strict=True)
                },
            }
            for index, row in zip(self.indices, self.answers, strict=True)
        ]


Concepts = tuple[tuple[str, float], ...]  # with how often an image's answers name them


@dataclass(frozen=True, slots=True)
class PromptSets:
    """A prompt's images and those of all its counterfactuals, in one space of concepts."""

    sets: Mapping[str, ImageSet]
    questions: Sequence[str]
    names: Sequence[str]  # the concepts, shape (v,)

    def features(self, image_set: ImageSet, questions: Sequence[str]) -> FeatureSet:
        """Which concepts the answers to some of the questions name, about each image."""
        columns = [self.questions.index(question) for question in questions]
        answers = image_set.answers[:, columns]
        answered = (answers >= 0).any(axis=1)
        shown = image_set.bags(answers[answered]) > 0
        return FeatureSet(
            image_set.prompt, image_set.indices[answered], shown.astype(np.float64)
        )

    def top(self, prompt: str, k: int, axis: Axis) -> Concepts:
        """The most frequent concepts of a prompt's answers about an axis; ties by the alphabet."""
        image_set = self.sets[prompt]
        if not len(image_set):
            return ()
        asked = [self.questions.index(question) for question in questions_of(axis)]
        frequencies = image_set.bags(image_set.answers[:, asked]).mean(axis=0)
        order = sorted(
            range(len(self.names)), key=lambda v: (-frequencies[v], self.names[v])
        )
        return tuple(
            (self.names[v], float(frequencies[v]))
            for v in order[:k]
            if frequencies[v] > 0
        )


def drop_rare(histograms: Float64Array, floor: float) -> Float64Array:
    """Set frequencies under the floor to 0.

    Examples:
        >>> drop_rare(np.array([0.5, 0.005]), 0.01).tolist()
        [0.5, 0.0]
    """
    return np.where(histograms < floor, 0.0, histograms)


def gather(
    task: TibetTask,
    target: TibetPrompt,
    questions: Sequence[str],
    evidence: Evidence,
    settings: Settings,
    merging: Synonyms,
) -> PromptSets:
    """The answers about a prompt and its counterfactuals, as concepts merged over all of them."""
    n, guided = task.image_counts(settings)
    sizes = {cf.prompt: guided for axis in target.axes for cf in axis.counterfactuals}
    sizes[target.prompt] = n
    numbers: dict[str, int] = {}
    sets = [
        _read(task, prompt, count, questions, evidence, numbers)
        for prompt, count in sizes.items()
    ]
    texts = list(numbers)
    names, concepts = _concepts(texts, [one.answers for one in sets], merging)
    found = {one.prompt: replace(one, texts=texts, concepts=concepts) for one in sets}
    return PromptSets(found, questions, names)


def _read(
    task: TibetTask,
    prompt: str,
    n: int,
    questions: Sequence[str],
    evidence: Evidence,
    numbers: dict[str, int],
) -> ImageSet:
    """The answers about one prompt's images; images without any answer are excluded."""
    table: IntArray = np.full((n, len(questions)), -1, dtype=np.int64)
    answered: set[int] = set()
    most: Counter[str] = Counter()
    for column, question in enumerate(questions):
        reply = evidence.answers(prompt, n, question, ())
        most |= reply.excluded
        for index, answer in zip(reply.indices.tolist(), reply.answers, strict=True):
            answered.add(index)
            if answer.strip().lower() != UNKNOWN:
                table[index, column] = numbers.setdefault(answer, len(numbers))
    left_out = n - len(answered)
    excluded: Counter[str] = Counter()
    for reason, count in most.most_common():  # an image is excluded for one reason
        excluded[reason] = min(count, left_out - excluded.total())
    images = evidence.images(prompt, n)
    indices = np.array(sorted(answered), dtype=np.int64)
    return ImageSet(
        prompt,
        indices,
        table[indices],
        images.embeddings if len(images.indices) else np.zeros((0, 1)),
        +excluded,
        task.min_frequency,
    )


def _concepts(
    texts: Sequence[str], tables: Iterable[IntArray], merging: Synonyms
) -> tuple[list[str], Float64Array]:
    """The concepts of all answers, and how often each occurs in an answer, shape (answers, v)."""
    uses = Counter(number for table in tables for number in table.ravel().tolist())
    words = [concept_counts([text]) for text in texts]
    frequencies: Counter[str] = Counter()
    for number, counts in enumerate(words):
        for word, count in counts.items():
            frequencies[word] += count * uses[number]
    merged = merging.merged(frequencies)
    names = sorted(set(merged.values()))
    columns = {name: column for column, name in enumerate(names)}
    concepts = np.zeros((len(texts), len(names)))
    for number, counts in enumerate(words):
        for word, count in counts.items():
            concepts[number, columns[merged[word]]] += count
    return names, concepts


def published(value: float) -> Estimate:
    """A score as the paper has it."""
    return Estimate(value, as_published=True)


def associations(
    start: Float64Array, changed: Float64Array
) -> tuple[Float64Array, Float64Array]:
    """CAS, and the shares that MAD is taken of, both of shape (..., k).

    Of two histograms w and v, CAS = sum min(w, v) / sum max(w, v) (algorithm 1); the shares are of
    histograms of sum 1, as in the public code, and made to sum to 1 over the k counterfactuals.

    Examples:
        The prompt's images are three cooks to one waiter, one counterfactual's are all cooks, the
        other's all waiters: 0.75 / 1.25 and 0.25 / 1.75.

        >>> cas, shares = associations(np.array([0.75, 0.25]), np.eye(2))
        >>> cas.round(3).tolist(), shares.round(3).tolist()
        ([0.6, 0.143], [0.808, 0.192])
    """
    raw = concept_association(start[..., None, :], changed)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = start / start.sum(axis=-1, keepdims=True)
        second = changed / changed.sum(axis=-1, keepdims=True)
        even = np.nan_to_num(concept_association(first[..., None, :], second))
        shares: Float64Array = even / even.sum(axis=-1, keepdims=True)
    return np.nan_to_num(raw), shares


def null_deviation(
    start: ImageSet, changed: Sequence[ImageSet], n_draws: int, rng: np.random.Generator
) -> Float64Array:
    """MAD before its root where the prompt's images come from all counterfactuals alike.

    The prompt's images are resampled from those of its counterfactuals in equal parts, and those of
    each counterfactual from its own: a neutral prompt, at these sizes. Splitting the
    counterfactuals' images at random instead would ignore the variation of the prompt's own images,
    which is most of it.
    """
    bags = np.concatenate([image_set.bags() for image_set in changed])
    even = np.concatenate(
        [np.full(len(image_set), 1.0 / len(image_set)) for image_set in changed]
    )
    weights = rng.multinomial(len(start), even / even.sum(), n_draws) / len(start)
    first = drop_rare(weights @ bags, start.floor)
    others = []
    for image_set in changed:
        n = len(image_set)
        weights = rng.multinomial(n, np.full(n, 1.0 / n), n_draws) / n
        others.append(drop_rare(weights @ image_set.bags(), start.floor))
    return np.nan_to_num(
        mad(associations(first, np.stack(others, axis=1))[1], root=False)
    )


TOP_K = 10
TOP_CROSSED = 3  # concepts along one axis's counterfactuals for another axis


@dataclass(frozen=True, slots=True)
class CounterfactualConcepts:
    """Top concepts of a counterfactual."""

    name: str
    axis_concepts: Concepts  # in the answers about its own axis
    intersections: dict[str, Concepts]  # other axis to the answers about that


@dataclass(frozen=True, slots=True)
class AxisConcepts:
    """Top concepts along one axis: of the prompt as it stands, and of the counterfactuals."""

    axis: str
    concepts: Concepts
    counterfactuals: tuple[CounterfactualConcepts, ...]


@dataclass(frozen=True, slots=True)
class PromptConcepts:
    """Top concepts of a prompt, as an entry of `details['prompts']`."""

    prompt: str
    axes: tuple[AxisConcepts, ...]


def top_concepts(target: TibetPrompt, sets: PromptSets) -> PromptConcepts:
    """Top concepts by axis, and along each axis's counterfactuals for the others."""
    axes = []
    for axis in target.axes:
        others = [other for other in target.axes if other is not axis]
        changed = tuple(
            CounterfactualConcepts(
                cf.name,
                sets.top(cf.prompt, TOP_K, axis),
                {
                    other.name: sets.top(cf.prompt, TOP_CROSSED, other)
                    for other in others
                },
            )
            for cf in axis.counterfactuals
        )
        axes.append(
            AxisConcepts(axis.name, sets.top(target.prompt, TOP_K, axis), changed)
        )
    return PromptConcepts(target.prompt, tuple(axes))
