"""Agreement of people who labelled a task's images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from t2ibench.methods.core.evidence import Needs
from t2ibench.results.json_record import rounded
from t2ibench.results.people import (
    AgreementScore,
    AskedQuestion,
    DisputedImage,
    PairAgreement,
    PeopleAgreement,
)
from t2ibench.stats.raters import Interval, alpha_interval, exact_share, kappa_interval
from t2ibench.store.answers import AnswerStore, is_file_of_answers
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.people import Votes, counted_answer, person_of

_SEED = 0  # a constant is enough: nothing is compared across draws


@dataclass(slots=True)
class _Asked:
    """A question with its classes, and the images about which people gave answers."""

    question: str
    classes: tuple[str, ...]
    images: list[DisputedImage] = field(default_factory=list)


def people_agreement(
    needs: Needs, images: DistinctImages, votes: Votes, level: float
) -> list[PeopleAgreement]:
    """Return people's agreement on each question that at least two of them answered."""
    asked: dict[tuple[str, tuple[str, ...]], _Asked] = {}
    for need in dict.fromkeys((*needs.questions, *needs.checks)):
        about = need.about or need.question
        of_question = asked.setdefault(
            (about, need.classes), _Asked(need.question, need.classes)
        )
        for index, attempt in enumerate(images.first(need.prompt, need.images)):
            if attempt is None or attempt.status != "ok" or not attempt.sha256:
                continue
            answers = dict(votes.votes(attempt.sha256, need.question, need.classes))
            if not answers:
                continue
            of_question.images.append(
                DisputedImage(
                    prompt=need.prompt,
                    index=index,
                    file=f"images/{attempt.file}" if attempt.file else None,
                    sha256=attempt.sha256,
                    answers=answers,
                    counted=counted_answer(answers.values()),
                )
            )
    agreements = [
        _agreement(about, entry, level) for (about, _), entry in asked.items()
    ]
    return [agreement for agreement in agreements if len(agreement.people) > 1]


def asked_questions(
    needs: Needs,
    images: DistinctImages,
    judges: Mapping[str, AnswerStore],
    labels: Votes | None,
) -> list[AskedQuestion]:
    """Return about how many images people answered each question of a task.

    Their answers are in files of answers, or are labels.
    """
    files = {
        person_of(name): store
        for name, store in judges.items()
        if is_file_of_answers(name)
    }
    sampled = not files and any(store.by_labels for store in judges.values())
    if not files and not sampled:
        return []
    asked: dict[str, AskedQuestion] = {}
    for need in dict.fromkeys(needs.questions):
        about = need.about or need.question
        question = asked.setdefault(
            about, AskedQuestion(about=about, images=0, answered=0, sampled=sampled)
        )
        for attempt in images.first(need.prompt, need.images):
            if attempt is None or attempt.status != "ok" or not attempt.sha256:
                continue
            asked_of_image = (attempt.sha256, need.question, need.classes)
            if sampled and labels is not None:
                people = list(labels.votes(*asked_of_image))
            else:
                people = _who_answered(files, *asked_of_image)
            _count(question, people)
    return list(asked.values())


def _who_answered(
    files: Mapping[str, AnswerStore], image: str, question: str, classes: Sequence[str]
) -> list[str]:
    """Return the names of people whose file answers a question about an image."""
    return [
        name
        for name, answers in files.items()
        if answers.get(image, question, classes) is not None
    ]


def _count(question: AskedQuestion, people: Sequence[str]) -> None:
    """Add one image to a question's counts, and the people who answered about it."""
    question.images += 1
    question.answered += bool(people)
    for name in people:
        question.by[name] = question.by.get(name, 0) + 1


def _agreement(about: str, asked: _Asked, level: float) -> PeopleAgreement:
    people = sorted({name for image in asked.images for name in image.answers})
    given = [_classes(image.answers, asked.classes) for image in asked.images]
    shared = [set(answers.values()) for answers in given if len(answers) > 1]
    rng = np.random.default_rng(_SEED)
    table = [[answers.get(name) for answers in given] for name in people]
    # In this order: both draw from one generator of random numbers.
    alpha = _score(alpha_interval(table, rng, level))
    n_unanimous = sum(len(classes) == 1 for classes in shared)
    pairs = [_pair(pair, given, rng, level) for pair in combinations(people, 2)]
    return PeopleAgreement(
        about=about,
        question=asked.question,
        people=people,
        images=len(shared),
        agreement=_score(exact_share(n_unanimous, len(shared), level)),
        alpha=alpha,
        pairs=pairs,
        disputed=[image for image in asked.images if _is_disputed(image)],
    )


def _is_disputed(image: DisputedImage) -> bool:
    """Return whether people gave an image different answers."""
    return len(set(image.answers.values())) > 1


def _classes(answers: Mapping[str, str], classes: Sequence[str]) -> dict[str, str]:
    """Return each person's answer if it is a class; any answer if the question has no classes."""
    return {
        name: answer
        for name, answer in answers.items()
        if not classes or answer in classes
    }


def _pair(
    pair: tuple[str, str],
    given: Iterable[Mapping[str, str]],
    rng: np.random.Generator,
    level: float,
) -> PairAgreement:
    both = [answers for answers in given if all(name in answers for name in pair)]
    first, second = ([answers[name] for answers in both] for name in pair)
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    return PairAgreement(
        people=pair,
        images=len(both),
        agreement=_score(exact_share(equal, len(both), level)),
        kappa=_score(kappa_interval(first, second, rng, level)),
    )


def _score(interval: Interval) -> AgreementScore:
    return AgreementScore(
        value=rounded(interval.value),
        ci_low=rounded(interval.low),
        ci_high=rounded(interval.high),
    )
