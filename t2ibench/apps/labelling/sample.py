"""A random sample of a run's images for people to label, stratified by prompt."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from t2ibench.methods.core.computed_edits import computed_edit
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.plan import Plan
from t2ibench.store.answers import AnswerStore
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.labels import item_id


@dataclass(frozen=True, slots=True)
class ShownBeside:
    """An image that is shown beside the one that is asked about.

    Attributes:
        id: Identifier of the image with the same question.
        image: SHA-256 of its file.
        file: Its file below images/.
        of_source: Whether it is a source image.
    """

    id: str
    image: str
    file: str
    of_source: bool


@dataclass(frozen=True, slots=True)
class Item:
    """An image to label with one question, its answer classes, and the image's SHA-256 and file.

    `id` names the image and question without telling what the image was generated for; `classes`
    are answers besides 'unknown' and 'not in the picture'.

    Attributes:
        of_source: Whether it is a source image, which a run inside the run has made.
        beside: The other image of a pair, which is shown beside it; None for an image alone.
        is_left: Whether it is shown on the left of the other one.
    """

    id: str
    image: str
    file: str
    question: str
    classes: tuple[str, ...]
    of_source: bool = False
    beside: ShownBeside | None = None
    is_left: bool = True


def asked_images(plan: Plan, images: ImageStore) -> Iterator[tuple[Item, str]]:
    """Yield each distinct image with its prompt, once for every question about it with classes."""
    distinct = DistinctImages(images)
    yield from _asked_of_prompts(plan, distinct)
    for item, request in asked_edits(plan, distinct):
        yield item, request.prompt


def _asked_of_prompts(
    plan: Plan, distinct: DistinctImages
) -> Iterator[tuple[Item, str]]:
    """Yield each distinct image made from a prompt alone, once for every question with classes."""
    for prompt, questions in sorted(plan.questions.items()):
        for (question, classes), count in sorted(questions.items()):
            if not classes:
                continue
            for attempt in distinct.first(prompt, count):
                item = item_of(attempt, question, classes)
                if item is not None:
                    yield item, prompt


def asked_edits(
    plan: Plan, distinct: DistinctImages
) -> Iterator[tuple[Item, ImageRequest]]:
    """Yield each distinct edit with its request, once for every question with classes."""
    for request in plan.edits.requests:
        attempt = distinct.get(request.key)
        for question, classes in plan.edits.questions_about(request.key):
            item = item_of(attempt, question, classes) if classes else None
            if item is not None:
                yield item, request


def item_of(
    attempt: Attempt | None,
    question: str,
    classes: tuple[str, ...],
    *,
    of_source: bool = False,
) -> Item | None:
    """Return an image to label with one question; None where there is no image."""
    if attempt is None or attempt.status != "ok":
        return None
    if not attempt.sha256 or not attempt.file:
        return None
    key = item_id(attempt.sha256, question, classes)
    return Item(
        key, attempt.sha256, attempt.file, question, classes, of_source=of_source
    )


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
    before: Mapping[str, Item] | None = None,
) -> list[Item]:
    """Draw up to `n` images to label for every question, from each prompt in proportion.

    If `unknown_to` gives judges, only images are drawn that one of them could not classify; of a
    pair, the edit is such an image.

    Args:
        plan: The plan of the run.
        images: Its images.
        n: Images of each question; of one that is asked before and after edits, pairs.
        seed: Random seed.
        questions: The questions; all if empty.
        unknown_to: Judges that could not classify an image.
        before: The source image of each edit, keyed by the item of the edit; its answer is drawn
            with that about the edit, in random order.
    """
    by_question: dict[tuple[str, tuple[str, ...]], dict[str, list[Item]]]
    by_question = defaultdict(lambda: defaultdict(list))
    seen: set[str] = set()
    for item, prompt in _worth_labelling(plan, images, questions):
        if (questions and item.question not in questions) or item.id in seen:
            continue
        if unknown_to is not None and _all_classified(item, unknown_to):
            continue
        seen.add(item.id)
        by_question[item.question, item.classes][prompt].append(item)
    sample = []
    for (question, classes), strata in sorted(by_question.items()):
        digest = hashlib.sha256("\n".join([question, *classes]).encode()).digest()
        rng = np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])
        drawn = stratified(strata, n, rng)
        if before:
            drawn = _with_sources(drawn, before, rng)
        sample += drawn
    return sample


def _worth_labelling(
    plan: Plan, images: ImageStore, questions: Sequence[str]
) -> Iterator[tuple[Item, str]]:
    """Yield images as `asked_images` does, without edits whose labels would correct no number.

    Those are edits made as controls. Where the question of a control, which is asked about no
    other edit, is named, its images are yielded; what a run only saved again never is.
    """
    distinct = DistinctImages(images)
    yield from _asked_of_prompts(plan, distinct)
    controls = _instructions_of_controls(plan)
    of_all_edits = plan.questions_before_and_after
    for item, request in asked_edits(plan, distinct):
        if computed_edit(request.prompt) is not None:
            continue
        is_named = item.question in questions
        of_control = (item.question, item.classes) not in of_all_edits
        if request.prompt not in controls or (is_named and of_control):
            yield item, request.prompt


def _instructions_of_controls(plan: Plan) -> set[str]:
    """Return the instructions that no task measures a lean by."""
    controls: set[str] = set()
    measured: set[str] = set()
    for needs in plan.needs.values():
        for edit in needs.edits:
            (controls if edit.is_control else measured).add(edit.instruction)
    return controls - measured


def _all_classified(item: Item, judges: Collection[AnswerStore]) -> bool:
    """Return whether every judge that was asked about an image gave it a class."""
    judged = [judge.get(item.image, item.question, item.classes) for judge in judges]
    return all(answer is None or answer.answer in item.classes for answer in judged)


def _with_sources(
    edits: Sequence[Item], before: Mapping[str, Item], rng: np.random.Generator
) -> list[Item]:
    """Return edits, each beside its source image, which is asked about once.

    Which of the two is asked about first, and which is on the left, is random. So people do not
    know which was there first, in the first pair of a source image: one that was drawn with several
    edits is the image that comes back. At most one edit of each would hide it, and leave a
    random sample of sources in place of one of pairs.
    """
    drawn: list[Item] = []
    asked: set[str] = {edit.id for edit in edits}
    for edit in edits:
        source = before.get(edit.id)
        if source is None or source.id == edit.id:
            drawn.append(edit)
            continue
        is_left, is_first = (bool(bit) for bit in rng.integers(0, 2, 2))
        pair = [
            replace(edit, beside=_beside(source), is_left=is_left),
            replace(source, beside=_beside(edit), is_left=not is_left),
        ]
        if not is_first:
            pair.reverse()
        drawn += [item for item in pair if item.id == edit.id or item.id not in asked]
        asked.add(source.id)
    return drawn


def _beside(item: Item) -> ShownBeside:
    return ShownBeside(item.id, item.image, item.file, item.of_source)
