"""The images that the questions of a task are about: made from prompts, edited, or edited from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from t2ibench.methods.core.edit_needs import needs_of_sources, questions_about_edit
from t2ibench.methods.core.evidence import Needs, QuestionNeed
from t2ibench.pipeline.source_images import FOLDER
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import Attempt


@dataclass(frozen=True, slots=True)
class AskedImage:
    """An image that exists, and a question about it.

    Attributes:
        about: What reports call the question.
        question: What is asked.
        classes: What it can be answered with; empty for free text.
        prompt: What the image was made from: a prompt, or an edit's instruction.
        index: Its index.
        attempt: Its record.
        sha256: The SHA-256 of its file.
        is_source: Whether it is a source image, which is edited.
    """

    about: str
    question: str
    classes: tuple[str, ...]
    prompt: str
    index: int
    attempt: Attempt
    sha256: str
    is_source: bool = False

    @property
    def file(self) -> str | None:
        """Its file, relative to the folder of the run."""
        if not self.attempt.file:
            return None
        folder = f"{FOLDER}/images" if self.is_source else "images"
        return f"{folder}/{self.attempt.file}"


def images_of_questions(
    needs: Needs,
    images: DistinctImages,
    sources: DistinctImages | None,
    *,
    checks: bool = False,
) -> Iterator[AskedImage]:
    """Yield every image that exists of every question, question by question.

    Args:
        needs: The needs of a task.
        images: The images of the run.
        sources: Its source images; None without.
        checks: Whether questions count that only check what an encoder measures.
    """
    questions = [*needs.questions, *(needs.checks if checks else ())]
    for need in dict.fromkeys(questions):
        yield from _of_question(need, images.first(need.prompt, need.images))
    if sources is None:
        return
    for need in needs_of_sources(needs).questions:
        attempts = sources.first(need.prompt, need.images)
        yield from _of_question(need, attempts, is_source=True)
    for edit in needs.edits:
        source = sources.nth(edit.source.prompt, edit.source.index)
        if source is None or source.status != "ok":
            continue
        attempts = images.first(edit.instruction, edit.images, source.sha256)
        for asked in questions_about_edit(needs, edit):
            of_edit = QuestionNeed(
                prompt=edit.instruction,
                images=edit.images,
                question=asked.question,
                classes=asked.classes,
                about=asked.about,
            )
            yield from _of_question(of_edit, attempts)


def _of_question(
    need: QuestionNeed,
    attempts: Sequence[Attempt | None],
    *,
    is_source: bool = False,
) -> Iterator[AskedImage]:
    for index, attempt in enumerate(attempts):
        if attempt is None or attempt.status != "ok" or not attempt.sha256:
            continue
        yield AskedImage(
            about=need.about or need.question,
            question=need.question,
            classes=need.classes,
            prompt=need.prompt,
            index=index,
            attempt=attempt,
            sha256=attempt.sha256,
            is_source=is_source,
        )
