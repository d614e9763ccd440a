"""How far a judge agrees with people, question by question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from operator import eq

import numpy as np

from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.stats import macro_f1
from t2ibench.stats.categorical import cohens_kappa, krippendorff_alpha
from t2ibench.store.answers import AnswerStore
from t2ibench.store.labels import LabelStore


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """One judge and one question, over the `n` images that people and the judge gave a class.

    `accuracy` is the share with the same class, `alpha` Krippendorff's of the judge and all
    labellers, `people` that of the labellers alone; None for one labeller. Never pooled.
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
    """The agreement of every judge with people on every labelled question."""
    by_question: dict[tuple[str, tuple[str, ...]], dict[str, dict[str, str]]]
    by_question = defaultdict(lambda: defaultdict(dict))
    for label in labels.all():
        by_question[label.question, label.classes][label.image][label.labeller] = label.answer
    found = []
    for (question, classes), images in sorted(by_question.items()):
        labellers = sorted({who for by in images.values() for who in by})
        for name, judge in judges.items():
            pairs: list[tuple[str, str]] = []  # what most people answered, and the judge
            ratings: list[list[str | None]] = [[] for _ in (*labellers, name)]
            for image, by in sorted(images.items()):
                stored = judge.get(image, question, classes)
                answer = stored.answer if stored else UNKNOWN
                most = labels.majority(image, question, classes)
                given = [*(by.get(who, "") for who in labellers), answer]
                for column, text in zip(ratings, given, strict=True):
                    column.append(text if text in classes else None)
                if answer in classes and most is not None and most in classes:
                    pairs.append((most, answer))
            people, answers = [most for most, _ in pairs], [answer for _, answer in pairs]
            found.append(
                JudgeAgreement(
                    question,
                    name,
                    len(pairs),
                    sum(map(eq, people, answers)) / len(pairs) if pairs else None,
                    _finite(macro_f1(people, answers)),
                    _finite(cohens_kappa(people, answers)),
                    _finite(krippendorff_alpha(ratings)),
                    _finite(krippendorff_alpha(ratings[:-1])) if len(labellers) > 1 else None,
                )
            )
    return found


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
