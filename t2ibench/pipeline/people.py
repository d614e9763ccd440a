"""Agreement of people who labelled a task's images."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from t2ibench.methods.core.evidence import Needs
from t2ibench.pipeline.asked_images import images_of_questions
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
    needs: Needs,
    images: DistinctImages,
    votes: Votes,
    level: float,
    *,
    sources: DistinctImages | None = None,
    votes_on_sources: Votes | None = None,
) -> list[PeopleAgreement]:
    """Return people's agreement on each question that at least two of them answered.

    Args:
        needs: The needs of a task.
        images: The images of the run.
        votes: What people answered about them.
        level: Confidence level, in (0, 1).
        sources: The source images of edits; None without.
        votes_on_sources: What people answered about them; None for `votes`, too.
    """
    asked: dict[tuple[str, tuple[str, ...]], _Asked] = {}
    for image in images_of_questions(needs, images, sources, checks=True):
        of_question = asked.setdefault(
            (image.about, image.classes), _Asked(image.question, image.classes)
        )
        on_sources = image.is_source and votes_on_sources is not None
        answered = votes_on_sources if on_sources else votes
        assert answered is not None
        answers = dict(answered.votes(image.sha256, image.question, image.classes))
        if not answers:
            continue
        of_question.images.append(
            DisputedImage(
                prompt=image.prompt,
                index=image.index,
                file=image.file,
                sha256=image.sha256,
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
    *,
    sources: DistinctImages | None = None,
    judges_of_sources: Mapping[str, AnswerStore] | None = None,
) -> list[AskedQuestion]:
    """Return about how many images people answered each question of a task.

    Their answers are in files of answers, or are labels.

    Args:
        needs: The needs of a task.
        images: The images of the run.
        judges: What judges and people answered about them.
        labels: Human labels; None where nobody labelled.
        sources: The source images of edits; None without.
        judges_of_sources: What judges and people answered about these.
    """
    files = _files_of_answers(judges)
    files_on_sources = _files_of_answers(judges_of_sources or {})
    sampled = not files and any(store.by_labels for store in judges.values())
    if not files and not sampled:
        return []
    asked: dict[str, AskedQuestion] = {}
    for need in needs.questions:
        _of_about(asked, need.about or need.question, sampled=sampled)
    for image in images_of_questions(needs, images, sources):
        question = _of_about(asked, image.about, sampled=sampled)
        asked_of_image = (image.sha256, image.question, image.classes)
        if sampled and labels is not None:
            people = list(labels.votes(*asked_of_image))
        else:
            who = files_on_sources if image.is_source else files
            people = _who_answered(who, *asked_of_image)
        _count(question, people)
    return list(asked.values())


def _files_of_answers(judges: Mapping[str, AnswerStore]) -> dict[str, AnswerStore]:
    """Return the files of answers among judges, by the name of the person."""
    return {
        person_of(name): store
        for name, store in judges.items()
        if is_file_of_answers(name)
    }


def _of_about(
    asked: dict[str, AskedQuestion], about: str, *, sampled: bool
) -> AskedQuestion:
    """Return the counts of the question that is called so, with none before its first image."""
    return asked.setdefault(
        about, AskedQuestion(about=about, images=0, answered=0, sampled=sampled)
    )


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
