"""How far a judge agrees with people, question by question."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from operator import eq

import numpy as np

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

        def known(text: str | None, classes: tuple[str, ...] = classes) -> str | None:
            return text if text in classes else None

        ordered = sorted(images.items())
        labellers = sorted({who for by in images.values() for who in by})
        people = [[known(by.get(who)) for _, by in ordered] for who in labellers]
        most = [known(labels.majority(image, question, classes)) for image, _ in ordered]
        for name, judge in judges.items():
            stored = [judge.get(image, question, classes) for image, _ in ordered]
            answers = [known(one.answer if one else None) for one in stored]
            pairs = [(a, b) for a, b in zip(most, answers, strict=True) if a and b]
            given, own = [a for a, _ in pairs], [b for _, b in pairs]
            found.append(
                JudgeAgreement(
                    question,
                    name,
                    len(pairs),
                    sum(map(eq, given, own)) / len(pairs) if pairs else None,
                    _finite(macro_f1(given, own)),
                    _finite(cohens_kappa(given, own)),
                    _finite(krippendorff_alpha([*people, answers])),
                    _finite(krippendorff_alpha(people)) if len(labellers) > 1 else None,
                )
            )
    return found


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
