"""The words that a concept of the page is compared with."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.explorer.source import Collection
from t2ibench.explorer.start import explored_tasks
from t2ibench.explorer.tree import exploration
from t2ibench.methods.core.prompts import fill
from t2ibench.tasks.loader import bundled_tasks, read_library

_WORDS = "everyday_words"


class Reference:
    """Reference texts for anchors; the words are read once.

    Args:
        collection: What is explored. Anchors of one of its run's tasks have that task's reference.
    """

    def __init__(self, collection: Collection) -> None:
        self._words = read_library([bundled_tasks()]).lists[_WORDS]
        self._of_tasks = [
            (set(found.anchors(task)), tuple(found.reference(task)))
            for found, task in explored_tasks(collection)
        ]
        self._made: dict[str, tuple[str, ...]] = {}

    def texts(self, anchors: Sequence[str]) -> tuple[str, ...]:
        """The reference texts of anchors.

        Args:
            anchors: Their prompts.

        Returns:
            Those of the run's task with these anchors; else everyday words, put as the anchors.
        """
        for prompts, texts in self._of_tasks:
            if prompts == set(anchors):
                return texts
        template = exploration().reference_template(anchors)
        if template not in self._made:
            self._made[template] = tuple(fill(template, word=word) for word in self._words)
        return self._made[template]
