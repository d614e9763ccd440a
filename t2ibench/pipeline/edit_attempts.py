"""What became of the edits of one task: made, refused, failed, or without a source image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.methods.core.edit_evidence import EditNeed
from t2ibench.methods.core.evidence import SOURCE, Needs
from t2ibench.pipeline.exclusion_reasons import most_frequent, reason_line
from t2ibench.pipeline.source_images import status_without_source
from t2ibench.store.distinct import REPEATED, DistinctImages
from t2ibench.store.images import Attempt


@dataclass(frozen=True, slots=True)
class _Edit:
    """One edit with the record of its source image, and those of its own images.

    Without a source image, or with one that repeats another, there are none of its own.
    """

    need: EditNeed
    source: Attempt | None
    images: Sequence[Attempt | None] = ()

    @property
    def outcomes(self) -> list[str]:
        """What became of each image: its status, or why there is no source image to edit."""
        if self.status_of_source != "ok":
            status = status_without_source(self.status_of_source)
            return [status] * self.need.images
        return ["missing" if each is None else each.status for each in self.images]

    @property
    def status_of_source(self) -> str:
        """The status of the source image."""
        return "missing" if self.source is None else self.source.status


@dataclass(frozen=True, slots=True)
class EditAttempts:
    """The records of the images of a task's edits."""

    edits: Sequence[_Edit]

    @classmethod
    def of(
        cls, needs: Needs, images: DistinctImages, sources: DistinctImages | None
    ) -> EditAttempts:
        """Return the records of a task's edits, from the images of the run and of its sources."""
        edits = []
        for need in needs.edits:
            source = need.source
            attempt = None
            if sources is not None:
                attempt = sources.nth(source.prompt, source.index)
            if attempt is None or attempt.status != "ok":
                edits.append(_Edit(need, attempt))
                continue
            made = images.first(need.instruction, need.images, attempt.sha256)
            edits.append(_Edit(need, attempt, made))
        return cls(edits)

    @property
    def attempts(self) -> list[Attempt | None]:
        """The records of all images of all edits."""
        return [attempt for edit in self.edits for attempt in edit.images]

    def by_group(self) -> dict[str, dict[str, int]]:
        """Return what became of the images of each group of source images, as numbers of images.

        Edits of one source image depend on one another, so these are counts for a task's method to
        make shares of, with intervals that take it into account.
        """
        groups: dict[str, Counter[str]] = {}
        for edit in self.edits:
            counts = groups.setdefault(edit.need.group, Counter())
            counts.update(edit.outcomes)
        return {group: dict(sorted(counts.items())) for group, counts in groups.items()}

    def without_source(self) -> dict[str, dict[str, int]]:
        """Return why images have no source image, with their numbers, by status."""
        reasons: dict[str, Counter[str]] = {}
        for edit in self.edits:
            source, status = edit.source, edit.status_of_source
            if status in {"ok", REPEATED}:
                continue
            reason = "it was not made yet" if source is None else reason_line(source)
            if status_without_source(status) == SOURCE:
                line = f"{status}: {reason}"
            else:
                line = f"source image: {reason}"
            counts = reasons.setdefault(status_without_source(status), Counter())
            counts[line] += edit.need.images
        return {status: most_frequent(counts) for status, counts in reasons.items()}
