"""The contract of a judge."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.contract.common import (
    BATCHES,
    Findings,
    check_fingerprints,
    check_members,
    is_reordered,
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
    judge = findings.attempt("making it", make)
    if judge is None or not check_members(findings, judge, Judge, _TYPES):
        return findings.lines
    second = findings.attempt("making it again", make)
    if second is not None:
        check_fingerprints(findings, judge, second, make_other)
    queries = _queries()
    singly: list[Answer] = []
    for query in queries:
        answers = _answer(findings, judge, [query], "alone")
        if answers is None:
            return findings.lines
        singly += answers
    _check_batches(findings, judge, queries, singly)
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


def _answer(
    findings: Findings, judge: Judge, queries: list[Query], how: str
) -> list[Answer] | None:
    """Answers of one call, where they are as promised."""
    answers = findings.attempt(
        f"answer() of {len(queries)} queries {how}", lambda: judge.answer(queries)
    )
    if answers is None:
        return None
    typed = isinstance(answers, list) and all(isinstance(answer, Answer) for answer in answers)
    if not findings.require(typed, "answer() must return a list of Answer"):
        return None
    if not findings.require(
        len(answers) == len(queries),
        f"answer() returns {len(answers)} answers for {len(queries)} queries",
    ):
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


def _check_batches(
    findings: Findings, judge: Judge, queries: list[Query], singly: list[Answer]
) -> None:
    """Batches of 3 and 8, and another order, give what each query gives alone."""
    expected = [answer.answer for answer in singly]
    for size in BATCHES[1:]:
        batched: list[Answer] = []
        for start in range(0, len(queries), size):
            part = _answer(findings, judge, queries[start : start + size], f"in batches of {size}")
            if part is None:
                return
            batched += part
        _compare(findings, expected, [answer.answer for answer in batched], f"a batch of {size}")
    backwards = _answer(findings, judge, queries[::-1], "in another order")
    if backwards is not None:
        reordered = [answer.answer for answer in backwards[::-1]]
        _compare(findings, expected, reordered, "another order of the queries")


def _compare(
    findings: Findings, expected: list[str | None], actual: list[str | None], where: str
) -> None:
    if expected == actual:
        return
    if is_reordered(expected, actual):
        findings.add(f"answers are not in the order of the queries ({where})")
        return
    findings.add(
        f"answers in {where} differ from those given alone: an answer must depend on its own "
        "query only"
    )
