"""The words that a concept of the page is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from t2ibench.apps.explorer.source import Collection
from t2ibench.apps.explorer.start import explored_tasks
from t2ibench.apps.explorer.tree import exploration
from t2ibench.methods.core.prompting_tree import ExploredReference
from t2ibench.methods.core.prompts import fill
from t2ibench.tasks.loader import bundled_tasks, read_library

_WORDS = "everyday_words"


class Reference:
    """Reference texts for anchors; the words are read once.

    Args:
        collection: What is explored. Anchors of one of its run's tasks have that task's reference.

    Attributes:
        lists: The shipped word lists by name.
    """

    def __init__(self, collection: Collection) -> None:
        self.lists = read_library([bundled_tasks()]).lists
        self._words = self.lists[_WORDS]
        self._of_tasks = [
            (set(found.anchors(task)), self._named(found.reference(task)))
            for found, task in explored_tasks(collection)
        ]

    def _named(self, found: ExploredReference) -> ExploredReference:
        return replace(found, words=None) if found.words == self._words else found

    def of(self, anchors: Sequence[str]) -> ExploredReference:
        """The reference of anchors."""
        for prompts, found in self._of_tasks:
            if prompts == set(anchors):
                return found
        return exploration().default_reference(anchors)

    def texts(self, anchors: Sequence[str]) -> tuple[str, ...]:
        """The reference texts of anchors."""
        found = self.of(anchors)
        return tuple(fill(found.template, word=word) for word in self.words(found))

    def words(self, found: ExploredReference) -> tuple[str, ...]:
        """The words of a reference."""
        return self._words if found.words is None else found.words
