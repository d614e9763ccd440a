"""The runs or folders of images that the explorer shows, with embeddings of their images."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.arrays import BoolArray, Float32Array, IntArray
from t2ibench.errors import T2IBenchError, shown
from t2ibench.identity import ImageKey
from t2ibench.models.encoders import DEFAULT_ENCODER, DEFAULT_WEIGHTS, create_encoder
from t2ibench.models.generators import default_encoder
from t2ibench.models.hub import is_downloaded
from t2ibench.models.protocols import Encoder
from t2ibench.pipeline.embedding import embedded_images, missing_embeddings, naming
from t2ibench.pipeline.progress import Reporter
from t2ibench.results.run import RunFolder, is_run, open_run
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import Attempt, ImageStore, StoredImage, image_files
from t2ibench.store.repair import mend

_TEXTS = 64  # texts that are embedded at a time
_MOST_TEXTS = 50_000  # embeddings of texts that are held in memory


@dataclass(frozen=True, slots=True)
class Picture(StoredImage):
    """One image, with the index of the run or folder that contains it."""

    source: int


@dataclass(slots=True)
class Source:
    """A run, or a plain folder of images, which has neither a run record nor an image store."""

    name: str
    folder: Path
    run: RunFolder | None
    images: ImageStore | None
    evidence: EvidenceStore

    def attempt(self, picture: Picture) -> Attempt | None:
        """Return the record of how an image was generated; None for one of a plain folder."""
        return self.images.get(picture.key) if self.images is not None else None


@dataclass(frozen=True, eq=False)
class Gallery:
    """All images in a fixed order, with embeddings of shape (n, d) in the same order.

    `cache` holds what earlier questions computed from them.
    """

    pictures: Sequence[Picture]
    rows: Float32Array
    cache: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def sources(self) -> IntArray:
        """Index of the run or folder that contains each image, shape (n,)."""
        return np.array([picture.source for picture in self.pictures], np.int64)

    @cached_property
    def indices(self) -> IntArray:
        """Sample index of each image within its prompt, shape (n,)."""
        return np.array([picture.index for picture in self.pictures], np.int64)

    @cached_property
    def codes(self) -> dict[str, int]:
        """Each distinct prompt with its index, in the order of first occurrence."""
        return {
            prompt: number
            for number, prompt in enumerate(
                dict.fromkeys(picture.prompt for picture in self.pictures)
            )
        }

    @cached_property
    def prompts(self) -> IntArray:
        """Index in `codes` of each image's prompt, shape (n,)."""
        return np.array(
            [self.codes[picture.prompt] for picture in self.pictures], np.int64
        )

    def of_run(self, run: int, prompts: Sequence[str] = ()) -> IntArray:
        """Return the indices of a run's images, only those of `prompts` if any are given."""
        chosen: BoolArray = self.sources == run
        if prompts:
            codes = [self.codes[prompt] for prompt in prompts if prompt in self.codes]
            chosen &= np.isin(self.prompts, codes)
        return np.flatnonzero(chosen)

    def samples(self, run: int, prompts: Sequence[str] = ()) -> dict[ImageKey, int]:
        """Return the position of each image of a run in the gallery, keyed by its `ImageKey`."""
        numbers = self.of_run(run, prompts).tolist()
        return {self.pictures[number].key: number for number in numbers}


