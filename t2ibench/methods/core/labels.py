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
        """People's answers about the first n images of a prompt."""
        ...


def labels_of(
    evidence: Evidence, prompt: str, n: int, question: str, classes: Sequence[str]
) -> Mapping[int, str]:
    """People's answers, if the evidence has any."""
    if isinstance(evidence, Labelled):
        return evidence.labels(prompt, n, question, classes)
    return {}
