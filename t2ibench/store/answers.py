"""Storage of a judge's answers, keyed by image, question and classes."""

from __future__ import annotations

import copy
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from t2ibench.identity import content_id
from t2ibench.store.database import Database
from t2ibench.store.schema import of_text, to_text

# A judge whose name begins so says who answered. What was answered is in its fingerprint.
ANSWERS_BY, LABELS_BY = "answers by ", "labels by "
ANSWERS_IN = "answers:"  # a file that does not say who answered


def by_people(judges: Iterable[str], encoders: Iterable[str] = ()) -> bool:
    """Return whether only people read the images: all judges are people and no encoder was used.

    Examples:
        >>> by_people(["answers by anna"]), by_people(["answers by anna", "clip"]), by_people([])
        (True, False, False)
        >>> by_people(["answers by anna"], ["toy-clip"])
        False
    """
    names = list(judges)
    people = all(name.startswith((ANSWERS_BY, LABELS_BY)) for name in names)
    return bool(names) and people and not any(encoders)


def is_file_of_answers(judge: str) -> bool:
    """Return whether a judge is a file of answers, which may not cover every question.

    Examples:
        >>> is_file_of_answers("answers by anna"), is_file_of_answers("answers:a.csv")
        (True, True)
        >>> is_file_of_answers("labels by anna")
        False
    """
    return judge.startswith((ANSWERS_BY, ANSWERS_IN))


def who_judged(judges: Mapping[str, str]) -> dict[str, str]:
    """Return judges with their fingerprints, for comparing runs; those of people are empty.

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
    """A judge's answer about one image."""

    image: str  # SHA-256 of the file
    question: str
    classes: tuple[str, ...]  # what it could be answered with; empty for free text
    answer: str  # the class, 'unknown', or the text
    raw: str = ""  # the reply, word for word, or scores


def question_id(question: str, classes: Sequence[str]) -> int:
    """Return the identifier of a question with its possible answers."""
    return _question_id(question, tuple(classes))


@lru_cache(maxsize=2**16)
def _question_id(question: str, classes: tuple[str, ...]) -> int:
    return content_id(question, json.dumps(classes))


def add_questions(
    database: Database, asked: Iterable[tuple[str, tuple[str, ...]]]
) -> None:
    """Store questions with their classes, so that answers to them can be read."""
    rows = [
        (question_id(question, classes), to_text(question), json.dumps(classes))
        for question, classes in dict.fromkeys(asked)
    ]
    database.write("questions", rows)


def read_questions(database: Database) -> dict[int, tuple[str, tuple[str, ...]]]:
    """Return the stored questions, each with its classes, keyed by identifier."""
    questions = {}
    for number, question, text in database.read_checked("questions"):
        try:
            asked = of_text(question), tuple(json.loads(text))
            if question_id(*asked) == number:
                questions[number] = asked
        except (ValueError, TypeError, RecursionError):  # another program wrote it
            continue
    # what is answered is looked up without them
    database.damaged.pop("questions", None)
    return questions


class AnswerStore:
    """The answers of one judge; an answer is stored once and never changed."""

    def __init__(self, database: Database, name: str, fingerprint: str) -> None:
        self.database, self.name, self.fingerprint = database, name, fingerprint
        self.by_labels = name.startswith(LABELS_BY)
        self._model = ("judge", name, fingerprint)
        self._judge = content_id(*self._model)
        rows = database.read_checked("answers", "WHERE judge = ?", self._judge)
        self._rows: dict[tuple[int, str], tuple[str, str]] = {
            (question, image): (of_text(answer), of_text(raw))
            for _, question, image, answer, raw in rows
        }
        self._questions = {question for question, _ in self._rows}

    def answers_about(self, question: str, classes: Sequence[str]) -> bool:
        """Return whether any image has an answer to a question."""
        return question_id(question, classes) in self._questions

    def only(self, images: Collection[str]) -> AnswerStore:
        """Return a store for reading that has answers about some images, for another process."""
        part = copy.copy(self)
        part._rows = {
            place: answer for place, answer in self._rows.items() if place[1] in images
        }
        return part

    def __iter__(self) -> Iterator[StoredAnswer]:
        """Yield the judge's answers, except those to unknown questions."""
        asked = read_questions(self.database)
        for (number, image), (answer, raw) in self._rows.items():
            if number in asked:
                yield StoredAnswer(image, *asked[number], answer, raw)

    def get(
        self, image: str, question: str, classes: Sequence[str]
    ) -> StoredAnswer | None:
        """Return the judge's answer to a question about an image; None if there is none."""
        stored = self._rows.get((question_id(question, classes), image))
        return (
            None
            if stored is None
            else StoredAnswer(image, question, tuple(classes), *stored)
        )

    def add(self, answers: Iterable[StoredAnswer]) -> None:
        """Store answers, except those that are already stored."""
        new: dict[tuple[int, str], StoredAnswer] = {}
        for answer in answers:
            place = question_id(answer.question, answer.classes), answer.image
            if place not in self._rows:
                new.setdefault(place, answer)
        if not new:
            return
        rows = [
            (self._judge, *place, to_text(answer.answer), to_text(answer.raw))
            for place, answer in new.items()
        ]
        with self.database.writing():
            self.database.add_model(*self._model)
            add_questions(
                self.database,
                [(answer.question, answer.classes) for answer in new.values()],
            )
            self.database.write("answers", rows)
        self._rows |= {
            place: (answer.answer, answer.raw) for place, answer in new.items()
        }
        self._questions |= {question for question, _ in new}
