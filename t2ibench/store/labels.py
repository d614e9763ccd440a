"""Storage of human labels about images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from t2ibench.errors import T2IBenchError, shown, visible
from t2ibench.store.answers import add_questions, question_id, read_questions
from t2ibench.store.database import Database
from t2ibench.store.people import counted_answer
from t2ibench.store.schema import of_text, to_text

_ID_LETTER = "q"
_LONGEST = 80  # characters of a name


@dataclass(frozen=True, slots=True, order=True)
class Label:
    """A person's answer about one image."""

    question: str
    classes: tuple[str, ...]
    image: str
    labeller: str  # a name of their choice, or a number
    answer: str  # a class, 'unknown' or 'not in the picture'


def labeller_name(name: str, flag: str) -> str:
    """Return the name of a labeller after checking that it is one short, visible line."""
    name = name.strip()
    if not name or visible(name) != name or len(name) > _LONGEST:
        raise T2IBenchError(
            f"{flag} '{shown(name)}' is no name of 1 to {_LONGEST} characters.",
            "Give one, such as anna.",
        )
    return name


def item_id(image: str, question: str, classes: Sequence[str]) -> str:
    """Return the identifier of an image together with a question and its classes.

    It begins with a letter that begins no number, date or formula ('1e5', '3-4', '00012'), because
    spreadsheets change what looks like one.
    """
    return f"{_ID_LETTER}{_digest(image, question, classes)}"


def former_item_id(image: str, question: str, classes: Sequence[str]) -> str:
    """Return the identifier of an image and question in the form of earlier versions."""
    return _digest(image, question, classes)


def _digest(image: str, question: str, classes: Sequence[str]) -> str:
    text = "\n".join([image, question, *classes])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class LabelStore:
    """People's labels about the images of a run."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._refresh()

    def _refresh(self) -> None:
        rows = self.database.read_checked("labels")
        # afterwards: a label comes with its question
        asked = read_questions(self.database)
        self._labels = sorted(
            Label(*asked[number], image, of_text(labeller), of_text(answer))
            for number, image, labeller, answer in rows
            if number in asked
        )
        self.database.damaged["labels"] |= {
            row[:3] for row in rows if row[0] not in asked
        }
        self._by_image: dict[tuple[str, tuple[str, ...], str], dict[str, str]] = {}
        for label in self._labels:
            where = (label.question, label.classes, label.image)
            self._by_image.setdefault(where, {})[label.labeller] = label.answer

    def __len__(self) -> int:
        return len(self._labels)

    def add(self, labels: Iterable[Label]) -> None:
        """Store labels; a later answer of the same person replaces the earlier one.

        Labels that another process has added since are kept, too; what is damaged is removed.
        """
        new = list(labels)
        rows = [
            (
                question_id(label.question, label.classes),
                label.image,
                to_text(label.labeller),
                to_text(label.answer),
            )
            for label in new
        ]
        with self.database.writing():
            self.database.remove("labels", self.database.damaged.pop("labels", ()))
            add_questions(
                self.database, [(label.question, label.classes) for label in new]
            )
            self.database.write("labels", rows)
        self._refresh()

    def all(self) -> list[Label]:
        """Return every label that people gave, sorted."""
        return list(self._labels)

    def votes(
        self, image: str, question: str, classes: Sequence[str]
    ) -> dict[str, str]:
        """Return each person's answer to a question about one image, keyed by person.

        See `store.people.Votes`.
        """
        return dict(self._by_image.get((question, tuple(classes), image), {}))

    def majority(self, image: str, question: str, classes: Sequence[str]) -> str | None:
        """Return the majority answer to a question about an image; None if nobody answered."""
        votes = self.votes(image, question, classes)
        return counted_answer(votes.values()) if votes else None
