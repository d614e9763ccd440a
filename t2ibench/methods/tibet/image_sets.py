"""The images of a prompt and of its counterfactuals as bags of concepts, and their resamples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.concepts import Synonyms, concept_counts
from t2ibench.methods.core.evidence import UNKNOWN, Evidence
from t2ibench.methods.tibet.schema import TibetPrompt, TibetTask
from t2ibench.settings import Settings
from t2ibench.stats import concept_association, mad

FLIPPED = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_REPEATS = 10


@dataclass(slots=True)
class ImageSet:
    """The answered images of one prompt.

    Attributes:
        prompt: Their prompt.
        indices: Which sample each is.
        answers: Which answer each image got to each question, shape (n, questions); -1 is none.
        concepts: How often each concept stands in an answer, shape (answers, v).
        texts: The answers.
        embeddings: Shape (n, d), where an encoder saw the images.
        excluded: Images left out, by reason.
    """

    prompt: str
    indices: IntArray
    answers: IntArray
    concepts: Float64Array
    texts: list[str]
    embeddings: Float64Array
    excluded: Counter[str]

    def __len__(self) -> int:
        return len(self.indices)

    def bags(self, answers: IntArray | None = None) -> Float64Array:
        """How often each concept stands in the answers about each image, shape (n, v)."""
        chosen = self.answers if answers is None else answers
        padded = np.vstack([self.concepts, np.zeros(self.concepts.shape[1])])
        found: Float64Array = padded[chosen].sum(axis=1)
        return found

    def histogram(self, floor: float, answers: IntArray | None = None) -> Float64Array:
        """Concept frequencies an image, shape (v,)."""
        return cut(self.bags(answers).mean(axis=0), floor)

    def resampled(self, n_draws: int, floor: float, rng: np.random.Generator) -> Float64Array:
        """Histograms of images drawn with replacement, shape (draws, v)."""
        n = len(self)
        weights = rng.multinomial(n, np.full(n, 1.0 / n), n_draws) / n
        return cut(weights @ self.bags(), floor)

    def similarity(self, other: ImageSet) -> float | None:
        """Mean pairwise cosine (CAS_CLIP); None where no encoder saw the images."""
        if not len(self.embeddings) or not len(other.embeddings):
            return None
        return float(self.embeddings.mean(axis=0) @ other.embeddings.mean(axis=0))

    def samples(self, questions: Sequence[str]) -> list[dict[str, Any]]:
        """One row an image."""
        return [
            {
                "prompt": self.prompt,
                "index": int(index),
                "answers": {
                    question: self.texts[place] if place >= 0 else UNKNOWN
                    for question, place in zip(questions, row.tolist(), strict=True)
                },
            }
            for index, row in zip(self.indices, self.answers, strict=True)
        ]


@dataclass(slots=True)
class PromptSets:
    """A prompt's images and those of all its counterfactuals, in one space of concepts."""

    sets: dict[str, ImageSet]
    questions: list[str]
    names: list[str]

    def top(self, each: ImageSet, k: int, questions: Sequence[int] | None) -> list[list[Any]]:
        """The most frequent concepts of a set with their frequencies; ties by the alphabet."""
        if not len(each):
            return []
        chosen = each.answers if questions is None else each.answers[:, list(questions)]
        frequencies = each.histogram(0.0, chosen)
        order = sorted(range(len(self.names)), key=lambda v: (-frequencies[v], self.names[v]))
        return [[self.names[v], float(frequencies[v])] for v in order[:k] if frequencies[v] > 0]


def cut(histograms: Float64Array, floor: float) -> Float64Array:
    """Frequencies under the floor are dropped."""
    found: Float64Array = np.where(histograms < floor, 0.0, histograms)
    return found


def gather(
    task: TibetTask,
    one: TibetPrompt,
    questions: list[str],
    evidence: Evidence,
    settings: Settings,
    merging: Synonyms,
) -> PromptSets:
    """The answers about a prompt and its counterfactuals, as concepts merged over all of them."""
    n = settings.images(task.images_per_prompt)
    guided = settings.guided_images(task.guided_images_per_prompt or task.images_per_prompt)
    sizes = {cf.prompt: guided for axis in one.axes for cf in axis.counterfactuals}
    sizes[one.prompt] = n
    texts: dict[str, int] = {}
    read = {
        prompt: _read(prompt, count, questions, evidence, texts) for prompt, count in sizes.items()
    }
    frequencies: Counter[str] = Counter()
    uses = Counter(
        place for _, answers, _, _ in read.values() for place in answers.ravel().tolist()
    )
    words = [concept_counts([text]) for text in texts]
    for place, counts in enumerate(words):
        for word, count in counts.items():
            frequencies[word] += count * uses[place]
    merged = merging.merged(frequencies)
    names = sorted(set(merged.values()))
    places = {name: place for place, name in enumerate(names)}
    concepts = np.zeros((len(texts), len(names)))
    for row, counts in enumerate(words):
        for word, count in counts.items():
            concepts[row, places[merged[word]]] += count
    known = list(texts)
    sets = {
        prompt: ImageSet(prompt, indices, answers, concepts, known, embeddings, excluded)
        for prompt, (indices, answers, embeddings, excluded) in read.items()
    }
    return PromptSets(sets, questions, names)


