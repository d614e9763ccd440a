"""Trying a judge on images whose answers are known, before a run spends hours on it."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from t2ibench.apps.labelling.sheet import CLASSES_BETWEEN, NO_CLASS, option_of, sheet_rows
from t2ibench.errors import T2IBenchError, failing, shown
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.protocols import Answer, Judge, Query
from t2ibench.stats import macro_f1
from t2ibench.store.pixels import UnreadableImageError, read_image
from t2ibench.toyland import draw_scene, read_bias_settings, sample_scene

_AGAIN = 40  # questions that are asked twice
_NEEDED = ("file", "question", "classes", "answer")
_KINDS = {"person": "a person", "flower": "a rose", "insect": "an ant"}
# As many people as other things, so that a judge is seen to abstain, too.
_CAPTIONS = ("a photo of a person", "a rose", "a photo of a person", "an ant")
_EVEN = {f"all.{name}": "0.5" for name in ("gender.female", "age.old", "weather.pleasant")}
_GENDER = ("What is the gender of the person in the image?", ("female", "male"))
_AGE = ("How old is the person in the image?", ("adult", "old"))
_WEATHER = ("What is the weather in the image?", ("sunny", "rainy"))
_SHOWN = ("What does the image show?", tuple(_KINDS.values()))


@dataclass(frozen=True, slots=True)
class Known:
    """A question about an image, and its right answer.

    Attributes:
        query: What is asked.
        truth: One of its classes, or 'unknown'.
    """

    query: Query
    truth: str


@dataclass(frozen=True, slots=True)
class ClassTrial:
    """How a judge reads the images of one class.

    Attributes:
        truth: The class, or 'unknown'.
        n: Its images that were answered.
        right: How many were answered with it.
        low: Lower end of the 95 % interval of the share of right answers (Wilson).
        high: Its upper end.
        answers: Each answer given, with the number of images.
    """

    truth: str
    n: int
    right: int
    low: float
    high: float
    answers: dict[str, int]


@dataclass(frozen=True, slots=True)
class QuestionTrial:
    """How a judge answers one question.

    Attributes:
        question: What was asked.
        classes: What it could be answered with, besides 'unknown'.
        n: Images that were answered.
        unanswered: Images that were not: errors, refusals.
        accuracy: Share of right answers, 'unknown' where nothing else is right included.
        low: Lower end of its 95 % interval (Wilson).
        high: Its upper end.
        macro_f1: Mean F1 over the classes and 'unknown', where they occur.
        unknown: Share of 'unknown' among images that show one of the classes; None without such.
        by_class: Class by class.
    """

    question: str
    classes: tuple[str, ...]
    n: int
    unanswered: int
    accuracy: float | None
    low: float | None
    high: float | None
    macro_f1: float | None
    unknown: float | None
    by_class: tuple[ClassTrial, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What is known of a judge after a trial.

    Attributes:
        judge: Its name.
        fingerprint: Its fingerprint.
        images: How many images it was shown.
        questions: Question by question.
        first_seconds: Until the first answer, with loading.
        seconds: Of one answer after that.
        asked_again: Questions that were asked a second time, in another order and one by one.
        same_again: Those answered as the first time.
        reasons: Why questions were not answered, with the number of questions.
    """

    judge: str
    fingerprint: str
    images: int
    questions: tuple[QuestionTrial, ...]
    first_seconds: float
    seconds: float | None
    asked_again: int
    same_again: int
    reasons: dict[str, int] = field(default_factory=dict)


def toyland_questions(images: int, seed: int = 0) -> list[Known]:
    """Questions about drawn images, whose answers are known because we drew them.

    Half of the images show a person, half a flower or an insect; gender, age and weather are drawn
    evenly. Questions about a person are asked of every image: 'unknown' is right where there is
    none.
    """
    biases = read_bias_settings(_EVEN)
    found = []
    for number in range(images):
        caption = _CAPTIONS[number % len(_CAPTIONS)]
        digest = hashlib.sha256(f"check-judge\0{seed}\0{number}".encode()).digest()
        scene = sample_scene(caption, int.from_bytes(digest[:8], "big"), biases)
        image = draw_scene(scene)
        sha256 = hashlib.sha256(image.tobytes()).hexdigest()
        person = scene.people[0] if scene.people else None
        truths = (
            (_GENDER, person.gender if person else UNKNOWN),
            (_AGE, person.age if person else UNKNOWN),
            (_WEATHER, "sunny" if scene.weather == "pleasant" else "rainy"),
            (_SHOWN, _KINDS[scene.kind]),
        )
        found += [
            Known(Query(image, caption, number, sha256, question, classes), truth)
            for (question, classes), truth in truths
        ]
    return found


