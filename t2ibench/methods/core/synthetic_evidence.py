"""Synthetic evidence of a task, made from a seed, with which methods are checked."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.edit_evidence import EditNeed, SourceImage
from t2ibench.methods.core.edit_needs import needs_of_sources, questions_about_edit
from t2ibench.methods.core.evidence import (
    UNKNOWN,
    AnswerEvidence,
    ImageEvidence,
    Needs,
)

_DIM = 16
_WORDS = (
    "person",
    "man",
    "woman",
    "red dress",
    "office",
    "park",
    "bright light",
    "old house",
)


class SyntheticEvidence:
    """Synthetic images, texts and answers for the needs of a task, made from a seed.

    An image or a text is a random unit vector around a vector of its prompt, and an answer is one
    of the classes, 'unknown' or a few words; images that a judge checks show the group that their
    prompt asks for. Each depends on its own prompt, index, text and question only, or on its own
    edit and source image. Another seed is another encoder, or another judge; without images, or
    without a vector, are the prompts and texts of `without`. With `checked` False, no judge looks
    at images that a method would have checked.
    """

    def __init__(
        self,
        needs: Needs,
        seed: int = 0,
        without: Collection[str] = (),
        *,
        checked: bool = True,
    ) -> None:
        self._needs = needs
        self._seed = seed
        self._without = frozenset(without)
        self._checked = checked
        self._counts = needs.images_by_prompt
        self._asked = {
            (need.prompt, need.question, tuple(need.classes)): need.images
            for need in (*needs.questions, *needs.checks)
        }
        self._checks = {(need.prompt, need.question) for need in needs.checks}
        self._edits = frozenset(needs.edits)
        self._images = {
            prompt: self._rows(f"image {prompt}", n, around=prompt)
            for prompt, n in self._counts.items()
        }
        self._texts = {
            text: self._rows(f"text {text}", 1, around=text)[0] for text in needs.texts
        }

    def _rng(self, purpose: str) -> np.random.Generator:
        digest = hashlib.sha256(f"{self._seed}\0{purpose}".encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "little"))

    def _rows(self, purpose: str, n: int, around: str) -> Float64Array:
        noise = self._rng(purpose).normal(size=(n, _DIM))
        rows: Float64Array = self._rng(f"centre {around}").normal(size=_DIM) + noise
        unit: Float64Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    def images(self, prompt: str, n: int) -> ImageEvidence:
        """Return embeddings of a prompt's images 0 to n - 1; none for a prompt in `without`."""
        if not self._needs.embeds:
            raise MissingEvidence("an embedding, although `needs.embeds` is False,")
        if n > self._counts.get(prompt, 0):
            raise MissingEvidence(f"image {n - 1} of the prompt '{prompt}'")
        if prompt in self._without:
            return ImageEvidence(
                np.zeros((0, 1)), np.zeros(0, np.int64), Counter({"refused": n})
            )
        return ImageEvidence(self._images[prompt][:n], np.arange(n), Counter())

    def texts(self, texts: Sequence[str]) -> Float64Array:
        """Return the synthetic embeddings of texts; a row of NaN for a text in `without`."""
        for text in texts:
            if text not in self._texts:
                raise MissingEvidence(f"the text '{text}'")
        nothing = np.full(_DIM, np.nan)
        return np.array(
            [nothing if text in self._without else self._texts[text] for text in texts]
        )

    def answers(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return a synthetic judge's answers about the first n images of a prompt."""
        if n > self._asked.get((prompt, question, tuple(classes)), 0):
            raise MissingEvidence(
                f"the answer to '{question}' about the prompt '{prompt}'"
            )
        if prompt in self._without:
            return AnswerEvidence((), np.zeros(0, np.int64), Counter({"refused": n}))
        if (prompt, question) in self._checks:
            return self._answers_of_check(prompt, n, classes)
        rng = self._rng(f"answer {prompt} {question}")
        options = [*classes, UNKNOWN] if classes else list(_WORDS)
        answers = tuple(options[pick] for pick in rng.integers(len(options), size=n))
        return AnswerEvidence(answers, np.arange(n), Counter())

    def _answers_of_check(
        self, prompt: str, n: int, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return answers that all images show the group asked for; none unless `checked`."""
        shown = self._needs.groups.get(prompt, "").split(", ")[-1]
        if not self._checked or shown not in classes:
            return AnswerEvidence((), np.zeros(0, np.int64), Counter({"missing": n}))
        return AnswerEvidence((shown,) * n, np.arange(n), Counter())

    @cached_property
    def sources(self) -> SyntheticEvidence:
        """Return the synthetic evidence of the source images."""
        needs = needs_of_sources(self._needs)
        return SyntheticEvidence(needs, self._seed, self._without)

    def edited(self, edit: EditNeed) -> ImageEvidence:
        """Return embeddings of the images of an edit; none of a source whose prompt is missing."""
        self._check_edit(edit)
        if not self._needs.embeds:
            raise MissingEvidence("an embedding, although `needs.embeds` is False,")
        n = edit.images
        if edit.source.prompt in self._without:
            return ImageEvidence(
                np.zeros((0, 1)), np.zeros(0, np.int64), Counter({"source": n})
            )
        purpose = f"edit {edit.source} {edit.instruction}"
        rows = self._rows(purpose, n, around=edit.source.prompt)
        return ImageEvidence(rows, np.arange(n), Counter())

    def answers_about_edit(
        self, edit: EditNeed, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        """Return a synthetic judge's answers about the images of an edit."""
        self._check_edit(edit)
        asked = {
            (need.question, tuple(need.classes))
            for need in questions_about_edit(self._needs, edit)
        }
        if (question, tuple(classes)) not in asked:
            raise MissingEvidence(
                f"the answer to '{question}' about the edit '{edit.instruction}'"
            )
        n = edit.images
        if edit.source.prompt in self._without:
            return AnswerEvidence((), np.zeros(0, np.int64), Counter({"source": n}))
        rng = self._rng(f"answer {edit.source} {edit.instruction} {question}")
        options = [*classes, UNKNOWN]
        answers = tuple(options[pick] for pick in rng.integers(len(options), size=n))
        return AnswerEvidence(answers, np.arange(n), Counter())

    def brightness_of_source(self, source: SourceImage) -> Float64Array | None:
        """Return the brightness of a synthetic source image in cells, shape (16, 16)."""
        if source.prompt in self._without:
            return None
        return self._rng(f"brightness {source}").random((16, 16))

    def brightness_of_edit(self, edit: EditNeed) -> dict[int, Float64Array]:
        """Return the brightness of the images of an edit in cells, keyed by index."""
        self._check_edit(edit)
        if edit.source.prompt in self._without:
            return {}
        rng = self._rng(f"brightness {edit.source} {edit.instruction}")
        return {index: rng.random((16, 16)) for index in range(edit.images)}

    def _check_edit(self, edit: EditNeed) -> None:
        if edit not in self._edits:
            raise MissingEvidence(f"the edit '{edit.instruction}' of {edit.source}")

    def held(self) -> bytes:
        """Return all embeddings as bytes, which show whether a method changed any."""
        return b"".join(
            row.tobytes() for row in (*self._images.values(), *self._texts.values())
        )
