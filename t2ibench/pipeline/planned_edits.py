"""The edits of a plan: images that are made from source images, once these exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from t2ibench.identity import ImageKey, content_id
from t2ibench.methods.core.edit_needs import questions_about_edit
from t2ibench.methods.core.evidence import Needs
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
    embedded: dict[int, int] = {}
    controlled: dict[int, int] = {}
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
            content = content_id(edit.instruction, file.sha256)
            if needs.embeds:
                embedded[content] = max(edit.images, embedded.get(content, 0))
                if not needs.is_judged:
                    controlled[content] = max(edit.images, controlled.get(content, 0))
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


def keys_of_edit(instruction: str, images: int, sha256: str | None) -> list[ImageKey]:
    """Return the keys of the images of an edit of the source image with this hash."""
    return [ImageKey.of(instruction, index, sha256) for index in range(images)]


def _by_instruction(request: ImageRequest) -> tuple[str, str, int]:
    source = "" if request.source is None else request.source.sha256
    return request.prompt, source, request.index
