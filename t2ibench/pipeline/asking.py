"""The third kind of work: asking judges what they have not answered yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.protocols import Answer, AnswersInParts, Judge, LooksUp, Query
from t2ibench.pipeline.observers import AskReport, Damaged, JudgeRun, Question
from t2ibench.store.answers import AnswerStore, StoredAnswer
from t2ibench.store.images import StoredImage
from t2ibench.store.pixels import UnreadableImageError

MAX_CONSECUTIVE_FAILURES = 20  # of a judge, before it is stopped
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_Part = list[tuple[Query, Answer]]


def _ignore(_: Any) -> None:
    pass


def unanswered(
    questions: Iterable[tuple[StoredImage, Sequence[Question]]], store: AnswerStore
) -> list[tuple[StoredImage, list[Question]]]:
    """Each image with its questions that have no answer yet; a file that occurs twice, once."""
    seen: set[tuple[str, Question]] = set()
    waiting = []
    for image, asked in questions:
        missing = [
            question
            for question in asked
            if (image.sha256, question) not in seen and store.get(image.sha256, *question) is None
        ]
        seen |= {(image.sha256, question) for question in missing}
        if missing:
            waiting.append((image, missing))
    return waiting


def ask(
    questions: Iterable[tuple[StoredImage, Sequence[Question]]],
    run: JudgeRun,
    *,
    streak: int = 0,
    on_batch: Callable[[int], None] = _ignore,
) -> AskReport:
    """Ask a judge what it has not answered yet. What it answers is kept at once."""
    report = AskReport(streak=streak)
    waiting = unanswered(questions, run.store)
    for queries in _batches(waiting, run.judge.batch_size, report):
        # Closed whatever happens: a judge on a server has requests to end.
        with closing(_parts(run.judge, queries)) as parts:
            while report.stopped is None:
                try:
                    part = next(parts, None)
                except T2IBenchError as error:
                    report.stopped = str(error)
                    break
                if part is None:
                    break
                _keep(part, run.store, report)
                on_batch(len(part))
        gaps = isinstance(run.judge, LooksUp)  # an image without an answer is no failure of it
        if report.stopped is None and report.streak >= MAX_CONSECUTIVE_FAILURES and not gaps:
            report.stopped = f"{report.streak} questions in a row failed."
        if report.stopped is not None:
            break
    return report


def _keep(part: _Part, store: AnswerStore, report: AskReport) -> None:
    """Store the answers and count what has none."""
    kept = []
    for query, answer in part:
        if answer.answer is None:
            reason = answer.reason or "no answer"
            report.reasons[reason] = report.reasons.get(reason, 0) + 1
            report.streak += 1
            continue
        report.streak = 0
        # Texts are shown and compared; what was said is kept word for word in `raw`.
        text = _UNPRINTABLE.sub("\ufffd", answer.answer)
        kept.append(StoredAnswer(query.sha256, query.question, query.classes, text, answer.raw))
    store.add(kept)
    report.answered += len(kept)


def _parts(judge: Judge, queries: Sequence[Query]) -> Generator[_Part, None, None]:
    """The answers as a judge gives them: one after the other, or all of the batch together."""
    left = dict(enumerate(queries))
    with failing("it failed with"):
        if isinstance(judge, AnswersInParts):
            for pairs in judge.answer_in_parts(queries):
                yield _taken(left, pairs)
            given = len(queries) - len(left)
        else:
            answers = list(judge.answer(queries))
            given = len(answers)
            if given == len(queries):
                yield _taken(left, enumerate(answers))
    if left or given != len(queries):
        raise T2IBenchError(f"it gave {given} answers to {len(queries)} questions.")


def _taken(left: dict[int, Query], pairs: Iterable[tuple[int, Answer]]) -> _Part:
    """Answers with their queries, each query once."""
    return [(left.pop(number), _checked(answer)) for number, answer in pairs if number in left]


def _checked(answer: Answer) -> Answer:
    if not isinstance(answer, Answer):
        return Answer(None, reason=f"it gave a {type(answer).__name__}, not an Answer")
    if not isinstance(answer.answer, str | None) or not isinstance(answer.raw, str):
        return Answer(None, reason="it gave an answer that is no text")
    return answer


def _batches(
    waiting: Sequence[tuple[StoredImage, list[Question]]], size: int, report: AskReport
) -> Iterator[list[Query]]:
    """Queries in batches; each image is decoded once. Unreadable images go into the report."""
    batch: list[Query] = []
    for image, questions in waiting:
        try:
            pixels = image.read()
        except UnreadableImageError as error:
            report.damaged.append(Damaged(image, str(error)))
            continue
        for question, classes in questions:
            batch.append(Query(pixels, image.prompt, image.index, image.sha256, question, classes))
            if len(batch) >= size:
                yield batch
                batch = []
    if batch:
        yield batch
