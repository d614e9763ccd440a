"""Questions to judges about images; the answers are returned and stored elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.judges.answer_classes import in_its_classes
from t2ibench.models.protocols import (
    Answer,
    AnswersInParts,
    Judge,
    LooksUp,
    Query,
    QueryOfFile,
)
from t2ibench.pipeline.generation import never
from t2ibench.pipeline.work_items import (
    AskReport,
    ImageQuestions,
    Question,
    UnreadableFile,
)
from t2ibench.store.answers import AnswerStore, StoredAnswer
from t2ibench.store.decoded_images import DecodedImages
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import StoredImage

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_CONSECUTIVE_FAILURES = 20  # of a judge, before it is stopped
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

_Part = list[tuple[Query, Answer]]


def unanswered(
    questions: Iterable[ImageQuestions], store: AnswerStore
) -> list[tuple[StoredImage, list[Question]]]:
    """Return each distinct image that has unanswered questions, with these questions."""
    seen: set[tuple[str, Question]] = set()
    waiting = []
    for image, asked in questions:
        missing = [
            question
            for question in asked
            if (image.sha256, question) not in seen
            and store.get(image.sha256, *question) is None
        ]
        seen |= {(image.sha256, question) for question in missing}
        if missing:
            waiting.append((image, missing))
    return waiting


def answered(
    questions: Sequence[ImageQuestions],
    judge: Judge,
    *,
    streak: int = 0,
    stopping: Callable[[], bool] = never,
) -> Generator[AskReport, None, None]:
    """Ask a judge about images, and yield a report on each part of its answers as it comes."""
    unread = AskReport()
    # A file without an answer to an image has not failed.
    gaps = isinstance(judge, LooksUp)
    for queries in _batches(questions, judge.batch_size, unread):
        if stopping():
            break
        # Closed whatever happens: a judge on a server has requests to end.
        with closing(_readable_parts(judge, queries, unread)) as parts:
            try:
                for part in parts:
                    report = _report(part, streak)
                    streak = report.streak
                    yield report
            except T2IBenchError as error:
                yield AskReport(streak=streak, stopped=str(error))
                break
        if streak >= MAX_CONSECUTIVE_FAILURES and not gaps:
            yield AskReport(
                streak=streak, stopped=f"{streak} questions in a row failed."
            )
            break
    unread.streak = streak
    yield unread


def _report(part: _Part, streak: int) -> AskReport:
    """Return a report on a judge's answers: those to store, and why others are missing."""
    report = AskReport(questions=len(part), streak=streak)
    for query, given in part:
        answer = in_its_classes(given, query.classes)
        if answer.answer is None:
            reason = answer.reason or "no answer"
            report.reasons[reason] = report.reasons.get(reason, 0) + 1
            report.streak += 1
            continue
        report.streak = 0
        if answer.reason is not None:
            report.unread[answer.reason] = report.unread.get(answer.reason, 0) + 1
        # Texts are shown and compared; what was said is kept word for word in `raw`.
        text = _UNPRINTABLE.sub("\ufffd", answer.answer)
        stored = StoredAnswer(
            query.sha256, query.question, query.classes, text, answer.raw
        )
        report.answers.append(stored)
    return report


def _readable_parts(
    judge: Judge, queries: Sequence[Query], report: AskReport
) -> Generator[_Part, None, None]:
    """Yield queries with a judge's answers, except those about images that were lost meanwhile.

    A file that changes after its first reading cannot be decoded again. Whatever it ends in the
    judge, the questions about other images are then asked once more.
    """
    left = list(queries)
    while left:
        try:
            with closing(_parts(judge, left)) as parts:
                for part in parts:
                    asked = {id(query) for query, _ in part}
                    left = [query for query in left if id(query) not in asked]
                    yield part
        except T2IBenchError:
            damaged = {file.image.sha256 for file in report.damaged}
            readable = [query for query in left if query.sha256 not in damaged]
            if len(readable) == len(left):
                raise
            left = readable
        else:
            return


def _parts(judge: Judge, queries: Sequence[Query]) -> Generator[_Part, None, None]:
    """Yield queries with a judge's answers, in parts as they come, or as a whole batch."""
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
    """Return queries with their answers, and remove these queries from `left`."""
    return [
        (left.pop(number), _checked(answer))
        for number, answer in pairs
        if number in left
    ]


def _checked(answer: Answer) -> Answer:
    if not isinstance(answer, Answer):
        return Answer(None, reason=f"it gave a {type(answer).__name__}, not an Answer")
    if not isinstance(answer.answer, str | None) or not isinstance(answer.raw, str):
        return Answer(None, reason="it gave an answer that is no text")
    return answer


def _batches(
    waiting: Sequence[ImageQuestions], size: int, report: AskReport
) -> Iterator[list[Query]]:
    """Yield batches of queries, and report unreadable images.

    Each image is decoded once, unless those of a batch are so large that not all of them stay
    decoded until they are used.
    """
    decoded = DecodedImages()
    batch: list[Query] = []
    for image, questions in waiting:
        read = partial(_read, image, decoded, report)
        try:
            read()
        except UnreadableImageError:
            continue
        for question, classes in questions:
            batch.append(
                QueryOfFile(
                    read,
                    image.prompt,
                    image.index,
                    image.sha256,
                    question,
                    classes,
                )
            )
            if len(batch) >= size:
                yield batch
                batch = []
    if batch:
        yield batch


def _read(image: StoredImage, decoded: DecodedImages, report: AskReport) -> Image:
    """Return a decoded image; report it and raise UnreadableImageError if it cannot be read."""
    try:
        return decoded.read(image)
    except UnreadableImageError as error:
        if all(file.image.sha256 != image.sha256 for file in report.damaged):
            report.damaged.append(UnreadableFile(image, str(error)))
        raise
