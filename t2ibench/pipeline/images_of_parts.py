"""Which images the parts of a run have and lack, before they are merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from t2ibench.identity import ImageKey
from t2ibench.methods.core.edit_evidence import EditNeed, SourceImage
from t2ibench.pipeline.plan import (
    Plan,
    part_number,
    plan_of_sources,
    requests_by_part,
)
from t2ibench.pipeline.planned_edits import keys_of_edit
from t2ibench.pipeline.source_images import SourceImages, stored_source_images
from t2ibench.results.run import RunFolder
from t2ibench.store.distinct import REPEATED
from t2ibench.store.images import RANK, Attempt, ImageStore


@dataclass(slots=True)
class ImageCounts:
    """How many images a run, or a part of one, needs and lacks; source images are apart."""

    images: int = 0
    missing_images: int = 0
    sources: int = 0
    missing_sources: int = 0

    @property
    def missing(self) -> int:
        """How many images and source images are missing."""
        return self.missing_images + self.missing_sources

    def in_words(self) -> str:
        """Return what is missing, such as '2 of its 9 images are missing'; "" for nothing."""
        clauses = []
        for missing, total, what in (
            (self.missing_sources, self.sources, "source images"),
            (self.missing_images, self.images, "images"),
        ):
            if missing:
                verb = "is" if missing == 1 else "are"
                clauses.append(f"{missing} of its {total} {what} {verb} missing")
        return " and ".join(clauses)


@dataclass(slots=True)
class RequiredImages:
    """The images that a run, or a part of one, needs.

    Attributes:
        images: Those that are made from prompts alone.
        sources: Source images.
        edits: Instruction and source image, with the number of images.
    """

    images: list[ImageKey] = field(default_factory=list)
    sources: list[ImageKey] = field(default_factory=list)
    edits: Counter[tuple[str, SourceImage]] = field(default_factory=Counter)

    def add_edit(self, edit: EditNeed) -> None:
        """Require the images of an edit; of several tasks' the largest number holds."""
        key = (edit.instruction, edit.source)
        self.edits[key] = max(edit.images, self.edits[key])


def required_images(plan: Plan, count: int = 1) -> dict[int, RequiredImages]:
    """Return the images that each of `count` parts of a run needs, by its number from 1."""
    editing = [task for task in plan.tasks if plan.needs[task.id].edits]
    of_sources = plan_of_sources(editing, plan.settings, plan.needs)
    parts: dict[int, RequiredImages] = {}
    for number, requests in requests_by_part(plan, count).items():
        part = parts.setdefault(number, RequiredImages())
        part.images = [request.key for request in requests]
    for number, requests in requests_by_part(of_sources, count).items():
        part = parts.setdefault(number, RequiredImages())
        part.sources = [request.key for request in requests]
    for task in editing:
        for edit in plan.needs[task.id].edits:
            parts[part_number(edit.source.prompt, count)].add_edit(edit)
    return dict(sorted(parts.items()))


@dataclass(frozen=True, slots=True)
class _Run:
    """The images of one run; None for what it has none of."""

    images: ImageStore | None
    sources: SourceImages | None


class ImagesOfRuns:
    """The images that runs have together, as if they were merged already."""

    def __init__(self, folders: Sequence[RunFolder]) -> None:
        """Open the images of runs.

        Args:
            folders: In the order in which they are merged: of two images of the same prompt and
                index, the first stays.
        """
        self._runs = {
            folder.path: _Run(_images_of(folder), stored_source_images(folder.path))
            for folder in folders
        }

    def counts(
        self, required: RequiredImages, most_likely_in: Path | None = None
    ) -> ImageCounts:
        """Return how many of the images that are required no run has.

        Args:
            required: What is counted.
            most_likely_in: The run that is searched first, which saves time.
        """
        first = self._runs.get(most_likely_in) if most_likely_in is not None else None
        runs = [*([first] if first else []), *self._runs.values()]
        stores = [run.images for run in runs if run.images is not None]
        of_sources = [run.sources.images for run in runs if run.sources is not None]
        counts = ImageCounts(
            images=len(required.images) + required.edits.total(),
            missing_images=sum(
                not _has_outcome(stores, key) for key in required.images
            ),
            sources=len(required.sources),
            missing_sources=sum(
                not _has_outcome(of_sources, key) for key in required.sources
            ),
        )
        for (instruction, source), n_images in required.edits.items():
            attempt = self._source(source)
            if attempt is None or attempt.status == "failed":
                counts.missing_images += n_images
            elif attempt.status == "ok":
                # Of a source image that was refused, or that repeats another, there are no edits.
                edits = keys_of_edit(instruction, n_images, attempt.sha256)
                counts.missing_images += sum(
                    not _has_outcome(stores, key) for key in edits
                )
        return counts

    def _source(self, source: SourceImage) -> Attempt | None:
        """Return the record of a source image that stays when the runs are merged."""
        attempts = (
            run.sources.attempt(source)
            for run in self._runs.values()
            if run.sources is not None
        )
        there = [attempt for attempt in attempts if attempt is not None]
        return max(there, key=_rank, default=None)


def _images_of(folder: RunFolder) -> ImageStore | None:
    generator = folder.record.generator
    if generator is None:
        return None
    return ImageStore(folder.database, generator.fingerprint)


def _rank(attempt: Attempt) -> int:
    """Return how good an outcome is; an image that repeats another is there, too."""
    return RANK["ok"] if attempt.status == REPEATED else RANK[attempt.status]


def _has_outcome(stores: Iterable[ImageStore], key: ImageKey) -> bool:
    """Return whether an image has an outcome in any store that is no failure."""
    attempts = (store.get(key) for store in stores)
    return any(
        attempt is not None and attempt.status != "failed" for attempt in attempts
    )