class Collection:
    """All images of the given runs and folders, with their embeddings."""

    def __init__(
        self, sources: Sequence[Source], encoder: Encoder, pictures: Sequence[Picture]
    ) -> None:
        self.sources = list(sources)
        self.encoder = encoder
        rows = np.empty((len(pictures), sources[0].evidence.width or 1), np.float32)
        for number, source in enumerate(sources):
            places = {
                key: place for place, key in enumerate(source.evidence.keys("images"))
            }
            of_source = [
                index
                for index, picture in enumerate(pictures)
                if picture.source == number
            ]
            # In the order in which they are stored: each part of them is read once.
            for index in sorted(
                of_source, key=lambda index: places[pictures[index].sha256]
            ):
                rows[index] = source.evidence.get("images", pictures[index].sha256)
        # An image that the encoder cannot embed has no place on the map.
        seen = np.flatnonzero(np.isfinite(rows).all(axis=1))
        self.gallery = Gallery([pictures[index] for index in seen.tolist()], rows[seen])
        self._texts: dict[str, Float32Array] = {}
        self._lock = threading.Lock()

    def source(self, run: int) -> Source:
        """Return the run or folder with the index `run`."""
        if run >= len(self.sources):
            raise T2IBenchError(f"There is no run {run}.")
        return self.sources[run]

    def texts(self, texts: Sequence[str], *, may_lack: bool = False) -> Float32Array:
        """Return the embeddings of texts, shape (texts, d); they are cached in memory.

        Raises:
            T2IBenchError: the encoder has no vector of a text, unless some may lack one; then it
                has a row of NaN.
        """
        store = self.sources[0].evidence
        distinct = list(dict.fromkeys(texts))
        embedded: dict[str, Float32Array] = {}
        with self._lock:
            if len(self._texts) > _MOST_TEXTS:
                self._texts.clear()
            for text in distinct:
                if text in self._texts:
                    embedded[text] = self._texts[text]
                elif store.has("texts", text_key(text)):
                    embedded[text] = self._texts[text] = store.get(
                        "texts", text_key(text)
                    )
        todo = [text for text in distinct if text not in embedded]
        # A few at a time, so that other requests get the lock in between.
        for start in range(0, len(todo), _TEXTS):
            part = todo[start : start + _TEXTS]
            with self._lock:
                new = dict(zip(part, self.encoder.encode_texts(part), strict=True))
                self._texts.update(new)
            embedded.update(new)
        rows = np.stack([embedded[text] for text in texts])
        without_vector = ~np.isfinite(rows).all(axis=1)
        if without_vector.any() and not may_lack:
            text = texts[int(np.argmax(without_vector))]
            raise T2IBenchError(
                f"The encoder '{self.encoder.name}' has no vector of the text '{shown(text)}'.",
                "Ask for another text, or explore with another --encoder.",
            )
        return rows


def open_collection(
    paths: Sequence[Path],
    encoder_name: str | None,
    reporter: Reporter,
    device: str | None = None,
) -> Collection:
    """Return the images of runs and folders with their embeddings, computing missing ones."""
    runs = [open_run(path) if is_run(path) else None for path in paths]
    name = encoder_name or _default_encoder(runs)
    if (
        encoder_name is None
        and name == DEFAULT_ENCODER
        and not is_downloaded(*DEFAULT_WEIGHTS)
    ):
        raise T2IBenchError(
            f"The images of '{paths[0]}' need an encoder, and the default one, {DEFAULT_ENCODER}, "
            "is not on this machine.",
            f"`--encoder {DEFAULT_ENCODER}` downloads it (1.7 GB); `--encoder toy-clip` needs no "
            "download, and knows images of toyland alone.",
        )
    reporter.say(f"Loading the encoder {name}.")
    encoder = create_encoder(name, device=device, recorded=encoder_name is None)
    if not encoder.embeds_images:
        raise T2IBenchError(
            f"'{encoder.name}' cannot embed images.", "Give another --encoder."
        )
    sources: list[Source] = []
    pictures: list[Picture] = []
    names: Counter[str] = Counter()
    for number, (path, run) in enumerate(zip(paths, runs, strict=True)):
        source = _source(path, run, encoder)
        names[source.name] += 1
        if names[source.name] > 1:
            source.name += f" ({names[source.name]})"
        added = _pictures(source, number, reporter)
        stored = source.images
        removed = len(stored) - len(stored.attempts()) if stored else 0
        if removed:
            reporter.warn(
                f"{removed} images of {path} have no file any more and are not shown; the run's "
                "own command with --generate-only generates them again."
            )
        if not added:
            raise T2IBenchError(
                f"'{path}' holds no images.",
                "Give a run folder, or a folder of images.",
            )
        reporter.say(f"{path}: {len(added):,} images.")
        _embed(added, source, encoder, reporter)
        sources.append(source)
        pictures += added
    # Questions come in threads, and what loads with a first text has to be there before them.
    with naming(encoder.name):
        encoder.encode_texts(["picture"])
    return Collection(sources, encoder, pictures)


