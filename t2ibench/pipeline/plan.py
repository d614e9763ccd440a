"""The plan of a run: the union of all tasks' needs, without duplicates."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from t2ibench.identity import ImageKey
from t2ibench.methods import needs
from t2ibench.methods.core.edit_evidence import EditNeed
from t2ibench.methods.core.edit_needs import (
    expected_answers,
    expected_images,
    needs_of_sources,
)
from t2ibench.methods.core.evidence import Needs
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.planned_edits import PlannedEdits, planned_edits
from t2ibench.pipeline.source_images import SourceImages
from t2ibench.pipeline.work_items import Question
from t2ibench.settings import Settings
from t2ibench.store.images import image_seed
from t2ibench.tasks.loader import LoadedTask

# Images in a shard: few enough for two processes to share a small plan, and so many that batches
# are full and parts on disk few. A multiple of the smallest keeps batches what they were.
SMALLEST_SHARD, LARGEST_SHARD = 16, 256
_SHARDS = 16


@dataclass(frozen=True)
class Plan:
    """The images, texts and questions that a run requires.

    What is keyed by prompt is about images that are made from prompts alone.

    Attributes:
        tasks: What is measured.
        needs: What each task asks for.
        settings: How it is measured.
        requests: Each image once, by prompt and index; edits of source images, which are known as
            soon as these exist, come last.
        texts: Each text once, sorted.
        embedded: Prompt to the number of its images that are embedded.
        questions: By prompt, the questions about its images, each with its number of images.
        edits: The same of edits, whose requests are among `requests`.
        part: Number, from 1, and count of the parts that this plan is one of; None for a whole.
    """

    tasks: tuple[LoadedTask, ...]
    needs: dict[str, Needs]
    settings: Settings
    requests: tuple[ImageRequest, ...]
    texts: tuple[str, ...]
    embedded: dict[str, int]
    questions: dict[str, dict[Question, int]]
    edits: PlannedEdits = field(default_factory=PlannedEdits)
    part: tuple[int, int] | None = None

    @cached_property
    def prompts(self) -> dict[str, int]:
        """How many images of each prompt, without a source image, the plan requires."""
        return Counter(
            request.prompt for request in self.requests if request.source is None
        )

    @property
    def has_edits(self) -> bool:
        """Whether any task asks for edits, whether or not their source images exist."""
        return any(required.edits for required in self.needs.values())

    @cached_property
    def needs_of_part(self) -> dict[str, Needs]:
        """What each task asks for, without the edits of source images of other parts."""
        if self.part is None:
            return self.needs
        number, count = self.part
        return {
            task: replace(required, edits=edits_in_part(required.edits, number, count))
            for task, required in self.needs.items()
        }

    @property
    def n_expected_edits(self) -> int:
        """The number of images that edits make if all source images exist."""
        return expected_images(self.needs_of_part.values())

    @property
    def n_expected_edit_answers(self) -> int:
        """The number of answers about edits from each judge if all source images exist."""
        return expected_answers(self.needs_of_part.values())

    @cached_property
    def controlled(self) -> dict[str, int]:
        """How many images of each prompt an untrained control embeds.

        Those of tasks that judges answer for are not among them.
        """
        counts: Counter[str] = Counter()
        for required in self.needs.values():
            if required.embeds and not required.is_judged:
                counts |= Counter(required.images_by_prompt)
        return counts

    @cached_property
    def controlled_texts(self) -> tuple[str, ...]:
        """The texts that an untrained control also embeds, sorted."""
        read = [
            required.texts for required in self.needs.values() if not required.is_judged
        ]
        return tuple(sorted({text for texts in read for text in texts}))

    @cached_property
    def prompt_texts(self) -> tuple[str, ...]:
        """The prompts that are embedded only to compare them with their images, sorted.

        A run embeds them with its texts, but no score needs them, so that runs made before are
        complete without.
        """
        return tuple(sorted(self.embedded.keys() - set(self.texts)))

    def texts_for(self, embeds_images: bool) -> tuple[str, ...]:
        """Return the texts that an encoder embeds; with prompts, too, if it embeds images."""
        return (*self.texts, *self.prompt_texts) if embeds_images else self.texts

    def questions_about(self, image: ImageKey) -> list[Question]:
        """Return the questions that judges are asked about an image."""
        if image.source is not None:
            return self.edits.questions_about(image)
        counts = self.questions.get(image.prompt, {})
        return [question for question, count in counts.items() if image.index < count]

    def questions_by_prompt(self) -> dict[str, list[Question]]:
        """Return all questions about the images of each prompt, or edits of each instruction."""
        asked = {prompt: list(counts) for prompt, counts in self.questions.items()}
        for request in self.edits.requests:
            of_instruction = asked.setdefault(request.prompt, [])
            for question in self.edits.questions_about(request.key):
                if question not in of_instruction:
                    of_instruction.append(question)
        return asked

    @cached_property
    def questions_before_and_after(self) -> set[Question]:
        """The questions about every source image and every edit of it."""
        return {
            (asked.question, asked.classes)
            for required in self.needs.values()
            for asked in required.pair_questions
            if not asked.edits
        }

    def is_embedded(self, image: ImageKey) -> bool:
        """Return whether encoders embed an image."""
        if image.source is not None:
            return image.index < self.edits.embedded.get(image.content, 0)
        return is_counted(image, self.embedded)

    def is_controlled(self, image: ImageKey) -> bool:
        """Return whether untrained controls embed an image, too."""
        if image.source is not None:
            return image.index < self.edits.controlled.get(image.content, 0)
        return is_counted(image, self.controlled)

    def image_of_each_prompt(self) -> Iterator[ImageKey]:
        """Yield one image's key for each prompt and each edit, for storing their texts."""
        for prompt in self.prompts:
            yield from first_images(prompt, 1)
        for request in self.edits.requests:
            if request.index == 0:
                yield request.key

    @property
    def needs_encoder(self) -> bool:
        """Whether any task of the plan needs an embedding."""
        embeds_edits = any(
            required.edits and required.embeds for required in self.needs.values()
        )
        return bool(self.texts or self.embedded) or embeds_edits

    @property
    def asks_judges(self) -> bool:
        """Whether judges are asked about any image, whether or not it exists already."""
        return bool(self.questions) or any(
            required.pair_questions for required in self.needs.values()
        )

    @property
    def is_judged(self) -> bool:
        """Whether answers decide the score of any task, not only which images enter it."""
        return any(required.is_judged for required in self.needs.values())

    @property
    def n_questions(self) -> int:
        """The number of answers required from each judge, about images of known content."""
        about_prompts = sum(
            min(images, count)
            for prompt, images in self.prompts.items()
            for count in self.questions.get(prompt, {}).values()
        )
        return about_prompts + self.edits.n_questions

    @property
    def shard_size(self) -> int:
        """The number of images in a shard, which depends only on the plan."""
        steps = -(-len(self.requests) // (_SHARDS * SMALLEST_SHARD))
        return min(max(steps, 1) * SMALLEST_SHARD, LARGEST_SHARD)

    @property
    def n_shards(self) -> int:
        """The number of shards, which depends only on the plan."""
        return -(-len(self.requests) // self.shard_size)

    def shard(self, number: int) -> Sequence[ImageRequest]:
        """Return the image requests of one shard."""
        return self.requests[number * self.shard_size : (number + 1) * self.shard_size]


def first_images(prompt: str, count: int) -> Iterator[ImageKey]:
    """Return an iterator of the keys of a prompt's first `count` images."""
    return (ImageKey.of(prompt, index) for index in range(count))


def is_counted(image: ImageKey, counts: Mapping[str, int]) -> bool:
    """Return whether an image's index is below the number that `counts` has for its prompt."""
    return image.index < counts.get(image.prompt, 0)


def part_of(plan: Plan, number: int, count: int) -> Plan:
    """Return the plan with the images of part `number` of `count`; no prompt is divided.

    Edits are in the part of their source images, and planned once these exist.
    """
    requests = tuple(requests_by_part(plan, count).get(number, ()))
    return replace(plan, requests=requests, edits=PlannedEdits(), part=(number, count))


def part_number(prompt: str, count: int) -> int:
    """Return which of `count` parts, from 1, has the images of a prompt."""
    digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % count + 1


def edits_in_part(
    edits: Iterable[EditNeed], number: int, count: int
) -> tuple[EditNeed, ...]:
    """Return the edits of the source images that are in part `number` of `count`."""
    return tuple(
        edit for edit in edits if part_number(edit.source.prompt, count) == number
    )


def requests_by_part(plan: Plan, count: int) -> dict[int, list[ImageRequest]]:
    """Return the image requests of every non-empty part of a plan, keyed by number from 1.

    Edits are left out: they follow their source images, which the plan does not name.
    """
    parts: dict[int, list[ImageRequest]] = {}
    numbers: dict[str, int] = {}
    for request in plan.requests:
        if request.source is not None:
            continue
        if request.prompt not in numbers:
            numbers[request.prompt] = part_number(request.prompt, count)
        parts.setdefault(numbers[request.prompt], []).append(request)
    return parts


def every_prompt_first(plan: Plan) -> Plan:
    """Return a plan ordered so that every prompt gets one image before any gets two.

    For images that cost money: a run that has to stop then has something of every prompt. Edits
    come last, with all edits of a source image before any of the next, because changes are compared
    between source images. Models on this machine keep the order by prompts, because their batches
    hold one prompt each.
    """
    return replace(plan, requests=tuple(sorted(plan.requests, key=_something_of_each)))


def _something_of_each(request: ImageRequest) -> tuple[bool, int, str, str]:
    source = "" if request.source is None else request.source.sha256
    return request.source is not None, request.index, source, request.prompt


def with_edits(plan: Plan, sources: SourceImages | None) -> Plan:
    """Return a plan with the edits of the source images that exist, in place of earlier ones.

    A part of a plan has the edits of its own source images.
    """
    requests = [request for request in plan.requests if request.source is None]
    edits = PlannedEdits()
    if sources is not None:
        edits = planned_edits(plan.needs_of_part.values(), plan.settings.seed, sources)
    return replace(plan, requests=(*requests, *edits.requests), edits=edits)


def images_at(plan: Plan, times: Mapping[str, float]) -> int:
    """Return how many distinct images are needed if each task has its own multiple of images."""
    most: Counter[str] = Counter()
    for task in plan.tasks:
        settings = plan.settings.model_copy(update={"times": times[task.id]})
        most |= Counter(needs(task.spec, settings).images_by_prompt)
    return most.total()


def plan_of_sources(
    tasks: Sequence[LoadedTask], settings: Settings, needs_of: Mapping[str, Needs]
) -> Plan:
    """Return the plan of the run that makes the source images of tasks with edits."""
    of_sources = {task.id: needs_of_sources(needs_of[task.id]) for task in tasks}
    return make_plan(tasks, settings, of_sources)


def make_plan(
    tasks: Sequence[LoadedTask],
    settings: Settings,
    needs_of: Mapping[str, Needs] | None = None,
) -> Plan:
    """Return the plan of a run: the images, texts and questions that its tasks need."""
    needs_by_task = {
        task.id: needs(task.spec, settings) if needs_of is None else needs_of[task.id]
        for task in tasks
    }
    most: Counter[str] = Counter()
    embedded: Counter[str] = Counter()
    questions: dict[str, dict[Question, int]] = {}
    texts: set[str] = set()
    for required in needs_by_task.values():
        texts.update(required.texts)
        most |= Counter(required.images_by_prompt)
        if required.embeds:
            embedded |= Counter(required.images_by_prompt)
        for asked in (*required.questions, *required.checks):
            counts, key = (
                questions.setdefault(asked.prompt, {}),
                (asked.question, asked.classes),
            )
            counts[key] = max(asked.images, counts.get(key, 0))
    requests = tuple(
        ImageRequest(prompt, index, image_seed(settings.seed, prompt, index))
        for prompt in sorted(most)
        for index in range(most[prompt])
    )
    ordered = {
        prompt: dict(sorted(questions[prompt].items())) for prompt in sorted(questions)
    }
    return Plan(
        tuple(tasks),
        needs_by_task,
        settings,
        requests,
        tuple(sorted(texts)),
        embedded,
        ordered,
    )
