"""The words that the explorer compares concepts with, and the words that a sweep tests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from t2ibench.apps.explorer.collection import Collection
from t2ibench.apps.explorer.start import explored_tasks
from t2ibench.apps.explorer.tree import exploration
from t2ibench.methods.core.prompting_tree import ExploredReference
from t2ibench.methods.core.prompts import fill
from t2ibench.tasks.folders import bundled_tasks
from t2ibench.tasks.loader import read_library

_WORDS = "everyday_words"
_LEADING = re.compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_MOST_WORDS = 4  # of a phrase that a sweep asks


class Reference:
    """The reference words for given anchors: those of a task with these anchors, or the default."""

    def __init__(self, collection: Collection) -> None:
        self.lists = read_library([bundled_tasks()]).lists
        self._words = self.lists[_WORDS]
        self._of_tasks: dict[frozenset[str], ExploredReference] = {}
        for exploration_of_task, task in explored_tasks(collection.sources):
            self._of_tasks.setdefault(
                frozenset(exploration_of_task.anchors(task)),
                exploration_of_task.reference(task),
            )

    def of(self, anchors: Sequence[str]) -> ExploredReference:
        """Return the words and template to compare with: those of the anchors' task, or default."""
        reference = self._of_tasks.get(frozenset(anchors))
        if reference is None:
            return exploration().default_reference(anchors)
        return (
            replace(reference, words=None)
            if reference.words == self._words
            else reference
        )

    def texts(self, anchors: Sequence[str]) -> tuple[str, ...]:
        """Return the reference texts for these anchors: a template filled with each word."""
        reference = self.of(anchors)
        return tuple(filled(reference.template, self.words(reference)))

    def words(self, reference: ExploredReference) -> tuple[str, ...]:
        """Return the words of a reference, or the default words if it has none of its own."""
        return self._words if reference.words is None else reference.words


def filled(template: str, words: Sequence[str]) -> list[str]:
    """Return the template filled with each word in turn."""
    return [fill(template, word=word) for word in words]


def phrases(
    lists: Mapping[str, Sequence[str]], reference: Sequence[str]
) -> tuple[str, ...]:
    """Return the short phrases of word lists that a sweep tests, without those in `reference`.

    Examples:
        >>> phrases({"a": ["a nurse", "nurse", "apple"], "b": ["two men in a bar"]}, ["apple"])
        ('nurse',)
    """
    reference_words = {word.casefold() for word in reference}
    short_names: dict[str, str] = {}
    for name, words in lists.items():
        for word in words if "names" not in name.split("_") else ():
            short = _LEADING.sub("", word.strip().rstrip("."))
            key = short.casefold()
            if (
                short
                and key not in reference_words
                and len(short.split()) <= _MOST_WORDS
            ):
                short_names.setdefault(key, short)
    return tuple(short_names.values())
