"""The images of a prompt and of its counterfactuals as bags of concepts, and their resamples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.concepts import Synonyms, concept_counts
from t2ibench.methods.core.evidence import UNKNOWN, Evidence
from t2ibench.methods.tibet.mixture import FeatureSet
from t2ibench.methods.tibet.schema import TibetPrompt, TibetTask
from t2ibench.settings import Settings


@dataclass(frozen=True, slots=True)
class ImageSet:
    """The answered images of one prompt.

    Attributes:
        prompt: Their prompt.
        indices: Which sample each is, shape (n,).
        answers: Which answer each image got to each question, shape (n, questions); -1 is none.
        concepts: How often each concept occurs in an answer, shape (answers, v).
        texts: The answers.
        embeddings: Shape (m, d), where an encoder saw the images.
        embedded: Which sample each embedding is of, shape (m,).
        excluded: Number of images excluded, by reason.
    """

    prompt: str
    indices: IntArray
    answers: IntArray
    concepts: Float64Array
    texts: Sequence[str]
    embeddings: Float64Array
    embedded: IntArray
    excluded: Counter[str]

    def __len__(self) -> int:
        return len(self.indices)

    def bags(self, answers: IntArray | None = None) -> Float64Array:
        """How often each concept occurs in the answers about each image.

        Args:
            answers: Other answers than the judge's, shape (n, questions).

        Returns:
            Shape (n, v).
        """
        chosen = self.answers if answers is None else answers
        padded = np.vstack([self.concepts, np.zeros(self.concepts.shape[1])])
        bags: Float64Array = padded[chosen].sum(axis=1)
        return bags

    def histogram(self, floor: float, answers: IntArray | None = None) -> Float64Array:
        """Mean concept frequencies of an image.

        Args:
            floor: Concepts that are rarer count as absent.
            answers: Other answers than the judge's, shape (n, questions).

        Returns:
            Shape (v,).
        """
        return drop_rare(self.bags(answers).mean(axis=0), floor)

    def resampled(self, n_draws: int, floor: float, rng: np.random.Generator) -> Float64Array:
        """Histograms of images drawn with replacement.

        Args:
            n_draws: How many.
            floor: See `histogram`.
            rng: Of the draws.

        Returns:
            Shape (draws, v).
        """
        n = len(self)
        weights = rng.multinomial(n, np.full(n, 1.0 / n), n_draws) / n
        return drop_rare(weights @ self.bags(), floor)

    def similarity(self, other: ImageSet) -> float | None:
        """Mean cosine of every image with every image of another set (CAS_CLIP)."""
        if not len(self.embeddings) or not len(other.embeddings):
            return None
        return float(self.embeddings.mean(axis=0) @ other.embeddings.mean(axis=0))

    def embedding_features(self) -> FeatureSet:
        """The embeddings as features."""
        return FeatureSet(self.prompt, self.embedded, self.embeddings)

    def samples(self, questions: Sequence[str]) -> list[dict[str, Any]]:
        """The answers as rows of samples/<task>.jsonl."""
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


@dataclass(frozen=True, slots=True)
class PromptSets:
    """A prompt's images and those of all its counterfactuals, in one space of concepts.

    Attributes:
        sets: Prompt to its images.
        questions: What was asked about all of them.
        names: The concepts, shape (v,).
    """

    sets: Mapping[str, ImageSet]
    questions: Sequence[str]
    names: Sequence[str]

    def features(self, image_set: ImageSet, questions: Sequence[str]) -> FeatureSet:
        """Which concepts the answers to some of the questions name, about each image."""
        columns = [self.questions.index(question) for question in questions]
        answers = image_set.answers[:, columns]
        answered = (answers >= 0).any(axis=1)
        shown = image_set.bags(answers[answered]) > 0
        return FeatureSet(image_set.prompt, image_set.indices[answered], shown.astype(np.float64))

    def top(
        self, image_set: ImageSet, k: int, questions: Sequence[str] | None = None
    ) -> list[list[Any]]:
        """The most frequent concepts of a set; ties by the alphabet."""
        if not len(image_set):
            return []
        answers = image_set.answers
        if questions is not None:
            answers = answers[:, [self.questions.index(question) for question in questions]]
        frequencies = image_set.histogram(0.0, answers)
        order = sorted(range(len(self.names)), key=lambda v: (-frequencies[v], self.names[v]))
        return [[self.names[v], float(frequencies[v])] for v in order[:k] if frequencies[v] > 0]


def drop_rare(histograms: Float64Array, floor: float) -> Float64Array:
    """Set frequencies under the floor to 0.

    Examples:
        >>> drop_rare(np.array([0.5, 0.005]), 0.01).tolist()
        [0.5, 0.0]
    """
    kept: Float64Array = np.where(histograms < floor, 0.0, histograms)
    return kept


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
    replies = {prompt: _read(prompt, count, questions, evidence) for prompt, count in sizes.items()}
    texts = list(
        dict.fromkeys(
            answer
            for reply in replies.values()
            for answers in reply.answers
            for answer in answers.values()
        )
    )
    numbers = {text: number for number, text in enumerate(texts)}
    tables = {prompt: _table(reply, numbers) for prompt, reply in replies.items()}
    names, concepts = _concepts(texts, tables.values(), merging)
    sets = {
        prompt: ImageSet(
            prompt,
            reply.indices,
            tables[prompt],
            concepts,
            texts,
            reply.embeddings,
            reply.embedded,
            reply.excluded,
        )
        for prompt, reply in replies.items()
    }
    return PromptSets(sets, questions, names)


@dataclass(frozen=True, slots=True)
class _Replies:
    """A judge's answers about the images of one prompt.

    Attributes:
        indices: Images that some question was answered about, shape (n,).
        answers: For each question, image to answer; 'unknown' is none.
        embeddings: Shape (m, d), where an encoder saw the images.
        embedded: Which sample each embedding is of, shape (m,).
        excluded: Number of images excluded, by reason.
    """

    indices: IntArray
    answers: tuple[dict[int, str], ...]
    embeddings: Float64Array
    embedded: IntArray
    excluded: Counter[str]


def _read(prompt: str, n: int, questions: Sequence[str], evidence: Evidence) -> _Replies:
    """The answers about one prompt's images; images without any answer are excluded."""
    answered: set[int] = set()
    answers: list[dict[int, str]] = []
    most: Counter[str] = Counter()
    for question in questions:
        reply = evidence.answers(prompt, n, question, ())
        most |= reply.excluded
        pairs = list(zip(reply.indices.tolist(), reply.answers, strict=True))
        answered.update(index for index, _ in pairs)
        answers.append(
            {index: answer for index, answer in pairs if answer.strip().lower() != UNKNOWN}
        )
    left_out = n - len(answered)
    excluded: Counter[str] = Counter()
    for reason, count in most.most_common():  # an image is excluded for one reason
        excluded[reason] = min(count, left_out - excluded.total())
    images = evidence.images(prompt, n)
    return _Replies(
        np.array(sorted(answered), dtype=np.int64),
        tuple(answers),
        images.embeddings if len(images.indices) else np.zeros((0, 1)),
        images.indices,
        +excluded,
    )


def _table(replies: _Replies, numbers: Mapping[str, int]) -> IntArray:
    """The number of each image's answer to each question, shape (n, questions); -1 is none."""
    rows = [
        [numbers[answers[index]] if index in answers else -1 for answers in replies.answers]
        for index in replies.indices.tolist()
    ]
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(replies.answers))


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
