"""Agreement of people with each other and with judges, for each question they answered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import eq

import numpy as np

from t2ibench.apps.labelling.sample import Item, asked_images
from t2ibench.pipeline.people import people_agreement
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.stores import Stores
from t2ibench.results.people import PeopleAgreement
from t2ibench.stats import macro_f1
from t2ibench.stats.categorical import cohens_kappa, krippendorff_alpha
from t2ibench.store.answers import AnswerStore
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.images import ImageStore
from t2ibench.store.people import PeopleStore, Votes, counted_answer, people_among


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """How far a judge agrees with people on one question, over the `n` images that both classified.

    `accuracy` is the share with the same class, `alpha` Krippendorff's of the judge and all
    people, `people` that of the people alone; None for one person. Never pooled.
    """

    question: str
    judge: str
    n: int
    accuracy: float | None
    macro_f1: float | None
    kappa: float | None
    alpha: float | None
    people: float | None


@dataclass(frozen=True, slots=True)
class RunAgreement:
    """Agreement of the people who labelled a run, with each other and with its judges."""

    people: list[PeopleAgreement]
    judges: list[JudgeAgreement]


def agreement_of_run(
    plan: Plan, images: ImageStore, stores: Stores
) -> RunAgreement | None:
    """Return how far people and judges agree on a run's images; None if nothing can be compared."""
    sources: list[Votes] = []
    for reader in stores.readers.values():
        if isinstance(reader, PeopleStore):
            sources.append(reader)
    if stores.labels is not None and len(stores.labels):
        sources.append(stores.labels)
    several = people_among(stores.judges)
    models = {
        name: judge for name, judge in stores.judges.items() if name not in several
    }
    distinct = DistinctImages(images)
    level = plan.settings.level
    items = [item for item, _ in asked_images(plan, images)]
    people = [
        question
        for source in sources
        for task in plan.tasks
        for question in people_agreement(plan.needs[task.id], distinct, source, level)
    ]
    judges = [pair for source in sources for pair in agreements(items, source, models)]
    return RunAgreement(people, judges) if people or judges else None


def agreements(
    items: Iterable[Item], votes: Votes, judges: Mapping[str, AnswerStore]
) -> list[JudgeAgreement]:
    """Return the agreement of every judge with people, for every question that people answered."""
    questions: dict[tuple[str, tuple[str, ...]], dict[str, Mapping[str, str]]] = (
        defaultdict(dict)
    )
    for item in items:
        answers = votes.votes(item.image, item.question, item.classes)
        if answers:
            questions[item.question, item.classes][item.image] = answers
    return [
        _agreement(question, classes, images, name, judge)
        for (question, classes), images in sorted(questions.items())
        for name, judge in judges.items()
    ]


def _agreement(
    question: str,
    classes: tuple[str, ...],
    images: Mapping[str, Mapping[str, str]],
    name: str,
    judge: AnswerStore,
) -> JudgeAgreement:
    def class_or_none(text: str | None) -> str | None:
        return text if text in classes else None

    ordered = sorted(images.items())
    people = [
        [class_or_none(answers.get(person)) for _, answers in ordered]
        for person in _people(images)
    ]
    truths: list[str] = []
    readings: list[str] = []
    judged: list[str | None] = []
    for image, answers in ordered:
        stored = judge.get(image, question, classes)
        reading = class_or_none(stored.answer if stored else None)
        truth = class_or_none(counted_answer(answers.values()))
        judged.append(reading)
        if truth and reading:
            truths.append(truth)
            readings.append(reading)
    accuracy = sum(map(eq, truths, readings)) / len(truths) if truths else None
    of_people = _finite(krippendorff_alpha(people)) if len(people) > 1 else None
    return JudgeAgreement(
        question=question,
        judge=name,
        n=len(truths),
        accuracy=accuracy,
        macro_f1=_finite(macro_f1(truths, readings)),
        kappa=_finite(cohens_kappa(truths, readings)),
        alpha=_finite(krippendorff_alpha([*people, judged])),
        people=of_people,
    )


def _people(images: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the sorted names of all people who answered about any image."""
    return sorted({person for answers in images.values() for person in answers})


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
