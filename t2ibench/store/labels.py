"""People's answers on disk: evidence/labels.jsonl, one row a label after one with their number."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from t2ibench.store.checksums import Damage
from t2ibench.store.files import set_aside
from t2ibench.store.jsonl import read_checked_rows, write_rows
from t2ibench.store.locks import locked

FILE = "labels.jsonl"
_COUNT = "labels"  # the key of the first row


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """What one person answered about one image.

    Attributes:
        question: What was asked.
        classes: What it could be answered with.
        image: SHA-256 of the image file.
        labeller: Who answered; a name of their choice, or a number.
        answer: A class, 'unknown' or 'not in the picture'.
    """

    question: str
    classes: tuple[str, ...]
    image: str
    labeller: str
    answer: str


def item_id(image: str, question: str, classes: Sequence[str]) -> str:
    """The identifier of an image with a question."""
    text = "\n".join([image, question, *classes])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class LabelStore:
    """The labels of a run.

    Args:
        root: The run folder's evidence/.

    Attributes:
        damage: How many are damaged or cut off. People answered them: no run makes them again.
    """

    def __init__(self, root: Path) -> None:
        self.file = root / FILE
        self.damage = Damage(
            "label",
            "labels",
            "Import the filled sheets again with `t2ibench label import`.",
            made_again=False,
        )
        self._labels: dict[tuple[str, tuple[str, ...], str, str], Label] = {}
        self._by_image: dict[tuple[str, tuple[str, ...], str], list[str]] = {}
        if self.file.is_file():
            self._read()

    def _read(self) -> None:
        read = read_checked_rows(self.file)
        self._keep(label for row in read.rows if (label := _label(row)) is not None)
        counts = [row[_COUNT] for row in read.rows if isinstance(row.get(_COUNT), int)]
        if counts:
            self.damage.pieces = max(counts[0] - len(self), 0)
        else:  # an older file, or one without its first row
            self.damage.pieces = len(read.damaged)
            self.damage.files = int(not len(self))

    def _keep(self, labels: Iterable[Label]) -> None:
        for label in labels:
            key = (label.question, label.classes, label.image, label.labeller)
            self._labels[key] = label
        self._by_image.clear()
        for label in self._labels.values():
            where = (label.question, label.classes, label.image)
            self._by_image.setdefault(where, []).append(label.answer)

    def __len__(self) -> int:
        return len(self._labels)

    def add(self, labels: Iterable[Label]) -> None:
        """Keep labels; a later answer of the same person replaces the earlier one.

        Labels that another process has added since are kept, too. A file with damaged labels is
        set aside first.
        """
        with locked(self.file.parent, "labels"):
            new = list(labels)
            if self.file.is_file():
                self._read()
            self._keep(new)
            if self.damage:
                set_aside(self.file)
                self.damage.pieces = self.damage.files = 0
            rows = [{_COUNT: len(self)}, *map(asdict, self.all())]
            write_rows(self.file, rows, checked=True)

    def all(self) -> list[Label]:
        """Every label, sorted."""
        return sorted(self._labels.values())

    def majority(self, image: str, question: str, classes: Sequence[str]) -> str | None:
        """What most people answered about an image."""
        answers = self._by_image.get((question, tuple(classes), image))
        if not answers:
            return None
        ranked = Counter(answers).most_common(2)
        tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
        return "unknown" if tied else ranked[0][0]


def _label(row: dict[str, Any]) -> Label | None:
    """A row as a label; None for a row that is none."""
    texts = [row.get(name) for name in ("question", "image", "labeller", "answer")]
    classes = row.get("classes")
    if not all(isinstance(text, str) for text in texts) or not isinstance(classes, list):
        return None
    return Label(
        str(row["question"]),
        tuple(str(name) for name in classes),
        str(row["image"]),
        str(row["labeller"]),
        str(row["answer"]),
    )
