"""Lines for the user on problems in a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from t2ibench.models.protocols import HasFurtherAnswers, LooksUp
from t2ibench.pipeline.job import Job
from t2ibench.pipeline.plan import first_images
from t2ibench.results.record import UnaskedAnswers
from t2ibench.results.unread import unread_line, unread_prompts
from t2ibench.store.answers import is_file_of_answers
from t2ibench.store.images import Attempt

_EXAMPLES = 3  # of answers, and of reasons, that messages show


def problems_of(job: Job) -> list[str]:
    """Return lines on missing embeddings and answers, stopped models and changed images."""
    lines = [*_unanswered_lines(job), *_not_embedded_lines(job)]
    lines += [
        f"{name} was stopped: {reason.rstrip('.')}. Its work so far is kept; re-run the same "
        "command to continue."
        for name, reason in job.stopped.items()
    ]
    if job.edits_stopped is not None:
        lines.append(f"No more images were edited: {job.edits_stopped}")
    unread = _unread_prompts_line(job)
    if unread is not None:
        lines.append(f"{unread}.")
    if job.changed:
        lines.append(
            f"{job.changed} images were generated again and differ from the earlier ones. They "
            "replace them, and are embedded and judged again."
        )
    return lines


def check_looked_up(job: Job, warn: Callable[[str], None]) -> None:
    """Warn of recorded answers that match no image of this run."""
    if job.images is None:
        return
    for judge in job.observers.judges:
        if isinstance(judge, LooksUp):
            line = judge.check_images(job.missing.all_questions())
            if line is not None:
                warn(line)


def record_unasked_answers(job: Job) -> None:
    """Record what files of human labels answer and no question of the run asks for."""
    if job.images is None:
        return
    judges = [
        judge for judge in job.observers.judges if isinstance(judge, HasFurtherAnswers)
    ]
    if not judges:
        return
    asked = {question: None for _, of in job.missing.all_questions() for question in of}
    unasked = []
    for judge in judges:
        further = judge.further_answers(list(asked))
        if further.unasked:
            unasked.append(
                UnaskedAnswers(
                    judge=judge.name,
                    file=further.file,
                    answered=list(further.answered),
                    unasked=list(further.unasked),
                )
            )
    job.context.folder.update(unasked_answers=unasked)


def _unanswered_lines(job: Job) -> Iterator[str]:
    """Yield lines on questions without an answer, and on answers that are no class.

    Results say what a file of answers answers, question by question.
    """
    for name, report in job.reports.items():
        if is_file_of_answers(name):
            continue
        reasons = sorted(report.reasons.items(), key=lambda item: -item[1])
        for reason, count in reasons[:_EXAMPLES]:
            questions = "question has" if count == 1 else "questions have"
            yield f"{name}: {count} {questions} no answer: {reason}"
        yield from _unclassified_lines(name, report.unread)


def _unclassified_lines(judge: str, unread: Mapping[str, int]) -> Iterator[str]:
    """Yield lines on free-text answers that match no class and count as unknown."""
    most_frequent = sorted(unread.items(), key=lambda item: (-item[1], item[0]))
    for words, count in most_frequent[:_EXAMPLES]:
        verb = "answer counts" if count == 1 else "answers count"
        yield f"{judge}: {count} {verb} as unknown: {words}"


def _not_embedded_lines(job: Job) -> Iterator[str]:
    """Yield lines on images that an encoder could not embed."""
    controls = {store.name for store in job.stores.controls.values()}
    for name, reasons in job.unread.items():
        if name in controls:
            continue
        count = reasons.total()
        reason, _ = reasons.most_common(1)[0]
        images = "image has" if count == 1 else "images have"
        yield (
            f"{name}: {count} {images} no embedding and count as unknown; the most frequent "
            f"reason: {reason.rstrip('.')}."
        )


def _unread_prompts_line(job: Job) -> str | None:
    """Return a line on prompts that the model truncated; None if there are none."""
    images = job.images
    generator = job.context.record.generator
    if images is None or generator is None:
        return None

    def first(prompt: str, count: int) -> list[Attempt | None]:
        return [images.get(key) for key in first_images(prompt, count)]

    prompts = job.context.plan.prompts
    unread = unread_prompts(prompts, first, generator.unread_prompts)
    return unread_line(unread, len(prompts))