def _default_encoder(runs: Sequence[RunFolder | None]) -> str:
    for run in runs:
        if run is None:
            continue
        # As the user named it, which is what makes an encoder; names may differ from that.
        named = run.record.settings.encoder
        recorded = run.record.encoders
        specs = named if len(named) == len(recorded) else tuple(recorded)
        for spec, encoder in zip(specs, recorded.values(), strict=True):
            if encoder.embeds_images:
                return spec
    # Tasks that only ask have no encoder; the model may name one that needs no download.
    models = [
        run.record.generator.model for run in runs if run and run.record.generator
    ]
    return default_encoder(models[0] if models else None)


def _source(path: Path, run: RunFolder | None, encoder: Encoder) -> Source:
    if run is None:
        if not path.is_dir():
            raise T2IBenchError(f"No such folder: '{path}'.")
        database = Database(path / ".t2ibench")
        name = path.resolve().name
        images = None
    else:
        generator = run.record.generator
        if generator is None:
            raise T2IBenchError(f"'{path}' is a run on texts alone; it has no images.")
        name = run.record.settings.name or generator.name
        database = run.database
        images = ImageStore(database, generator.fingerprint)
    store = EvidenceStore(database, encoder.name, encoder.fingerprint)
    return Source(name, path, run, images, store)


def _pictures(source: Source, number: int, reporter: Reporter) -> list[Picture]:
    """Return the distinct images of a run or folder, ordered by prompt if it is a folder."""
    if source.images is not None:
        distinct = DistinctImages(source.images)
        return [
            Picture(
                source.images.path(attempt),
                attempt.sha256 or "",
                attempt.key,
                number,
            )
            for attempt in source.images.attempts()
            if (image := distinct.get(attempt.key)) and image.status == "ok"
        ]
    files_by_prompt: dict[str, dict[str, Path]] = defaultdict(dict)
    files = _with_prompts(source.folder)
    with reporter.stage("Reading images", len(files), "files") as ticker:
        for path, prompt in files:  # a file that repeats another counts once
            files_by_prompt[prompt].setdefault(
                hashlib.sha256(path.read_bytes()).hexdigest(), path
            )
            ticker.advance(1)
    return [
        Picture(path, digest, ImageKey.of(prompt, index), number)
        for prompt, files_by_digest in sorted(files_by_prompt.items())
        for index, (digest, path) in enumerate(files_by_digest.items())
    ]


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


def _embed(
    pictures: list[Picture], source: Source, encoder: Encoder, reporter: Reporter
) -> None:
    """Compute the missing embeddings of images, and remove unreadable images from `pictures`."""
    mend(source.evidence.database, reporter)
    store = source.evidence
    todo = missing_embeddings(pictures, [store])
    if not todo:
        return
    with reporter.stage("Embedding images", len(todo), "images") as ticker:
        broken = set[str]()
        worked = [store.name] if store.has_any("images") else []
        parts = embedded_images(
            todo, {store.name: encoder}, {store.name: store.width}, worked=worked
        )
        for part in parts:
            for keys, rows in part.rows.values():
                store.add("images", keys, rows)
            ticker.advance(part.tried)
            part.check()
            for reasons in part.unread.values():
                reporter.warn(
                    f"{reasons.total()} images are excluded, which {store.name} cannot embed: "
                    f"{next(iter(reasons))}"
                )
            for damage in part.damaged:
                reporter.warn(f"{damage}; it is excluded.")
                broken.add(damage.image.sha256)
    pictures[:] = [picture for picture in pictures if picture.sha256 not in broken]
