"""People's answers about some of the images, where a run has any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from t2ibench.methods.core.evidence import Evidence


@runtime_checkable
class Labelled(Protocol):
    """Evidence that people labelled some images of; optional, beside `Evidence`."""

    def labels(
        self, prompt: str, n: int, question: str, classes: Sequence[str]
    ) -> Mapping[int, str]:
        """People's answers about the first n images of a prompt.

        Args:
            prompt: Whose images.
            n: Images with an index of n or more are excluded.
            question: What was asked.
            classes: The possible answers.

        Returns:
            Index of an image to a class, or 'unknown'.
        """
        ...


def labels_of(
    evidence: Evidence, prompt: str, n: int, question: str, classes: Sequence[str]
) -> Mapping[int, str]:
    """People's answers, if the evidence has any.

    Args:
        evidence: One judge's evidence.
        prompt: Whose images.
        n: Images with an index of n or more are excluded.
        question: What was asked.
        classes: The possible answers.

    Returns:
        Index of an image to a class, or 'unknown'; empty without labels.
    """
    if isinstance(evidence, Labelled):
        return evidence.labels(prompt, n, question, classes)
    return {}
