"""The contract of a judge."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.contract.common import (
    BATCHES,
    Findings,
    Trial,
    make_two,
)
from t2ibench.models.contract.images import sample_images
from t2ibench.models.protocols import Answer, Judge, Query

_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "fingerprint": (str,),
    "batch_size": (int,),
}
_QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("What is the gender of the person in the image?", ("male", "female")),
    ("What is the weather in the image?", ("sunny", "rainy", "snowy")),
    ("What does the image show?", ()),
)


def check_judge(
    make: Callable[[], Judge],
    *,
    make_other: Callable[[], Judge] | None = None,
    free_text: bool = True,
) -> list[str]:
    """Try a judge against its contract. Answers are compared exactly.

    Args:
        make: Makes it; called twice.
        make_other: Makes one with other arguments that decide answers; None where there are none.
        free_text: Whether it says that it answers questions without classes.

    Returns:
        A line for everything that is wrong.
    """
    findings = Findings()
    judge, _ = make_two(findings, make, make_other, Judge, _TYPES)
    if judge is None:
        return findings.lines
    trial = Trial(findings, "answer", judge.answer, Answer, "queries", "answers")
    queries = _queries()
    singly: list[Answer] = []
    for query in queries:
        answers = _answer(trial, [query], "alone")
        if answers is None:
            return findings.lines
        singly += answers
    trial.check_batches(
        lambda part, how: _texts(_answer(trial, part, how)),
        queries,
        [answer.answer for answer in singly],
        "an answer must depend on its own query only",
    )
    words = [answer for answer, query in zip(singly, queries, strict=True) if not query.classes]
    findings.require(
        free_text or all(answer.answer is None for answer in words),
        "it answers in free text although its adapter says free_text=False",
    )
    return findings.lines


def _queries() -> list[Query]:
    queries = []
    for number, image in enumerate(sample_images(BATCHES[-1])):
        question, classes = _QUESTIONS[number % len(_QUESTIONS)]
        digest = hashlib.sha256(image.tobytes()).hexdigest()
        queries.append(Query(image, "a photo of a person", number, digest, question, classes))
    return queries


def _answer(trial: Trial[Query, Answer], queries: list[Query], how: str) -> list[Answer] | None:
    """Answers of one call, where they are as promised."""
    findings, answers = trial.findings, trial.of(queries, how)
    if answers is None:
        return None
    for query, answer in zip(queries, answers, strict=True):
        if answer.answer is None:
            findings.require(bool(answer.reason), "there is neither an answer nor a reason")
        elif query.classes:
            findings.require(
                answer.answer in (*query.classes, UNKNOWN),
                f"the answer {answer.answer!r} is none of the classes "
                f"{', '.join(query.classes)} and not '{UNKNOWN}'",
            )
        else:
            findings.require(
                isinstance(answer.answer, str) and bool(answer.answer),
                f"the answer {answer.answer!r} is not a text",
            )
    return answers


def _texts(answers: list[Answer] | None) -> list[str | None] | None:
    return None if answers is None else [answer.answer for answer in answers]