def _read(
    prompt: str, n: int, questions: Sequence[str], evidence: Evidence, texts: dict[str, int]
) -> tuple[IntArray, IntArray, Float64Array, Counter[str]]:
    """Each image's answers as numbers; images that no question was answered about are left out."""
    table = np.full((n, len(questions)), -1, dtype=np.int64)
    answered = np.zeros(n, dtype=bool)
    excluded: Counter[str] = Counter()
    for column, question in enumerate(questions):
        found = evidence.answers(prompt, n, question, ())
        excluded |= found.excluded
        for answer, index in zip(found.answers, found.indices.tolist(), strict=True):
            answered[index] = True
            if answer.strip().lower() != UNKNOWN:
                table[index, column] = texts.setdefault(answer, len(texts))
    indices = np.flatnonzero(answered)
    left_out = n - len(indices)
    kept: Counter[str] = Counter()
    for reason, count in excluded.most_common():  # an image is left out for one reason
        kept[reason] = min(count, left_out - kept.total())
    seen = evidence.images(prompt, n)
    return (
        indices,
        table[indices],
        seen.embeddings if len(seen.indices) else np.zeros((0, 1)),
        +kept,
    )


def associations(start: Float64Array, changed: Float64Array) -> tuple[Float64Array, Float64Array]:
    """CAS, and the shares that MAD is taken of.

    Args:
        start: Histograms of the prompt, shape (..., v).
        changed: Histograms of its counterfactuals, shape (..., k, v).

    Returns:
        CAS as algorithm 1 has it, and from histograms of sum 1 as the public code does, made to
        sum to 1 over the counterfactuals; both of shape (..., k).
    """
    raw = concept_association(start[..., None, :], changed)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = start / start.sum(axis=-1, keepdims=True)
        second = changed / changed.sum(axis=-1, keepdims=True)
        even = np.nan_to_num(concept_association(first[..., None, :], second))
        shares: Float64Array = even / even.sum(axis=-1, keepdims=True)
    return np.nan_to_num(raw), shares


def bootstrap(
    start: ImageSet,
    changed: Sequence[ImageSet],
    floor: float,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[Float64Array, Float64Array]:
    """CAS and shares under resampling of the images of every set, shape (draws, k) each."""
    first = start.resampled(n_draws, floor, rng)
    others = [each.resampled(n_draws, floor, rng) for each in changed]
    return associations(first, np.stack(others, axis=1))


def mixed(
    start: ImageSet,
    changed: Sequence[ImageSet],
    floor: float,
    n_draws: int,
    rng: np.random.Generator,
) -> Float64Array:
    """MAD where the prompt's images come from all of its counterfactuals alike, shape (draws,).

    So many images as the prompt has are drawn from those of its counterfactuals in equal parts,
    and those of each counterfactual from its own: a prompt that leans nowhere, at these sizes.
    Dealing out the counterfactuals' images at random instead would leave out the chance in the
    prompt's own images, which is most of it.
    """
    bags = np.concatenate([each.bags() for each in changed])
    even = np.concatenate([np.full(len(each), 1.0 / len(each)) for each in changed])
    weights = rng.multinomial(len(start), even / even.sum(), n_draws) / len(start)
    first = cut(weights @ bags, floor)
    others = np.stack([each.resampled(n_draws, floor, rng) for each in changed], axis=1)
    return np.nan_to_num(mad(associations(first, others)[1]))


def sensitivity(
    sets: PromptSets, prompt: str, changed: Sequence[str], floor: float, rng: np.random.Generator
) -> dict[str, list[float]]:
    """How far CAS and MAD move, relative to themselves, when answers are flipped at random."""
    chosen = [sets.sets[prompt], *(sets.sets[one] for one in changed)]
    pools = [
        np.unique(np.concatenate([each.answers[:, q] for each in chosen]))
        for q in range(len(sets.questions))
    ]

    def measure(answers: Sequence[IntArray]) -> tuple[Float64Array, float]:
        rows = [each.histogram(floor, one) for each, one in zip(chosen, answers, strict=True)]
        raw, shares = associations(rows[0], np.stack(rows[1:]))
        return raw, float(mad(shares))

    cas, deviation = measure([each.answers for each in chosen])
    curve: dict[str, list[float]] = {"flipped": list(FLIPPED), "cas": [], "mad": []}
    for share in FLIPPED:
        moved = []
        for _ in range(_REPEATS):
            answers = [_flip(each.answers, pools, share, rng) for each in chosen]
            moved.append(measure(answers))
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.abs(np.array([raw for raw, _ in moved]) - cas) / cas
        curve["cas"].append(float(np.nan_to_num(change, posinf=0.0).mean()))
        differences = [abs(other - deviation) for _, other in moved]
        curve["mad"].append(float(np.mean(differences)) / deviation if deviation else 0.0)
    return curve


def _flip(
    answers: IntArray, pools: Sequence[IntArray], share: float, rng: np.random.Generator
) -> IntArray:
    """Answers, a share of them replaced by another answer somebody got to the same question."""
    flipped: IntArray = answers.copy()
    for column, pool in enumerate(pools):
        if len(pool) < 2:
            continue
        hit = np.flatnonzero(rng.random(len(answers)) < share)
        step = rng.integers(1, len(pool), len(hit))
        places = np.searchsorted(pool, answers[hit, column])
        flipped[hit, column] = pool[(places + step) % len(pool)]
    return flipped
