"""The file of answers that somebody found to be wrong, and of the right ones.

It lies beside the run's labels, not among them: images that were looked at because their answer
seems wrong are no random sample, and the shares that labels correct assume one. `label import`
reads it.
"""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Sequence
from pathlib import Path

from t2ibench.reports.csv import cell
from t2ibench.store.files import write_text
from t2ibench.store.labels import Label, item_id

NAME = "wrong.csv"
COLUMNS = ("id", "file", "sha256", "question", "classes", "answer", "labeller")
_BETWEEN = " | "
_WRITING = threading.Lock()


class WrongAnswers:
    """The corrected answers about images of one run, in `labels/wrong.csv` of its folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "labels" / NAME

    def all(self) -> list[Label]:
        """Return the corrected answers in the order in which they were given."""
        if not self.path.is_file():
            return []
        with self.path.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if set(COLUMNS) <= row.keys()]
        return [
            Label(
                question=_plain(row["question"]),
                classes=tuple(_plain(row["classes"]).split(_BETWEEN)),
                image=row["sha256"],
                labeller=_plain(row["labeller"]),
                answer=_plain(row["answer"]),
            )
            for row in rows
        ]

    def of_image(self, image: str) -> dict[tuple[str, tuple[str, ...]], str]:
        """Return the corrected answer to each question about an image."""
        return {
            (label.question, label.classes): label.answer
            for label in self.all()
            if label.image == image
        }

    def add(self, label: Label) -> int:
        """Write a corrected answer, which replaces this person's earlier one; return how many."""
        with _WRITING:
            labels = [other for other in self.all() if _about(other) != _about(label)]
            labels.append(label)
            self._write(labels)
        return len(labels)

    def remove(self, label: Label) -> int:
        """Remove this person's answer to a question about an image; return how many are left."""
        with _WRITING:
            labels = [other for other in self.all() if _about(other) != _about(label)]
            self._write(labels)
        return len(labels)

    def _write(self, labels: Sequence[Label]) -> None:
        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerow(COLUMNS)
        for label in labels:
            identifier = item_id(label.image, label.question, label.classes)
            texts = (
                label.question,
                _BETWEEN.join(label.classes),
                label.answer,
                label.labeller,
            )
            file = f"{label.image[:16]}.jpg"
            writer.writerow([identifier, file, label.image, *map(cell, texts)])
        write_text(self.path, buffer.getvalue())


def _about(label: Label) -> tuple[str, tuple[str, ...], str, str]:
    """Return whose answer it is, to which question about which image."""
    return label.question, label.classes, label.image, label.labeller


def _plain(text: str) -> str:
    """Return a cell's text without the apostrophe that keeps it from being a formula."""
    bare = text.removeprefix("'")
    return bare if cell(bare) == text else text
