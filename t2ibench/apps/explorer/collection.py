"""The images of runs or folders with their embeddings, which words are compared with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from t2ibench.apps.explorer.album import Album, Picture, Source, open_album
from t2ibench.arrays import BoolArray, Float32Array, IntArray
from t2ibench.errors import T2IBenchError, shown
from t2ibench.identity import ImageKey
from t2ibench.models.encoders import DEFAULT_ENCODER, DEFAULT_WEIGHTS, create_encoder
from t2ibench.models.generators import default_encoder
from t2ibench.models.hub import is_downloaded
from t2ibench.models.protocols import Encoder
from t2ibench.pipeline.embedding import embedded_images, missing_embeddings, naming
from t2ibench.pipeline.generation import never
from t2ibench.pipeline.progress import Reporter
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.repair import mend

_TEXTS = 64  # texts that are embedded at a time
_MOST_TEXTS = 50_000  # embeddings of texts that are held in memory


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
        stores = [evidence_of(source, encoder) for source in sources]
        self._evidence = stores[0]
        rows = np.empty((len(pictures), self._evidence.width or 1), np.float32)
        for number, evidence in enumerate(stores):
            places = {key: place for place, key in enumerate(evidence.keys("images"))}
            of_source = [
                index
                for index, picture in enumerate(pictures)
                if picture.source == number
            ]
            # In the order in which they are stored: each part of them is read once.
            for index in sorted(
                of_source, key=lambda index: places[pictures[index].sha256]
            ):
                rows[index] = evidence.get("images", pictures[index].sha256)
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

    @property
    def album(self) -> Album:
        """The same runs and folders with every image, embedded or not."""
        return Album(self.sources)

    def samples(self, run: int) -> dict[ImageKey, int]:
        """Return the position of each image of a run in the gallery, keyed by its `ImageKey`."""
        return self.gallery.samples(run)

    def texts(self, texts: Sequence[str], *, may_lack: bool = False) -> Float32Array:
        """Return the embeddings of texts, shape (texts, d); they are cached in memory.

        Raises:
            T2IBenchError: the encoder has no vector of a text, unless some may lack one; then it
                has a row of NaN.
        """
        store = self._evidence
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
    album = open_album(paths, reporter)
    name = encoder_name or encoder_of(album)
    reporter.say(f"Loading the encoder {name}.")
    encoder = loaded_encoder(name, device, recorded=encoder_name is None)
    return embedded(album, encoder, reporter)


class NoEncoderError(T2IBenchError):
    """Raised if the images need an encoder that is not on this machine."""


def encoder_of(album: Album) -> str:
    """Return the encoder that runs and folders are seen with where the user names none."""
    name = _default_encoder(album)
    if name == DEFAULT_ENCODER and not is_downloaded(*DEFAULT_WEIGHTS):
        raise NoEncoderError(
            f"The images of '{album.sources[0].folder}' need an encoder, and the default one, "
            f"{DEFAULT_ENCODER}, is not on this machine.",
            f"`--encoder {DEFAULT_ENCODER}` downloads it (1.7 GB); `--encoder toy-clip` needs no "
            "download, and knows images of toyland alone.",
        )
    return name


def loaded_encoder(name: str, device: str | None, *, recorded: bool) -> Encoder:
    """Return an encoder of images; `recorded` says that its name comes from a stored run."""
    encoder = create_encoder(name, device=device, recorded=recorded)
    if not encoder.embeds_images:
        raise T2IBenchError(
            f"'{encoder.name}' cannot embed images.", "Give another --encoder."
        )
    return encoder


class StoppedError(T2IBenchError):
    """Raised if images are not embedded because somebody has ended that."""


def embedded(
    album: Album,
    encoder: Encoder,
    reporter: Reporter,
    stopping: Callable[[], bool] = never,
) -> Collection:
    """Return the images of an album with their embeddings, computing missing ones.

    Raises:
        StoppedError: `stopping` says that the work is to end; what is embedded by then is stored.
    """
    pictures: list[Picture] = []
    for source in album.sources:
        added = source.distinct_pictures()
        _embed(added, source, encoder, reporter, stopping)
        if stopping():
            raise StoppedError("The images are not all embedded.")
        pictures += added
    # Questions come in threads, and what loads with a first text has to be there before them.
    with naming(encoder.name):
        encoder.encode_texts(["picture"])
    return Collection(album.sources, encoder, pictures)


def evidence_of(source: Source, encoder: Encoder) -> EvidenceStore:
    """Return the store of an encoder's embeddings of a source's images."""
    return EvidenceStore(source.database, encoder.name, encoder.fingerprint)


def _default_encoder(album: Album) -> str:
    runs = [source.run for source in album.sources]
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


def _embed(
    pictures: list[Picture],
    source: Source,
    encoder: Encoder,
    reporter: Reporter,
    stopping: Callable[[], bool],
) -> None:
    """Compute the missing embeddings of images, and remove unreadable images from `pictures`."""
    mend(source.database, reporter)
    store = evidence_of(source, encoder)
    todo = missing_embeddings(pictures, [store])
    if not todo:
        return
    with reporter.stage("Embedding images", len(todo), "images") as ticker:
        broken = set[str]()
        worked = [store.name] if store.has_any("images") else []
        parts = embedded_images(
            todo,
            {store.name: encoder},
            {store.name: store.width},
            stopping,
            worked,
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
