"""Every image of the runs or folders that the explorer shows; no encoder is needed."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.identity import ImageKey
from t2ibench.pipeline.progress import Reporter
from t2ibench.results.image_pairs import why_seeds_are_unknown
from t2ibench.results.run import RunFolder, is_run, open_run
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.files import read_ordinary
from t2ibench.store.images import (
    Attempt,
    ImageStore,
    StoredImage,
    image_files,
    in_order,
)

NO_FILE = "no file"  # the status of an image whose file has been removed


@dataclass(frozen=True, slots=True)
class Picture(StoredImage):
    """One image, with the index of the run or folder that contains it."""

    source: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An attempt to make an image, and the image.

    Attributes:
        attempt: Its record; that of an image of a plain folder names its file alone.
        status: 'ok', 'refused', 'filtered', 'failed' or 'no file'.
        picture: The image; None unless the status is 'ok'.
    """

    attempt: Attempt
    status: str
    picture: Picture | None


@dataclass(slots=True)
class Source:
    """A run, or a plain folder of images, which has neither a run record nor an image store.

    Attributes:
        name: What the page calls it.
        folder: Its folder.
        run: The run; None for a plain folder.
        images: The images of the run.
        database: Where its embeddings are stored.
        entries: Every image that was asked for, ordered by prompt and number.
    """

    name: str
    folder: Path
    run: RunFolder | None
    images: ImageStore | None
    database: Database
    entries: Sequence[Entry] = ()

    def attempt(self, picture: Picture) -> Attempt | None:
        """Return the record of how an image was generated; None for one of a plain folder."""
        return self.images.get(picture.key) if self.images is not None else None

    def seed_of(self, attempt: Attempt) -> int | str | None:
        """Return the seed of an image, or why nobody knows it; None for one of a plain folder."""
        if self.run is None:
            return None
        why_unknown = why_seeds_are_unknown(self.run.record.generator)
        return f"not known ({why_unknown})" if why_unknown else attempt.seed

    def distinct_pictures(self) -> list[Picture]:
        """Return the images, each distinct picture of a prompt once."""
        pictures = [entry.picture for entry in self.entries if entry.picture]
        if self.images is None:
            return pictures
        distinct = DistinctImages(self.images)
        return [
            picture
            for picture in pictures
            if (image := distinct.get(picture.key)) and image.status == "ok"
        ]


class Album:
    """Every image of some runs and folders; its images are numbered within each of them."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = list(sources)

    def source(self, run: int) -> Source:
        """Return the run or folder with the index `run`."""
        if run >= len(self.sources):
            raise T2IBenchError(f"There is no run {run}.")
        return self.sources[run]

    def samples(self, run: int) -> dict[ImageKey, int]:
        """Return the number of each image of a run, keyed by its `ImageKey`."""
        entries = self.source(run).entries
        return {entry.attempt.key: number for number, entry in enumerate(entries)}

    @cached_property
    def prompts(self) -> Counter[str]:
        """The number of images of each prompt."""
        return Counter(
            entry.picture.prompt
            for source in self.sources
            for entry in source.entries
            if entry.picture
        )


def open_album(paths: Sequence[Path], reporter: Reporter) -> Album:
    """Return every image of runs and folders; raise an error if one of these has none."""
    sources: list[Source] = []
    names: Counter[str] = Counter()
    for number, path in enumerate(paths):
        source = _source(path)
        names[source.name] += 1
        if names[source.name] > 1:
            source.name += f" ({names[source.name]})"
        source.entries = _entries(source, number, reporter)
        _report(source, path, reporter)
        sources.append(source)
    return Album(sources)


def _source(path: Path) -> Source:
    if not is_run(path):
        if not path.is_dir():
            raise T2IBenchError(f"No such folder: '{shown_path(path)}'.")
        return Source(
            path.resolve().name, path, None, None, Database(path / ".t2ibench")
        )
    run = open_run(path)
    generator = run.record.generator
    if generator is None:
        raise T2IBenchError(f"'{path}' is a run on texts alone; it has no images.")
    name = run.record.settings.name or generator.name
    images = ImageStore(run.database, generator.fingerprint)
    return Source(name, path, run, images, run.database)


def _report(source: Source, path: Path, reporter: Reporter) -> None:
    """Say how many images a source has; raise an error if it has none."""
    statuses = Counter(entry.status for entry in source.entries)
    removed = statuses[NO_FILE]
    if removed:
        reporter.warn(
            f"{removed} images of {path} have no file any more and are not shown; the run's "
            "own command with --generate-only generates them again."
        )
    if not statuses["ok"]:
        raise T2IBenchError(
            f"'{path}' holds no images.",
            "Give a run folder, or a folder of images.",
        )
    reporter.say(f"{path}: {statuses['ok']:,} images.")


def _entries(source: Source, number: int, reporter: Reporter) -> list[Entry]:
    """Return every image of a source, ordered by prompt and number."""
    if source.images is None:
        return _entries_of_folder(source.folder, number, reporter)
    images = source.images
    # Reading them again shows which files still exist.
    present = {attempt.key for attempt in images.attempts()}
    entries = []
    for attempt in in_order(images.all_attempts()):
        status = attempt.status
        picture = None
        if status == "ok" and attempt.key in present:
            path = images.path(attempt)
            picture = Picture(path, attempt.sha256 or "", attempt.key, number)
        elif status == "ok":
            status = NO_FILE
        entries.append(Entry(attempt, status, picture))
    return entries


def _entries_of_folder(folder: Path, number: int, reporter: Reporter) -> list[Entry]:
    """Return the distinct images of a plain folder."""
    files_by_prompt: dict[str, dict[str, Path]] = defaultdict(dict)
    files = _with_prompts(folder)
    with reporter.stage("Reading images", len(files), "files") as ticker:
        for path, prompt in files:  # a file that repeats another counts once
            files_by_prompt[prompt].setdefault(
                hashlib.sha256(read_ordinary(path)).hexdigest(), path
            )
            ticker.advance(1)
    entries = []
    for prompt, files_by_digest in sorted(files_by_prompt.items()):
        for index, (digest, path) in enumerate(files_by_digest.items()):
            key = ImageKey.of(prompt, index)
            attempt = Attempt(key, 0, "ok", path.name, digest)
            entries.append(Entry(attempt, "ok", Picture(path, digest, key, number)))
    return entries


def _with_prompts(folder: Path) -> list[tuple[Path, str]]:
    """Return image files with prompts; without a prompt table, subfolders' names are prompts."""
    from t2ibench.models.generators.image_folder import ImageFolder

    listed: list[tuple[Path, str]] = []
    with suppress(T2IBenchError):
        listed = ImageFolder(folder).existing()
    return listed or [
        (path, path.parent.name if path.parent != folder else "picture")
        for path in image_files(folder)
    ]
