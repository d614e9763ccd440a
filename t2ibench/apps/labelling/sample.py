"""A random sample of a run's images for people to label, stratified by prompt."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.pipeline.plan import Plan
from t2ibench.store.answers import AnswerStore
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.labels import item_id


@dataclass(frozen=True, slots=True)
class Item:
    """An image to label with one question, its answer classes, and the image's SHA-256 and file.

    `id` names the pair without telling what the image was generated for; `classes` are answers
    besides 'unknown' and 'not in the picture'.
    """

    id: str
    image: str
    file: str
    question: str
    classes: tuple[str, ...]


def asked_images(plan: Plan, images: ImageStore) -> Iterator[tuple[Item, str]]:
    """Yield each distinct image with its prompt, once for every question about it with classes."""
    distinct = DistinctImages(images)
    for prompt, questions in sorted(plan.questions.items()):
        for (question, classes), count in sorted(questions.items()):
            if not classes:
                continue
            for attempt in distinct.first(prompt, count):
                item = _item(attempt, question, classes)
                if item is not None:
                    yield item, prompt
    yield from _asked_edits(plan, distinct)


def _asked_edits(plan: Plan, distinct: DistinctImages) -> Iterator[tuple[Item, str]]:
    """Yield each distinct edit with its instruction, once for every question with classes."""
    for request in plan.edits.requests:
        attempt = distinct.get(request.key)
        for question, classes in plan.edits.questions_about(request.key):
            item = _item(attempt, question, classes) if classes else None
            if item is not None:
                yield item, request.prompt


def _item(
    attempt: Attempt | None, question: str, classes: tuple[str, ...]
) -> Item | None:
    """Return an image to label with one question; None where there is no image."""
    if attempt is None or attempt.status != "ok":
        return None
    if not attempt.sha256 or not attempt.file:
        return None
    key = item_id(attempt.sha256, question, classes)
    return Item(key, attempt.sha256, attempt.file, question, classes)


def stratified(
    strata: Mapping[str, Sequence[Item]], n: int, rng: np.random.Generator
) -> list[Item]:
    """Return `n` random images to label, from each stratum in proportion to its size.

    Examples:
        >>> items = [Item(str(k), "", "", "", ()) for k in range(4)]
        >>> len(stratified({"a": items[:3], "b": items[3:]}, 2, np.random.default_rng(0)))
        2
    """
    items = [
        strata[name][place]
        for name in sorted(strata)
        for place in rng.permutation(len(strata[name]))
    ]
    n = min(n, len(items))
    # Systematic: every image has the same chance, and every stratum its share.
    places = ((np.arange(n) + rng.random()) * len(items) / max(n, 1)).astype(np.int64)
    return [items[places[place]] for place in rng.permutation(n)]


def draw_sample(
    plan: Plan,
    images: ImageStore,
    n: int,
    seed: int,
    questions: Sequence[str],
    unknown_to: Collection[AnswerStore] | None,
) -> list[Item]:
    """Draw up to `n` images to label for every question, from each prompt in proportion.

    If `unknown_to` gives judges, only images are drawn that one of them could not classify.
    """
    by_question: dict[tuple[str, tuple[str, ...]], dict[str, list[Item]]]
    by_question = defaultdict(lambda: defaultdict(list))
    seen: set[str] = set()
    for item, prompt in asked_images(plan, images):
        if (questions and item.question not in questions) or item.id in seen:
            continue
        if unknown_to is not None:
            judged = [
                judge.get(item.image, item.question, item.classes)
                for judge in unknown_to
            ]
            if all(
                answer is None or answer.answer in item.classes for answer in judged
            ):
                continue
        seen.add(item.id)
        by_question[item.question, item.classes][prompt].append(item)
    sample = []
    for (question, classes), strata in sorted(by_question.items()):
        digest = hashlib.sha256("\n".join([question, *classes]).encode()).digest()
        rng = np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
        sample += stratified(strata, n, rng)
    return sample
