"""The images of each run by number, prompt and embedding: what every question starts from."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from t2ibench.apps.explorer.source import Collection, Picture
from t2ibench.arrays import BoolArray, Float32Array, IntArray


class WrongQuestionError(ValueError):
    """A question that these images cannot answer; the message says why, in one line."""


@dataclass(frozen=True)
class Gallery:
    """All images at one moment.

    Attributes:
        pictures: The images; a number is a place in this list.
        rows: Their embeddings, shape (n, d).
    """

    pictures: Sequence[Picture]
    rows: Float32Array

    @cached_property
    def sources(self) -> IntArray:
        """The number of each image's run, shape (n,)."""
        return np.fromiter((one.source for one in self.pictures), np.int64, len(self.pictures))

    @cached_property
    def codes(self) -> dict[str, int]:
        """Prompt to its number, in the order in which they occur."""
        return {p: k for k, p in enumerate(dict.fromkeys(one.prompt for one in self.pictures))}

    @cached_property
    def prompts(self) -> IntArray:
        """The number of each image's prompt, shape (n,)."""
        codes = self.codes
        return np.fromiter(
            (codes[one.prompt] for one in self.pictures), np.int64, len(self.pictures)
        )

    def of_run(self, run: int, prompts: Sequence[str] = ()) -> IntArray:
        """The images of a run."""
        chosen: BoolArray = self.sources == run
        if prompts:
            known = [self.codes[prompt] for prompt in prompts if prompt in self.codes]
            chosen &= np.isin(self.prompts, known)
        return np.flatnonzero(chosen)

    def numbers(self, ids: Sequence[int], run: int) -> IntArray:
        """Images that a question names by number."""
        chosen = np.unique(np.asarray(ids, dtype=np.int64))
        known = (chosen >= 0) & (chosen < len(self.pictures))
        if not known.all():
            raise WrongQuestionError(f"no image has the number {chosen[~known][0]}")
        foreign = chosen[self.sources[chosen] != run]
        if len(foreign):
            raise WrongQuestionError(f"image {foreign[0]} is not one of this run")
        return chosen


class Galleries:
    """The gallery of now; a new one only where images were added.

    Args:
        collection: The images.
    """

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._lock = threading.Lock()
        self._latest: Gallery | None = None

    def now(self) -> Gallery:
        """All images that there are."""
        with self._lock:
            pictures = self._collection.pictures
            if self._latest is None or self._latest.pictures is not pictures:
                rows = self._collection.embeddings()[: len(pictures)]
                self._latest = Gallery(pictures, rows)
            return self._latest
