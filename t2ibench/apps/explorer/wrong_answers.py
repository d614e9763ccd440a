"""The file of answers that somebody found to be wrong, and of the right ones.

It lies beside the run's labels, not among them: images that were looked at because their answer
seems wrong are no random sample, and the shares that labels correct assume one. `label import`
reads it. Spreadsheets save such a file in many forms; one that is not in the form in which it is
written here is left as it is, because writing it again would lose what could not be read.
"""

from __future__ import annotations

import csv
import io
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.reports.csv import cell
from t2ibench.store.files import write_text
from t2ibench.store.labels import Label, item_id
from t2ibench.store.locks import locked

NAME = "wrong.csv"
COLUMNS = ("id", "file", "sha256", "question", "classes", "answer", "labeller")
_BETWEEN = " | "
_WRITING = threading.Lock()
Asked = tuple[str, tuple[str, ...]]  # a question and its classes


class WrongAnswers:
    """The corrected answers about images of one run, in `labels/wrong.csv` of its folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "labels" / NAME

    def all(self) -> list[Label]:
        """Return the corrected answers in the order in which they were given.

        Raises:
            T2IBenchError: another program has changed the file's form.
        """
        if not self.path.is_file():
            return []
        return [
            Label(
                question=_plain(row["question"]),
                classes=tuple(_plain(row["classes"]).split(_BETWEEN)),
                image=row["sha256"],
                labeller=_plain(row["labeller"]),
                answer=_plain(row["answer"]),
            )
            for row in self._rows()
        ]

    def of_image(self, image: str) -> dict[Asked, dict[str, str]]:
        """Return the corrected answers to each question about an image, keyed by person."""
        notes: dict[Asked, dict[str, str]] = {}
        for label in self.all():
            if label.image == image:
                asked = (label.question, label.classes)
                notes.setdefault(asked, {})[label.labeller] = label.answer
        return notes

    def _rows(self) -> list[dict[str, str]]:
        """Return the rows of the file by column; raise an error if it has another form."""
        try:
            # Some programs write a byte order mark at the beginning.
            with self.path.open(encoding="utf-8-sig", newline="") as file:
                reader = csv.DictReader(file)
                rows = list(reader)
                columns = reader.fieldnames or ()
        except (UnicodeDecodeError, csv.Error):
            raise self._changed() from None
        # A row with too few cells has None as a value, one with too many as a key.
        is_whole = all(None not in row and None not in row.values() for row in rows)
        if set(columns) != set(COLUMNS) or not is_whole:
            raise self._changed()
        return rows

    def _changed(self) -> T2IBenchError:
        return T2IBenchError(
            f"Another program has changed the form of '{self.path}': it is left as it is.",
            "Store its answers with `t2ibench label import`, then rename it.",
        )

    def add(self, label: Label) -> int:
        """Store a corrected answer over this person's earlier one; return how many there are."""
        with self._writing():
            labels = [other for other in self.all() if _about(other) != _about(label)]
            labels.append(label)
            self._write(labels)
        return len(labels)

    def remove(self, label: Label) -> int:
        """Remove this person's answer to a question about an image; return how many are left."""
        with self._writing():
            labels = [other for other in self.all() if _about(other) != _about(label)]
            self._write(labels)
        return len(labels)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Keep others from writing the file between reading and writing it.

        The lock is that of its own folder: a run that is being made holds its own for hours.
        """
        with _WRITING, locked(self.path.parent):
            yield

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
