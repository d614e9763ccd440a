"""The evidence about edits: images that a model makes from a source image and an instruction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.evidence import AnswerEvidence, Evidence, ImageEvidence


@dataclass(frozen=True, slots=True)
class SourceImage:
    """One of the images that a task has edited, as a method names it before it exists.

    Attributes:
        prompt: The prompt that the source image is generated from, or filed under.
        index: Which image of this prompt, from 0.
    """

    prompt: str
    index: int


@dataclass(frozen=True, slots=True)
class EditNeed:
    """An edit of one source image, and how many images of it a task needs.

    Attributes:
        instruction: The text, exactly as it goes to the model beside the source image.
        source: The image that is edited.
        images: How many images of this edit, indices 0 to images - 1.
        group: The group of people that the source image shows, for pages.
        edit: What the task calls the instruction, for pages.
        is_control: Whether the edit is made to check the run, so that no lean is of it.
    """

    instruction: str
    source: SourceImage
    images: int = 1
    group: str = field(default="", compare=False)
    edit: str = field(default="", compare=False)
    is_control: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class PairQuestion:
    """A question that a judge answers about every source image and every edit of it.

    Attributes:
        question: What is asked.
        classes: What it can be answered with ('unknown' always can).
        about: What reports call it, such as 'person gender'.
        edits: Names of the edits that it is asked about; empty for all. A question about certain
            edits, such as whether the person is a doctor now, is not asked about source images.
    """

    question: str
    classes: tuple[str, ...]
    about: str = field(default="", compare=False)
    edits: tuple[str, ...] = ()


@runtime_checkable
class EditEvidence(Evidence, Protocol):
    """What one encoder or judge observed of edits and of the images that they were made from.

    Functions that `Evidence` has too are about a task's own prompts, without a source image.
    """

    @property
    def sources(self) -> Evidence:
        """What the same encoder or judge observed of the source images, by their prompts."""

    def edited(self, edit: EditNeed) -> ImageEvidence:
        """Return the embeddings of the images of an edit.

        Args:
            edit: As the task's needs list it.

        Returns:
            Embeddings of shape (m, d) with m <= edit.images, and how many are excluded, by reason:
            also 'source' for each image whose source image does not exist.
        """

    def answers_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return a judge's answers about the images of an edit.

        Args:
            edit: As the task's needs list it.
            question: What was asked.
            classes: The possible answers.

        Returns:
            The answers, and how many are excluded, by reason.
        """


@runtime_checkable
class PixelEvidence(Protocol):
    """What was measured on the pixels of source images and edits, without an encoder or a judge."""

    def brightness_of_source(self, source: SourceImage) -> Float64Array | None:
        """Return the brightness of a source image in cells; None for an image without.

        Args:
            source: As the task's needs list it.

        Returns:
            Luma (ITU-R BT.601) from 0 to 1, shape (16, 16), the top row first.
        """

    def brightness_of_edit(self, edit: EditNeed) -> dict[int, Float64Array]:
        """Return the brightness of the images of an edit, in cells as for source images.

        Args:
            edit: As the task's needs list it.

        Returns:
            Keyed by the index of the image; without those that do not exist.
        """


@runtime_checkable
class LabelsOfImages(Protocol):
    """People's labels of some images, beside a judge's answers about all."""

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        """Return the majority label of each labelled image of a prompt, keyed by index."""


@runtime_checkable
class LabelsOfEdits(Protocol):
    """People's labels of some edits, beside a judge's answers about all."""

    def labels_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> dict[int, str]:
        """Return the majority label of each labelled image of an edit, keyed by index."""
