"""Asking the judges what the plan needs: each question about each image once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.models.protocols import Judge, Query
from t2ibench.pipeline.observe import open_image
from t2ibench.pipeline.plan import Plan, Question
from t2ibench.pipeline.progress import Reporter, Ticker
from t2ibench.store.answers import AnswerStore, StoredAnswer
from t2ibench.store.images import Attempt, ImageStore

_TIRED = 20  # failures one after another before a judge is not asked any more


@dataclass(frozen=True, slots=True)
class Bench:
    """A judge and where its answers go."""

    judge: Judge
    store: AnswerStore


def open_benches(judges: Sequence[Judge], root: Path) -> list[Bench]:
    """The answer stores of the judges."""
    return [Bench(one, AnswerStore(root, one.name, one.fingerprint)) for one in judges]


@dataclass(slots=True)
class Hearing:
    """What came of asking.

    Attributes:
        answered: Answers got now.
        failed: Questions without an answer.
        problems: What a person must know, a line each.
        broken: Image files that could not be read.
    """

    answered: int
    failed: int
    problems: list[str]
    broken: list[str]


def _waiting(
    plan: Plan, images: ImageStore, store: AnswerStore
) -> Iterator[tuple[Attempt, list[Question]]]:
    """Each image with the questions that have no answer yet; an image of two prompts once."""
    seen: set[tuple[str, Question]] = set()
    for request in plan.requests:
        asked = plan.questions.get(request.prompt, {})
        wanted = [question for question, count in asked.items() if request.index < count]
        attempt = images.get(request.prompt, request.index) if wanted else None
        if attempt is None or attempt.sha256 is None:
            continue
        image = attempt.sha256
        missing = [
            question
            for question in wanted
            if (image, question) not in seen and store.get(image, *question) is None
        ]
        seen |= {(image, question) for question in missing}
        if missing:
            yield attempt, missing


def hear(plan: Plan, images: ImageStore, benches: Sequence[Bench], reporter: Reporter) -> Hearing:
    """Ask every judge what it has not answered yet. What it answers is kept at once."""
    hearing = Hearing(0, 0, [], [])
    for bench in benches:
        waiting = list(_waiting(plan, images, bench.store))
        total = sum(len(questions) for _, questions in waiting)
        if not total:
            continue
        name = f"Asking {bench.judge.name}"
        with reporter.stage(name, total, "answers") as ticker:
            try:
                _ask(bench, waiting, images, hearing, ticker)
            except T2IBenchError as error:
                hearing.problems.append(
                    f"{bench.judge.name} was not asked any more: {error} Its answers so far are "
                    "kept; run the same command again to go on."
                )
                hearing.failed += 1
    return hearing


def _ask(
    bench: Bench,
    waiting: Sequence[tuple[Attempt, list[Question]]],
    images: ImageStore,
    hearing: Hearing,
    ticker: Ticker,
) -> None:
    judge, streak, reasons = bench.judge, 0, dict[str, int]()
    for queries in _batches(waiting, images, hearing, judge.batch_size):
        answers = judge.answer(queries)
        kept = []
        for query, found in zip(queries, answers, strict=True):
            if found.answer is None:
                streak += 1
                hearing.failed += 1
                why = found.reason or "no answer"
                reasons[why] = reasons.get(why, 0) + 1
            else:
                streak = 0
                kept.append(
                    StoredAnswer(
                        query.sha256, query.question, query.classes, found.answer, found.raw
                    )
                )
        bench.store.add(kept)
        hearing.answered += len(kept)
        ticker.advance(len(queries))
        if streak >= _TIRED:
            break
    hearing.problems += [
        f"{judge.name}: {count} questions have no answer: {why}"
        for why, count in sorted(reasons.items(), key=lambda item: -item[1])[:3]
    ]
    if streak >= _TIRED:
        raise T2IBenchError(f"{streak} questions in a row failed.")


def _batches(
    waiting: Sequence[tuple[Attempt, list[Question]]],
    images: ImageStore,
    hearing: Hearing,
    size: int,
) -> Iterator[list[Query]]:
    """Queries in batches; each image is decoded once."""
    batch: list[Query] = []
    for attempt, questions in waiting:
        picture, why = open_image(attempt, images)
        if picture is None:
            hearing.broken.append(f"{images.path(attempt)} {why}")
            images.forget(attempt)
            continue
        for question, classes in questions:
            batch.append(
                Query(
                    picture, attempt.prompt, attempt.index, attempt.sha256 or "", question, classes
                )
            )
            if len(batch) >= size:
                yield batch
                batch = []
    if batch:
        yield batch
