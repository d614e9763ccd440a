"""Storage of human labels about images."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from t2ibench.errors import T2IBenchError, shown, visible
from t2ibench.store.answers import add_questions, question_id, read_questions
from t2ibench.store.database import Database
from t2ibench.store.jsonl import append_rows, read_rows
from t2ibench.store.people import counted_answer
from t2ibench.store.schema import of_text, row_checksum, to_text

COPY = "labels.jsonl"
_ID_LETTER = "q"
_LONGEST = 80  # characters of a name
# What a person answers once: question, classes, image and the person.
Place = tuple[str, tuple[str, ...], str, str]


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
    """People's labels about the images of a run.

    No command can make them again, so they are written twice: to run.db and, a line each, to
    labels.jsonl beside it, from which `restore` takes those that run.db has lost.
    """

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
        by_image: dict[tuple[str, tuple[str, ...], str], dict[str, str]] = {}
        for label in self._labels:
            where = (label.question, label.classes, label.image)
            by_image.setdefault(where, {})[label.labeller] = label.answer
        # Complete at once: other threads read it meanwhile.
        self._by_image = by_image

    def __len__(self) -> int:
        return len(self._labels)

    def check_writable(self) -> None:
        """Raise an error if labels cannot be stored, such as in a run of another user.

        Raises:
            T2IBenchError: run.db cannot be written.
        """
        self.database.execute("DELETE FROM labels WHERE FALSE")

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
        append_rows(self._copy, map(_line, new))
        self._refresh()

    @property
    def _copy(self) -> Path:
        return self.database.folder / COPY

    def restore(self) -> int:
        """Store again the labels that only the copy has; return how many.

        The copy also gets those that it lacks, because another version or a merge stored them.
        """
        copied = {place_of(label): label for label in _labels_in(self._copy)}
        stored = {place_of(label): label for label in self._labels}
        missing = [label for place, label in copied.items() if place not in stored]
        uncopied = [
            label for place, label in stored.items() if copied.get(place) != label
        ]
        append_rows(self._copy, map(_line, uncopied))
        if missing:
            self.add(missing)
        return len(missing)

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


def place_of(label: Label) -> Place:
    """Return what a person answers once: the question about an image, and the person."""
    return label.question, label.classes, label.image, label.labeller


def _line(label: Label) -> dict[str, object]:
    """Return a label as a line of the copy, with its checksum."""
    return {**asdict(label), "crc": row_checksum(_values(label))}


def _values(label: Label) -> list[str]:
    return [
        label.question,
        *label.classes,
        label.image,
        label.labeller,
        label.answer,
    ]


def _labels_in(copy: Path) -> Iterator[Label]:
    """Yield the labels of a copy in the order in which they were given, without damaged ones."""
    if not copy.is_file():
        return
    for row in read_rows(copy):
        try:
            crc = row.pop("crc")
            classes = tuple(map(str, row.pop("classes")))
            label = Label(classes=classes, **row)
            whole = crc == row_checksum(_values(label))
        except (KeyError, TypeError):
            continue
        if whole:
            yield label
