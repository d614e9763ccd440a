"""Sorting of a judge's answers about a prompt's images into the concepts they name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.concepts import Synonyms, concept_counts
from t2ibench.methods.core.evidence import UNKNOWN, Evidence
from t2ibench.methods.tibet.image_sets import ImageSet, PromptSets
from t2ibench.methods.tibet.schema import TibetPrompt, TibetTask, all_questions
from t2ibench.settings import Settings


def gather(
    task: TibetTask,
    target: TibetPrompt,
    evidence: Evidence,
    settings: Settings,
    synonyms: Synonyms,
) -> PromptSets:
    """Return the answers about a prompt's and its counterfactuals' images, as concepts."""
    n_images, guided_images = task.image_counts(settings)
    sizes = {
        counterfactual.prompt: guided_images
        for axis in target.axes
        for counterfactual in axis.counterfactuals
    }
    sizes[target.prompt] = n_images
    questions = all_questions(task, target)
    answer_numbers: dict[str, int] = {}
    sets = [
        _read_set(task, prompt, count, questions, evidence, answer_numbers)
        for prompt, count in sizes.items()
    ]
    texts = list(answer_numbers)
    names, concepts = _concepts(texts, [part.answers for part in sets], synonyms)
    by_prompt = {
        part.prompt: replace(part, texts=texts, concepts=concepts) for part in sets
    }
    return PromptSets(sets=by_prompt, questions=questions, names=names)


def _read_set(
    task: TibetTask,
    prompt: str,
    n_images: int,
    questions: Sequence[str],
    evidence: Evidence,
    answer_numbers: dict[str, int],
) -> ImageSet:
    """Return the answers about one prompt's images, leaving out images without any.

    New answers are added to `answer_numbers`.
    """
    answers: IntArray = np.full((n_images, len(questions)), -1, dtype=np.int64)
    answered: set[int] = set()
    reasons: Counter[str] = Counter()
    for column, question in enumerate(questions):
        reply = evidence.answers(prompt, n_images, question, ())
        reasons |= reply.excluded
        for index, answer in zip(reply.indices.tolist(), reply.answers, strict=True):
            answered.add(index)
            if answer.strip().lower() != UNKNOWN:
                number = answer_numbers.setdefault(answer, len(answer_numbers))
                answers[index, column] = number
    images = evidence.images(prompt, n_images)
    indices = np.array(sorted(answered), dtype=np.int64)
    return ImageSet(
        prompt=prompt,
        indices=indices,
        answers=answers[indices],
        embeddings=images.embeddings if len(images.indices) else np.zeros((0, 1)),
        excluded=_exclusions(reasons, n_images - len(answered)),
        floor=task.min_frequency,
    )


def _exclusions(reasons: Counter[str], n_excluded: int) -> Counter[str]:
    """Return how many images are excluded for each reason, counting each image once.

    Args:
        reasons: The most answers that any question lacks for each reason.
        n_excluded: Images without any answer.
    """
    exclusions: Counter[str] = Counter()
    for reason, count in reasons.most_common():
        exclusions[reason] = min(count, n_excluded - exclusions.total())
    return +exclusions


def _concepts(
    texts: Sequence[str], tables: Sequence[IntArray], synonyms: Synonyms
) -> tuple[list[str], Float64Array]:
    """Return the concepts in answers, and how often each answer contains each of them.

    Args:
        texts: The answers.
        tables: Numbers of the answers that images got.
        synonyms: Which words are one concept.
    """
    uses: Counter[int] = Counter()
    for table in tables:
        uses.update(table.ravel().tolist())
    counts_of_words = [concept_counts([text]) for text in texts]
    frequencies: Counter[str] = Counter()
    for number, counts in enumerate(counts_of_words):
        for word, count in counts.items():
            frequencies[word] += count * uses[number]
    merged = synonyms.merged(frequencies)
    names = sorted(set(merged.values()))
    columns = {name: column for column, name in enumerate(names)}
    concepts = np.zeros((len(texts), len(names)))
    for number, counts in enumerate(counts_of_words):
        for word, count in counts.items():
            concepts[number, columns[merged[word]]] += count
    return names, concepts
