"""How far a judge agrees with people, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.stats import macro_f1
from t2ibench.stats.agreement import cohens_kappa, krippendorff_alpha
from t2ibench.store.answers import AnswerStore
from t2ibench.store.labels import LabelStore


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """One judge and one question; never pooled over questions.

    Attributes:
        question: What was asked.
        judge: Its name.
        n: Images that people and the judge gave a class.
        accuracy: Share of them with the same class.
        macro_f1: Mean F1 over the classes.
        kappa: Cohen's kappa.
        alpha: Krippendorff's alpha of the judge and all labellers.
        people: Krippendorff's alpha of the labellers alone; None for one labeller.
    """

    question: str
    judge: str
    n: int
    accuracy: float | None
    macro_f1: float | None
    kappa: float | None
    alpha: float | None
    people: float | None


def agreements(labels: LabelStore, judges: Mapping[str, AnswerStore]) -> list[JudgeAgreement]:
    """The agreement of every judge with people on every labelled question.

    Args:
        labels: People's answers.
        judges: Name to the judge's answers.

    Returns:
        One entry a question and judge, questions sorted.
    """
    by_question: dict[tuple[str, tuple[str, ...]], dict[str, dict[str, str]]] = {}
    for label in labels.all():
        images = by_question.setdefault((label.question, label.classes), {})
        images.setdefault(label.image, {})[label.labeller] = label.answer
    return [
        _agreement(labels, question, classes, images, name, judge)
        for (question, classes), images in sorted(by_question.items())
        for name, judge in judges.items()
    ]


def _agreement(
    labels: LabelStore,
    question: str,
    classes: Sequence[str],
    images: Mapping[str, Mapping[str, str]],
    name: str,
    judge: AnswerStore,
) -> JudgeAgreement:
    number = {label: k for k, label in enumerate(classes)}
    people_by_image, answers = [], []
    labellers = sorted({who for by in images.values() for who in by})
    ratings = []
    for image, by in sorted(images.items()):
        stored = judge.get(image, question, classes)
        answer = stored.answer if stored else UNKNOWN
        most = labels.majority(image, question, classes)
        ratings.append(
            [number.get(text, -1) for text in (*(by.get(w, "") for w in labellers), answer)]
        )
        if answer in number and most in number:
            people_by_image.append(number[most])
            answers.append(number[answer])
    table = np.array(ratings, dtype=np.int64)
    return JudgeAgreement(
        question,
        name,
        len(answers),
        _finite(np.mean(np.equal(people_by_image, answers)) if answers else np.nan),
        _finite(
            macro_f1([*map(str, people_by_image)], [*map(str, answers)]) if answers else np.nan
        ),
        _finite(cohens_kappa(people_by_image, answers)),
        _finite(krippendorff_alpha(table)),
        _finite(krippendorff_alpha(table[:, :-1])) if len(labellers) > 1 else None,
    )


def _finite(value: float | np.floating) -> float | None:
    return float(value) if np.isfinite(value) else None
