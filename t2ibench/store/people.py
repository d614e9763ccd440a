"""Combination of several people into one judge by majority.

The rule is the same for imported labels and for files of answers: the answer that more people gave
than any other counts, 'unknown' like every other answer, and a tie is 'unknown'.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from t2ibench.store.answers import (
    ANSWERS_BY,
    ANSWERS_IN,
    AnswerStore,
    StoredAnswer,
    is_file_of_answers,
)

_UNKNOWN = "unknown"  # see `methods.core.evidence.UNKNOWN`


class Votes(Protocol):
    """The individual answers of several people."""

    def votes(
        self, image: str, question: str, classes: Sequence[str]
    ) -> Mapping[str, str]:
        """Return each person's answer to a question about one image, keyed by person."""
        ...


def counted_answer(votes: Iterable[str]) -> str:
    """Return the answer that more people gave than any other; 'unknown' if there is a tie.

    Examples:
        >>> counted_answer(["male", "male", "female"]), counted_answer(["male", "female"])
        ('male', 'unknown')
    """
    from t2ibench.stats.raters import most_voted  # scipy is slow to load

    return most_voted(list(votes)) or _UNKNOWN


class PeopleStore:
    """Files of answers of several people, combined into one judge (see `AnswerStore`)."""

    by_labels = False
    fingerprint = ""  # the people's own ones are recorded

    def __init__(self, name: str, people: Mapping[str, AnswerStore]) -> None:
        self.name = name
        self._people = {person_of(judge): store for judge, store in people.items()}

    def votes(
        self, image: str, question: str, classes: Sequence[str]
    ) -> dict[str, str]:
        """Return each person's answer to a question about one image, keyed by person."""
        answers = {
            name: store.get(image, question, classes)
            for name, store in self._people.items()
        }
        return {
            name: answer.answer
            for name, answer in answers.items()
            if answer is not None
        }

    def answers_about(self, question: str, classes: Sequence[str]) -> bool:
        """Return whether anybody answered a question about any image."""
        return any(
            store.answers_about(question, classes) for store in self._people.values()
        )

    def get(
        self, image: str, question: str, classes: Sequence[str]
    ) -> StoredAnswer | None:
        """Return the majority answer to a question about an image; None if nobody answered."""
        votes = self.votes(image, question, classes)
        if not votes:
            return None
        return StoredAnswer(
            image, question, tuple(classes), counted_answer(votes.values())
        )


def person_of(judge: str) -> str:
    """Return the name of the person whose answers a judge looks up in a file."""
    return judge.removeprefix(ANSWERS_BY).removeprefix(ANSWERS_IN)


def people_among(judges: Mapping[str, AnswerStore]) -> dict[str, AnswerStore]:
    """Return the judges that are files of answers if there are at least two; else none."""
    people = {name: store for name, store in judges.items() if is_file_of_answers(name)}
    return people if len(people) > 1 else {}