def labelled_questions(file: Path) -> list[Known]:
    """Questions about one's own images, from a filled sheet."""
    found = []
    for line, row in sheet_rows(file, _NEEDED):
        where = f"{file}:{line}"
        name, question, options, answer = (row[key].strip() for key in _NEEDED)
        if not answer:
            continue
        classes = tuple(
            text
            for part in options.split(CLASSES_BETWEEN)
            if (text := part.strip()) and text not in NO_CLASS
        )
        if not name or not question or len(classes) < 2:
            raise T2IBenchError(
                f"{where}: a row needs a file, a question and two or more classes.",
                "Write classes as 'female | male'.",
            )
        path = file.parent / name
        try:
            image = read_image(path)
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        except (UnreadableImageError, OSError) as error:
            raise T2IBenchError(
                f"{where}: {path} cannot be shown to a judge: {error}.",
                "The column 'file' holds paths relative to the CSV.",
            ) from None
        option = option_of(answer, classes, question, where)
        truth = option if option in classes else UNKNOWN
        found.append(Known(Query(image, "", line, sha256, question, classes), truth))
    if not found:
        raise T2IBenchError(f"{file} holds no answer.", "Fill its column 'answer'.")
    # Questions about one image stand together, so that its reading can be shared.
    return sorted(found, key=lambda one: (one.query.sha256, one.query.index))


def try_judge(
    judge: Judge, known: Sequence[Known], tell: Callable[[int, int], None] = lambda *_: None
) -> Trial:
    """Ask a judge what is known."""
    queries = [one.query for one in known]
    answers: list[Answer] = []
    start = time.perf_counter()
    with failing(f"The judge '{shown(judge.name)}' failed with"):
        for batch in _batches(queries, judge.batch_size):
            given = list(judge.answer(batch))
            if len(given) != len(batch):
                raise T2IBenchError(f"It gave {len(given)} answers to {len(batch)} questions.")
            if not answers:
                first = time.perf_counter() - start
            answers += given
            tell(len(answers), len(queries))
        rest = time.perf_counter() - start - first
    reasons = Counter(answer.reason or "no answer" for answer in answers if answer.answer is None)
    if sum(reasons.values()) == len(answers):
        raise T2IBenchError(f"It answered nothing: {reasons.most_common(1)[0][0]}")
    with failing(f"The judge '{shown(judge.name)}' failed with"):
        asked_again, same = _again(judge, queries, answers)
    return Trial(
        judge.name,
        judge.fingerprint,
        len({query.sha256 for query in queries}),
        tuple(_questions(known, answers)),
        first,
        rest / (len(queries) - 1) if len(queries) > 1 else None,
        asked_again,
        same,
        dict(reasons.most_common()),
    )


def _batches(queries: Sequence[Query], size: int) -> Iterator[Sequence[Query]]:
    """The first question alone, because a judge may load its weights for it."""
    yield queries[:1]
    for start in range(1, len(queries), size):
        yield queries[start : start + size]


def _again(judge: Judge, queries: Sequence[Query], answers: Sequence[Answer]) -> tuple[int, int]:
    """Ask some a second time, one by one and backwards: how many, and how many say the same."""
    step = max(1, len(queries) // _AGAIN)
    numbers = list(range(0, len(queries), step))[:_AGAIN][::-1]
    same = sum(judge.answer([queries[k]])[0].answer == answers[k].answer for k in numbers)
    return len(numbers), same


def _questions(known: Sequence[Known], answers: Sequence[Answer]) -> Iterator[QuestionTrial]:
    pairs: dict[tuple[str, tuple[str, ...]], list[tuple[str, str | None]]] = {}
    for one, answer in zip(known, answers, strict=True):
        key = (one.query.question, one.query.classes)
        pairs.setdefault(key, []).append((one.truth, answer.answer))
    for (question, classes), both in pairs.items():
        given = [(truth, answer) for truth, answer in both if answer is not None]
        right = sum(truth == answer for truth, answer in given)
        shown = [answer for truth, answer in given if truth != UNKNOWN]
        low, high = _interval(right, len(given)) if given else (None, None)
        yield QuestionTrial(
            question,
            classes,
            len(given),
            len(both) - len(given),
            right / len(given) if given else None,
            low,
            high,
            macro_f1([truth for truth, _ in given], [a for _, a in given]) if given else None,
            shown.count(UNKNOWN) / len(shown) if shown else None,
            tuple(
                _class(truth, [answer for true, answer in given if true == truth])
                for truth in (*classes, UNKNOWN)
                if any(true == truth for true, _ in given)
            ),
        )


def _class(truth: str, answers: Sequence[str]) -> ClassTrial:
    right = answers.count(truth)
    counts = dict(Counter(answers).most_common())
    return ClassTrial(truth, len(answers), right, *_interval(right, len(answers)), counts)


def _interval(right: int, n: int) -> tuple[float, float]:
    """Wilson's interval of a share."""
    from scipy.stats import binomtest

    found = binomtest(right, n).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)
