"""Functions that collect what an evidence holds about source images and their edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.core.edit_evidence import (
    EditEvidence,
    EditNeed,
    LabelsOfEdits,
    LabelsOfImages,
    PixelEvidence,
    SourceImage,
)
from t2ibench.methods.core.evidence import UNKNOWN, AnswerEvidence, Evidence
from t2ibench.methods.edits.needs import edit_needs, edits_of
from t2ibench.methods.edits.schema import Edit, EditsTask, SourceGroup
from t2ibench.settings import Settings

# Numbers of source images of one prompt are below this number.
_STRIDE = 100_000

# Answers about the images of one edit of one source image; None without an answer.
Answers = tuple[str | None, ...]
# Brightness of images in cells, each of shape (16, 16).
Pictures = tuple[Float64Array | None, ...]


def shown_answers(answers: Answers) -> list[str]:
    """Return the answers that say what an image shows: neither 'unknown' nor missing."""
    return [answer for answer in answers if answer is not None and answer != UNKNOWN]


@dataclass(frozen=True, slots=True)
class EditedImages:
    """The images of one edit of one source image, and what was answered about them.

    Attributes:
        after: Name of an attribute to the answer about each image.
        made: Answer to the question whether the edit was made, about each image.
        excluded: Number of images that are missing, by reason, such as 'refused'.
        distances: Distance of each image to its source image, 1 - cosine; NaN without.
        pictures: Brightness of each image in cells; None without, or where it is not measured.
        labels: Name of an attribute to people's label of each image; None without one.
    """

    after: Mapping[str, Answers]
    made: Answers
    excluded: Counter[str]
    distances: Float64Array
    pictures: Pictures = ()
    labels: Mapping[str, Answers] = field(default_factory=dict)

    @property
    def images(self) -> int:
        """Number of images that were requested."""
        return len(self.made)

    @property
    def missing(self) -> int:
        """Number of images that do not exist."""
        return sum(self.excluded.values())

    @property
    def existing(self) -> int:
        """Number of images that exist."""
        return self.images - self.missing


@dataclass(frozen=True, slots=True)
class EditedGroup:
    """The source images of one group, and their edits.

    Attributes:
        name: Name of the group.
        sources: Its source images, which may be missing.
        numbers: Number of each, the same in every run of the task, shape (n,).
        before: Name of an attribute to the answer about each source image.
        excluded: Number of source images that are missing, by reason.
        edits: Name of an edit to its images, in the order of the source images.
        pictures: Brightness of each source image in cells; None without.
        labels: Name of an attribute to people's label of each source image; None without one.
    """

    name: str
    sources: tuple[SourceImage, ...]
    numbers: IntArray
    before: Mapping[str, Answers]
    excluded: Counter[str]
    edits: Mapping[str, tuple[EditedImages, ...]]
    pictures: Pictures = ()
    labels: Mapping[str, Answers] = field(default_factory=dict)


def gather(
    task: EditsTask, evidence: Evidence, settings: Settings
) -> list[EditedGroup]:
    """Return what an evidence holds about the source images and edits of every group.

    Raises:
        TypeError: the evidence knows nothing of edits.
    """
    if not isinstance(evidence, EditEvidence):
        raise TypeError("evidence of edits is needed")
    return [_group(task, group, evidence, settings) for group in task.groups]


def _group(
    task: EditsTask, group: SourceGroup, evidence: EditEvidence, settings: Settings
) -> EditedGroup:
    """Return what an evidence holds about one group."""
    n_sources = settings.images(task.images_per_prompt)
    prompts = settings.limited(group.prompts)
    before: dict[str, Answers] = {}
    excluded: Counter[str] = Counter()
    for number, attribute in enumerate(task.attributes):
        answers: list[str | None] = []
        for prompt in prompts:
            replies = evidence.sources.answers(
                prompt, n_sources, attribute.question, attribute.classes
            )
            answers += _by_index(replies, n_sources)
            if not number:
                excluded += _of_images(replies.excluded)
        before[attribute.full_name] = tuple(answers)
    vectors = _source_vectors(task, prompts, n_sources, evidence)
    edits: dict[str, tuple[EditedImages, ...]] = {}
    for edit in edits_of(task, settings):
        requested = edit_needs(task, edit, group, settings)
        edits[edit.name] = tuple(
            _edited(task, edit, need, evidence, vector)
            for need, vector in zip(requested, vectors, strict=True)
        )
    first_numbers = _STRIDE * np.arange(len(prompts))
    numbers = first_numbers[:, None] + np.arange(n_sources)
    sources = tuple(
        SourceImage(prompt, index) for prompt in prompts for index in range(n_sources)
    )
    return EditedGroup(
        name=group.name,
        sources=sources,
        numbers=numbers.ravel(),
        before=before,
        excluded=excluded,
        edits=edits,
        pictures=_pictures_of_sources(task, sources, evidence),
        labels=_labels_of_sources(task, prompts, n_sources, evidence),
    )


def _edited(
    task: EditsTask,
    edit: Edit,
    need: EditNeed,
    evidence: EditEvidence,
    source: Float64Array | None,
) -> EditedImages:
    """Return what an evidence holds about one edit of one source image."""
    after: dict[str, Answers] = {}
    reasons: list[Counter[str]] = []
    for attribute in task.attributes:
        replies = evidence.answers_about_edit(
            need, attribute.question, attribute.classes
        )
        after[attribute.full_name] = _by_index(replies, need.images)
        reasons.append(_of_images(replies.excluded))
    made: Answers = (None,) * need.images
    if edit.question is not None:
        replies = evidence.answers_about_edit(need, edit.question, edit.classes)
        made = _by_index(replies, need.images)
        reasons.append(_of_images(replies.excluded))
    distances = np.full(need.images, np.nan)
    if source is not None:
        images = evidence.edited(need)
        # Without an image there is no row of which a product could be taken.
        if len(images.indices):
            distances[images.indices] = 1.0 - images.embeddings @ source
            reasons.append(_of_images(images.excluded))
    # A missing image has no answer at all; an image that exists may lack some.
    fewest = min(reasons, key=Counter.total)
    pictures = _pictures_of_edit(task, need, evidence)
    labels = _labels_of_edit(task, need, evidence)
    return EditedImages(after, made, fewest, distances, pictures, labels)


def _labels_of_sources(
    task: EditsTask, prompts: Sequence[str], n_sources: int, evidence: EditEvidence
) -> dict[str, Answers]:
    """Return people's label of each source image, keyed by attribute; empty without labels."""
    sources = evidence.sources
    if not isinstance(sources, LabelsOfImages):
        return {}
    by_attribute: dict[str, Answers] = {}
    for attribute in task.attributes:
        labels: list[str | None] = []
        for prompt in prompts:
            given = sources.labels(
                prompt, n_sources, attribute.question, attribute.classes
            )
            labels += [given.get(index) for index in range(n_sources)]
        by_attribute[attribute.full_name] = tuple(labels)
    return by_attribute


