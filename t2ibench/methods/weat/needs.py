"""The evidence that a WEAT needs: its words as texts."""

from __future__ import annotations

from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.prompts import fill
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.methods.weat.word_sets import word_groups
from t2ibench.settings import Settings


def needs(task: WeatTask, settings: Settings) -> Needs:
    """Return the evidence that a task needs: every word in every template, as a text."""
    words: list[str] = []
    for group in word_groups(task).values():
        words += settings.limited(group.words)
    words += task.reference
    texts = [fill(template, word=word) for word in words for template in task.templates]
    return Needs(texts=tuple(dict.fromkeys(texts)))
