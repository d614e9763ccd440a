"""Which guided images a judge, or people, say show another group than was asked for."""

from __future__ import annotations

import numpy as np

from t2ibench.methods.core.evidence import Needs, QuestionNeed
from t2ibench.methods.core.prompt_values import PromptValues
from t2ibench.pipeline.stored_evidence import StoredEvidence
from t2ibench.pipeline.stores import Stores
from t2ibench.pipeline.task_evidence import first_judge


def contradictions_by_judge(
    needs: Needs, stores: Stores
) -> dict[str, tuple[PromptValues, ...]]:
    """Return, by judge, 1 for each guided image that shows another group, and 0 for others.

    An image without an answer, or with the answer 'unknown', does not count.
    """
    judge = first_judge(needs, stores)
    if judge is None:
        return {}
    evidence = StoredEvidence(stores.images, None, judge, awaits_answers=False)
    groups = needs.groups
    contradictions = []
    for check in needs.checks:
        wanted = asked_for(groups[check.prompt], check.classes)
        if wanted is not None:
            values = _contradictions(check, groups[check.prompt], wanted, evidence)
            if len(values.values):
                contradictions.append(values)
    return {judge.name: tuple(contradictions)} if contradictions else {}


def asked_for(group: str, classes: tuple[str, ...]) -> str | None:
    """Return which of the classes a guided prompt asks for; None if its group names none.

    Examples:
        >>> asked_for("career, male", ("male", "female"))
        'male'
    """
    named = group.rpartition(", ")[2]
    if group in classes:
        return group
    return named if named in classes else None


def _contradictions(
    check: QuestionNeed, group: str, wanted: str, evidence: StoredEvidence
) -> PromptValues:
    answers = evidence.answers(
        check.prompt, check.images, check.question, check.classes
    )
    is_class = np.array([answer in check.classes for answer in answers.answers], bool)
    is_other = np.array([answer != wanted for answer in answers.answers], np.float64)
    return PromptValues(
        check.prompt, group, answers.indices[is_class], is_other[is_class]
    )
