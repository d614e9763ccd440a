"""Worlds whose generator ignores seeds, read as a run is: from its database."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.identity import ImageKey
from t2ibench.pipeline.stored_evidence import StoredEvidence
from t2ibench.store.answers import AnswerStore, StoredAnswer
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.images import Attempt, ImageStore
from tools.calibration.cells import Cell, Sample, ToylandWorld, World
from tools.calibration.worlds import WorldEvidence


@dataclass(frozen=True)
class RepeatingWorld:
    """Another world, of which a prompt has few distinct images, each several times.

    Attributes:
        world: The other world.
        distinct: Images that a prompt has; the others repeat them in turn.
    """

    world: World
    distinct: int

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        sample = self.world.draw(rng)
        assert isinstance(sample.evidence, WorldEvidence)
        return replace(sample, evidence=_stored(sample.evidence, self.distinct))


def repeating(cell: Cell, distinct: int = 5) -> Cell:
    """The same cell, of which each prompt has so many distinct images."""
    assert not isinstance(cell.world, ToylandWorld)
    name = f"seeds ignored, {distinct} distinct images a prompt: {cell.name}"
    return replace(cell, name=name, world=RepeatingWorld(cell.world, distinct))


def _stored(evidence: WorldEvidence, distinct: int) -> StoredEvidence:
    """The evidence of a run in which image k shows what image k mod distinct does."""
    sizes = {prompt: len(rows) for prompt, rows in evidence.embeddings.items()}
    sizes |= {
        prompt: len(replies) for (prompt, _, _), replies in evidence.replies.items()
    }
    with TemporaryDirectory() as folder, closing(Database(Path(folder))) as database:
        with database.writing():
            images = ImageStore(database, "repeats")
            images.record(
                Attempt(
                    ImageKey.of(prompt, k), k, "ok", sha256=_file(prompt, k % distinct)
                )
                for prompt, size in sizes.items()
                for k in range(size)
            )
            judge = AnswerStore(database, "judge", "repeats")
            judge.add(
                StoredAnswer(_file(prompt, k), question, classes, answer)
                for (prompt, question, classes), replies in evidence.replies.items()
                for k, answer in enumerate(replies[:distinct])
            )
            encoder = EvidenceStore(database, "encoder", "repeats")
            rows = {
                _file(prompt, k): row
                for prompt, own in evidence.embeddings.items()
                for k, row in enumerate(own[:distinct])
            }
            _add(
                encoder,
                rows,
                {text_key(text): row for text, row in evidence.vectors.items()},
            )
        return StoredEvidence(DistinctImages(images), encoder if rows else None, judge)


def _file(prompt: str, k: int) -> str:
    return text_key(f"{prompt}\0{k}")


def _add(
    store: EvidenceStore,
    images: Mapping[str, Float64Array],
    texts: Mapping[str, Float64Array],
) -> None:
    if images:
        store.add(
            "images", list(images), np.stack(list(images.values())).astype(np.float32)
        )
    if texts:
        store.add(
            "texts", list(texts), np.stack(list(texts.values())).astype(np.float32)
        )
