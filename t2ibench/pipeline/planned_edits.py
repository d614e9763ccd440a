"""The edits of a plan: images that are made from source images, once these exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from t2ibench.identity import ImageKey
from t2ibench.methods.core.edit_evidence import EditNeed, PairQuestion
from t2ibench.methods.core.evidence import Needs, QuestionNeed
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.source_images import SourceImages
from t2ibench.pipeline.work_items import Question
from t2ibench.store.images import image_seed


@dataclass(frozen=True, slots=True)
class PlannedEdits:
    """The edits of the source images that exist, each image once.

    What is the same for all images of one edit is keyed by the content id of their keys.

    Attributes:
        requests: Each image, sorted by instruction and source image.
        embedded: How many images of an edit are embedded.
        controlled: How many of them an untrained control embeds, too.
        questions: The questions about an edit, each with its number of images.
    """

    requests: tuple[ImageRequest, ...] = ()
    embedded: Mapping[int, int] = field(default_factory=dict)
    controlled: Mapping[int, int] = field(default_factory=dict)
    questions: Mapping[int, Mapping[Question, int]] = field(default_factory=dict)

    def questions_about(self, image: ImageKey) -> list[Question]:
        """Return the questions that judges are asked about an image."""
        counts = self.questions.get(image.content, {})
        return [question for question, count in counts.items() if image.index < count]

    @property
    def n_questions(self) -> int:
        """The number of answers required from each judge."""
        return sum(len(self.questions_about(request.key)) for request in self.requests)


def planned_edits(
    needs_of_tasks: Iterable[Needs], seed: int, sources: SourceImages
) -> PlannedEdits:
    """Return the edits that tasks need of the source images that exist."""
    requests: dict[ImageKey, ImageRequest] = {}
    embedded: Counter[int] = Counter()
    controlled: Counter[int] = Counter()
    questions: dict[int, dict[Question, int]] = {}
    for needs in needs_of_tasks:
        for edit in needs.edits:
            file = sources.file(edit.source)
            if file is None:
                continue
            for index in range(edit.images):
                image_of_edit = ImageRequest(
                    prompt=edit.instruction,
                    index=index,
                    seed=image_seed(seed, edit.instruction, index, file.sha256),
                    source=file,
                )
                requests.setdefault(image_of_edit.key, image_of_edit)
            content = ImageKey.of(edit.instruction, 0, file.sha256).content
            if needs.embeds:
                embedded |= Counter({content: edit.images})
                if not needs.is_judged:
                    controlled |= Counter({content: edit.images})
            counts = questions.setdefault(content, {})
            for asked in questions_about_edit(needs, edit):
                question = (asked.question, asked.classes)
                counts[question] = max(edit.images, counts.get(question, 0))
    return PlannedEdits(
        requests=tuple(sorted(requests.values(), key=_by_instruction)),
        embedded=embedded,
        controlled=controlled,
        questions={
            content: dict(sorted(counts.items()))
            for content, counts in questions.items()
        },
    )


def _by_instruction(request: ImageRequest) -> tuple[str, str, int]:
    source = "" if request.source is None else request.source.sha256
    return request.prompt, source, request.index


def questions_about_edit(needs: Needs, edit: EditNeed) -> list[PairQuestion]:
    """Return a task's questions about the images of one of its edits."""
    return [
        question
        for question in needs.pair_questions
        if not question.edits or edit.edit in question.edits
    ]


def needs_of_sources(needs: Needs) -> Needs:
    """Return what a task needs of its source images, as the needs of a run that makes them."""
    questions = [
        QuestionNeed(
            prompt=source.prompt,
            images=source.images,
            question=asked.question,
            classes=asked.classes,
            about=asked.about,
        )
        for source in needs.sources
        for asked in needs.pair_questions
        if not asked.edits
    ]
    return Needs(prompts=needs.sources, questions=tuple(questions), embeds=needs.embeds)


def expected_images(needs_of_tasks: Iterable[Needs]) -> int:
    """Return how many images edits make of all their source images, each image once."""
    return _expected(needs_of_tasks).total()


def expected_answers(needs_of_tasks: Iterable[Needs]) -> int:
    """Return how many answers about edits each judge gives if all source images exist."""
    counts: Counter[tuple[str, object, PairQuestion]] = Counter()
    for needs in needs_of_tasks:
        for edit in needs.edits:
            for asked in questions_about_edit(needs, edit):
                about = PairQuestion(asked.question, asked.classes)
                key = (edit.instruction, edit.source, about)
                counts[key] = max(counts[key], edit.images)
    return counts.total()


def _expected(needs_of_tasks: Iterable[Needs]) -> Counter[tuple[str, object]]:
    counts: Counter[tuple[str, object]] = Counter()
    for needs in needs_of_tasks:
        for edit in needs.edits:
            key = (edit.instruction, edit.source)
            counts[key] = max(counts[key], edit.images)
    return counts
