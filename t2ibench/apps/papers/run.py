"""A run as exhibits see it: its results, samples and images."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from t2ibench.errors import T2IBenchError
from t2ibench.results.files import read_results
from t2ibench.results.run import folder_of, open_run
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Results
from t2ibench.store.database import Database
from t2ibench.store.images import ImageStore, StoredImage

SHOWN = 6  # images of a row


class Strip(NamedTuple):
    """A row of images: what they have in common, and the images."""

    title: str
    images: tuple[StoredImage, ...]


class Run:
    """A run.

    Args:
        results: What it measured.
        folder: Its folder; None where only results are at hand.
    """

    def __init__(self, results: Results, folder: Path | None) -> None:
        self.results = results
        self.folder = folder

    @classmethod
    def read(cls, path: Path) -> Run:
        """The run of a folder, with what several commands have measured."""
        folder = folder_of(path)
        return cls(read_results(folder).with_earlier(), folder)

    def samples(self, *tasks: str) -> Sequence[Mapping[str, Any]]:
        """The samples of the first of some tasks that has any, one row an image or a prompt."""
        if self.folder is None:
            return []
        return next((rows for task in tasks if (rows := read_samples(self.folder, task))), [])

    @functools.cached_property
    def _images(self) -> ImageStore | None:
        try:
            generator = None if self.folder is None else open_run(self.folder).record.generator
        except T2IBenchError:
            return None
        if self.folder is None or generator is None:
            return None
        return ImageStore(Database(self.folder), generator.fingerprint)

    def strip(self, title: str, prompts: Sequence[str], each: int = SHOWN) -> Strip:
        """The first images of some prompts; none is picked by hand."""
        store = self._images
        if store is None:
            return Strip(title, ())
        attempts = (store.get(prompt, index) for prompt in prompts for index in range(each))
        found = (store.image(one) for one in attempts if one is not None and one.status == "ok")
        return Strip(title, tuple(itertools.islice(found, SHOWN)))