def _labels_of_edit(
    task: EditsTask, need: EditNeed, evidence: EditEvidence
) -> dict[str, Answers]:
    """Return people's label of each image of an edit, keyed by attribute; empty without labels."""
    if not isinstance(evidence, LabelsOfEdits):
        return {}
    by_attribute: dict[str, Answers] = {}
    for attribute in task.attributes:
        given = evidence.labels_about_edit(need, attribute.question, attribute.classes)
        by_attribute[attribute.full_name] = tuple(
            given.get(index) for index in range(need.images)
        )
    return by_attribute


def _pictures_of_sources(
    task: EditsTask, sources: Sequence[SourceImage], evidence: EditEvidence
) -> Pictures:
    """Return the brightness of source images in cells, as far as the task measures it."""
    if not task.measures_pixels or not isinstance(evidence, PixelEvidence):
        return (None,) * len(sources)
    return tuple(evidence.brightness_of_source(source) for source in sources)


def _pictures_of_edit(
    task: EditsTask, need: EditNeed, evidence: EditEvidence
) -> Pictures:
    """Return the brightness of the images of an edit in cells, as far as the task measures it."""
    if not task.measures_pixels or not isinstance(evidence, PixelEvidence):
        return (None,) * need.images
    measured = evidence.brightness_of_edit(need)
    return tuple(measured.get(index) for index in range(need.images))


def _by_index(replies: AnswerEvidence, n_images: int) -> Answers:
    """Return the answer about each of so many images; None without an answer."""
    answer_of = dict(zip(replies.indices.tolist(), replies.answers, strict=True))
    return tuple(answer_of.get(index) for index in range(n_images))


# Reasons for an image without an answer that are about the answer and not about the image.
_OF_ANSWERS = frozenset({"not labelled"})


def _of_images(excluded: Mapping[str, int]) -> Counter[str]:
    """Return how many images are missing, by reason, without those that lack only an answer."""
    if not excluded:
        return Counter()
    return Counter(
        {
            reason: count
            for reason, count in excluded.items()
            if reason not in _OF_ANSWERS
        }
    )


def _source_vectors(
    task: EditsTask, prompts: Sequence[str], n_sources: int, evidence: EditEvidence
) -> list[Float64Array | None]:
    """Return the embedding of each source image; None for images without one.

    Distances are measured only where a control says how large they are without an edit.
    """
    vectors: list[Float64Array | None] = []
    for prompt in prompts:
        of_prompt: list[Float64Array | None] = [None] * n_sources
        if task.no_change is not None:
            images = evidence.sources.images(prompt, n_sources)
            for index, row in zip(images.indices, images.embeddings, strict=True):
                of_prompt[int(index)] = row
        vectors += of_prompt
    return vectors
