"""The headline of an edit task: the difference between two groups of one declared change."""

from __future__ import annotations

from dataclasses import replace

from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.inference import (
    HeadlineInference,
    fair_band,
    t_inference,
)
from t2ibench.methods.edits.cautious_test import cautiously_tested
from t2ibench.methods.edits.changes import FollowedChange


def headline_of(followed: FollowedChange, level: float) -> HeadlineEstimate:
    """Return the lean of the headline's change, over all edits."""
    difference = followed.difference(level)
    influence = difference.influence
    if difference.value is None or influence is None:
        reason = difference.reason or "there is no change of both groups"
        return HeadlineEstimate.undefined(reason)
    inference = t_inference(difference.value, influence, level)
    tested = cautiously_tested(difference, level)
    low, high = tested.interval or (None, None)
    shown = replace(inference, ci_low=low, ci_high=high, p=tested.p)
    return HeadlineEstimate(
        value=difference.value,
        scale="lean",
        inference=HeadlineInference(
            by_question={"fixed_prompts": shown},
            fair=fair_band(inference, difference.value),
            test="t",
        ),
        parts=(Part("", difference.value, influence),),
    )
