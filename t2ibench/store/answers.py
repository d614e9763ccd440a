"""A judge's answers, keyed by image, question and classes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from t2ibench.store.database import Database
from t2ibench.store.schema import content_id, of_text, to_text

# A judge whose name begins so says who answered. What was answered is in its fingerprint.
ANSWERS_BY, LABELS_BY = "answers by ", "labels by "


def by_people(judges: Iterable[str], encoders: Iterable[str] = ()) -> bool:
    """Whether people alone looked at the images: all judges are people, and there is no encoder.

    Examples:
        >>> by_people(["answers by anna"]), by_people(["answers by anna", "clip"]), by_people([])
        (True, False, False)
        >>> by_people(["answers by anna"], ["toy-clip"])
        False
    """
    names = list(judges)
    people = all(name.startswith((ANSWERS_BY, LABELS_BY)) for name in names)
    return bool(names) and people and not any(encoders)


def who_judged(judges: Mapping[str, str]) -> dict[str, str]:
    """What makes two runs judged alike: people by their names, other judges by fingerprints, too.

    Examples:
        >>> who_judged({"answers by anna": "3f2a", "toyland": "77e1"})
        {'answers by anna': '', 'toyland': '77e1'}
    """
    return {
        name: "" if name.startswith((ANSWERS_BY, LABELS_BY)) else fingerprint
        for name, fingerprint in judges.items()
    }


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """One answer."""

    image: str  # SHA-256 of the file
    question: str
    classes: tuple[str, ...]  # what it could be answered with; empty for free text
    answer: str  # the class, 'unknown', or the text
    raw: str = ""  # the reply, word for word, or scores


def question_id(question: str, classes: Sequence[str]) -> int:
    """The identifier of a question with what it can be answered with."""
    return content_id(question, json.dumps(list(classes)))


def add_questions(database: Database, asked: Iterable[tuple[str, tuple[str, ...]]]) -> None:
    """Store questions."""
    rows = [
        (question_id(question, classes), to_text(question), json.dumps(classes))
        for question, classes in dict.fromkeys(asked)
    ]
    database.write("questions", rows)


def read_questions(database: Database) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Questions by their identifiers."""
    found = {}
    for number, question, text in database.read_checked("questions"):
        try:
            asked = of_text(question), tuple(json.loads(text))
            if question_id(*asked) == number:
                found[number] = asked
        except (ValueError, TypeError, RecursionError):  # somebody else wrote it
            continue
    database.damaged.pop("questions", None)  # what is answered is looked up without them
    return found


class AnswerStore:
    """The answers one judge gave. An answer is stored once and never changed."""

    def __init__(self, database: Database, name: str, fingerprint: str) -> None:
        self.database, self.name, self.fingerprint = database, name, fingerprint
        self.by_labels = name.startswith(LABELS_BY)
        self._model = ("judge", name, fingerprint)
        self._judge = content_id(*self._model)
        self._known: set[int] = set()  # questions that are stored
        rows = database.read_checked("answers", "WHERE judge = ?", self._judge)
        self._rows: dict[tuple[int, str], tuple[str, str]] = {
            (question, image): (of_text(answer), of_text(raw))
            for _, question, image, answer, raw in rows
        }
        self._ids: dict[tuple[str, tuple[str, ...]], int] = {}

    def __iter__(self) -> Iterator[StoredAnswer]:
        """The answers to questions that are known."""
        asked = read_questions(self.database)
        for (number, image), (answer, raw) in self._rows.items():
            if number in asked:
                yield StoredAnswer(image, *asked[number], answer, raw)

    def _id(self, question: str, classes: Sequence[str]) -> int:
        asked = question, tuple(classes)
        found = self._ids.get(asked)
        if found is None:
            found = self._ids[asked] = question_id(*asked)
        return found

    def get(self, image: str, question: str, classes: Sequence[str]) -> StoredAnswer | None:
        """Look up one answer."""
        found = self._rows.get((self._id(question, classes), image))
        return None if found is None else StoredAnswer(image, question, tuple(classes), *found)

    def add(self, answers: Iterable[StoredAnswer]) -> None:
        """Store answers; those stored already are skipped."""
        new: dict[tuple[int, str], tuple[str, str]] = {}
        asked: dict[int, tuple[str, tuple[str, ...]]] = {}
        for one in answers:
            number = self._id(one.question, one.classes)
            if (number, one.image) not in self._rows:
                new.setdefault((number, one.image), (one.answer, one.raw))
                asked[number] = one.question, one.classes
        if not new:
            return
        rows = [
            (self._judge, number, image, to_text(answer), to_text(raw))
            for (number, image), (answer, raw) in new.items()
        ]
        with self.database.writing():
            self.database.add_model(*self._model)
            unknown = asked.keys() - self._known
            if unknown:
                add_questions(self.database, [asked[number] for number in unknown])
            self.database.write("answers", rows)
        self._known |= unknown
        self._rows |= new
