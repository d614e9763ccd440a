"""Guided images that show another group than was asked for, as a judge or people say."""

from __future__ import annotations

import numpy as np

from t2ibench.methods.core.evidence import Evidence, Needs, QuestionNeed
from t2ibench.methods.core.prompt_groups import asked_for
from t2ibench.methods.core.prompt_values import PromptValues


def contradictions(needs: Needs, evidence: Evidence) -> tuple[PromptValues, ...]:
    """Return 1 for each guided image that shows another group than asked for, and 0 for others.

    An image without an answer, or with the answer 'unknown', does not count.
    """
    groups = needs.groups
    values = []
    for check in needs.checks:
        group = groups[check.prompt]
        wanted = asked_for(group, check.classes)
        if wanted is not None:
            of_prompt = _of_prompt(check, group, wanted, evidence)
            if len(of_prompt.values):
                values.append(of_prompt)
    return tuple(values)


def _of_prompt(
    check: QuestionNeed, group: str, wanted: str, evidence: Evidence
) -> PromptValues:
    answers = evidence.answers(
        check.prompt, check.images, check.question, check.classes
    )
    is_class = np.array([answer in check.classes for answer in answers.answers], bool)
    is_other = np.array([answer != wanted for answer in answers.answers], np.float64)
    return PromptValues(
        check.prompt, group, answers.indices[is_class], is_other[is_class]
    )
