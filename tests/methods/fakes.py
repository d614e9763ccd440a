"""Evidence made by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.errors import MissingEvidence
from t2ibench.methods.core.evidence import AnswerEvidence, ImageEvidence


class HandEvidence:
    """Embeddings given as tables; see methods.core.evidence.Evidence."""

    def __init__(
        self,
        images: Mapping[str, Sequence[Sequence[float]] | Float64Array] | None = None,
        texts: Mapping[str, Sequence[float] | Float64Array] | None = None,
        excluded: Mapping[str, Mapping[str, int]] | None = None,
        answers: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    ) -> None:
        self._images = images or {}
        self._texts = texts or {}
        self._excluded = excluded or {}
        self._answers = answers or {}

    @property
    def prompts(self) -> list[str]:
        """Prompts that have images."""
        return list(self._images)

    def without(self, *prompts: str, **excluded: int) -> HandEvidence:
        """The same evidence but for the images of some prompts, excluded for these reasons."""
        absent = set(prompts) - set(self._images)
        assert not absent, f"no images to leave out: {absent}"
        images = {
            prompt: rows
            for prompt, rows in self._images.items()
            if prompt not in prompts
        }
        reasons = {**self._excluded, **dict.fromkeys(prompts, excluded)}
        return HandEvidence(images, self._texts, reasons, self._answers)

    def with_images(self, images: Mapping[str, Float64Array]) -> HandEvidence:
        """The same evidence but for other images of some prompts."""
        return HandEvidence(
            {**self._images, **images}, self._texts, self._excluded, self._answers
        )

    def images(self, prompt: str, n: int) -> ImageEvidence:
        rows = np.asarray(self._images.get(prompt, np.zeros((0, 2))), dtype=np.float64)[
            :n
        ]
        excluded = Counter(self._excluded.get(prompt, {}))
        excluded["missing"] += max(0, n - len(rows) - excluded.total())
        return ImageEvidence(rows, np.arange(len(rows)), +excluded)

    def labels(self, *asked: object) -> dict[int, str]:
        return {}

    def judge_check(self) -> None:
        return None

    def unreachable(self, classes: Sequence[str]) -> frozenset[str]:
        return frozenset()

    def texts(self, texts: Sequence[str]) -> Float64Array:
        for text in texts:
            if text not in self._texts:
                raise MissingEvidence(f"the text '{text}'")
        return np.asarray([self._texts[text] for text in texts], dtype=np.float64)

    def answers(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> AnswerEvidence:
        found = tuple(self._answers.get(prompt, {}).get(question, ()))[:n]
        lacking = Counter({"missing": n - len(found)})
        return AnswerEvidence(found, np.arange(len(found)), +lacking)


def unit(rows: Float64Array) -> Float64Array:
    """Rows of length 1."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)
