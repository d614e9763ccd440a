"""Controls of an edit task: no change asked for or made, an edit that anybody makes, halves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from t2ibench.decimals import decimal
from t2ibench.methods.core.describe import percent
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.headline import SHUFFLES, Control, of_halves, of_shuffles
from t2ibench.methods.core.inference import t_inference
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.edits.cautious_test import cautiously_tested
from t2ibench.methods.edits.changes import FollowedChange, followed_change
from t2ibench.methods.edits.gathering import EditedGroup, shown_answers
from t2ibench.methods.edits.mean_change import (
    BOTH_WAYS,
    GroupChanges,
    difference_of_changes,
)
from t2ibench.methods.edits.schema import EditsTask
from t2ibench.stats.clopper_pearson import clopper_pearson
from t2ibench.stats.error_rate import error_rate

# Of the images of the positive control, the least share that has to be made.
_LEAST_MADE = 0.5
# The p-value below which groups differ where nothing was done.
_CLEARLY = 0.01


def controls_of(
    task: EditsTask,
    groups: Sequence[EditedGroup],
    followed: FollowedChange,
    no_change: FollowedChange | None,
    level: float,
    rng: np.random.Generator,
) -> dict[str, Control]:
    """Return the controls of an edit task, keyed by name.

    Args:
        task: The task.
        groups: What was collected.
        followed: The change of the headline by the edits.
        no_change: The same by the instruction that asks for no change; None without.
        level: Confidence level, in (0, 1).
        rng: Source of randomness.
    """
    controls: dict[str, Control] = {}
    if no_change is not None:
        controls["no_change"] = no_change_control(followed, no_change, level)
    if task.positive is not None:
        controls["positive"] = positive_control(task, groups, level)
    if task.does_nothing:
        controls["nothing"] = nothing_control(task, groups, level)
    controls["shuffled"] = shuffled_control(followed, level, rng)
    halves = halves_control(followed, level)
    if halves is not None:
        controls["halves"] = halves
    return controls


def no_change_control(
    followed: FollowedChange, no_change: FollowedChange, level: float
) -> Control:
    """Return the control of whether the groups change where no change is asked for.

    It does not contradict: a model that changes one group more, whatever it is asked for, changes
    it. But then it is not what the edits ask for that does it, and the control says so.
    """
    difference = no_change.difference(level)
    if difference.value is None:
        return Control(f"Asked for no change: {difference.reason}.")
    shown = decimal(difference.value, 2, sign=True)
    says = f"Asked for no change, the groups differ by {shown}"
    if difference.p is not None:
        says += f" (p = {difference.p:.2g})"
    beyond = difference_beyond(followed, no_change, level)
    if beyond.value is not None and beyond.interval is not None:
        ends = [decimal(end, 2, sign=True) for end in beyond.interval]
        more = decimal(beyond.value, 2, sign=True)
        says += f"; by the edits they differ by {more} more ({ends[0]} to {ends[1]})"
    low, high = difference.interval or (None, None)
    return Control(f"{says}.", difference.value, low, high, difference.p)


def difference_beyond(
    followed: FollowedChange, no_change: FollowedChange, level: float
) -> Estimate:
    """Return the lean of the changes by edits, each less that of its source without a change."""
    groups = []
    for name in followed.between:
        by_edits = followed.by_group[name]
        by_nothing = no_change.by_group[name].values
        is_there = np.isfinite(by_nothing)
        sums = np.where(is_there, by_nothing, 0.0).sum(axis=(1, 2))
        counts = is_there.sum(axis=(1, 2))
        without = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        beyond = by_edits.values - without[:, None, None]
        groups.append(GroupChanges(name, by_edits.numbers, beyond))
    first, second = groups
    return difference_of_changes(first, second, BOTH_WAYS, level, sign=followed.sign)


def positive_control(
    task: EditsTask, groups: Sequence[EditedGroup], level: float
) -> Control:
    """Return the control of whether the edit that anybody makes was made, as it was answered.

    It contradicts where it clearly was not in half of the images: then either the model does not
    edit, or the judge does not see edits. Images of one source image count as one.
    """
    assert task.positive is not None
    edit = task.positive
    made: list[float] = []
    for group in groups:
        for images in group.edits[edit.name]:
            answers = shown_answers(images.made)
            if answers:
                hits = sum(answer == edit.classes[0] for answer in answers)
                made.append(hits / len(answers))
    if not made:
        return Control(f"Nobody said whether the edit '{edit.name}' was made.")
    share = float(np.mean(made))
    low, high = clopper_pearson(sum(made), len(made), level)
    says = (
        f"The edit '{edit.name}', which any editor makes, was made in {percent(share)}"
    )
    contradicts = None
    if high < _LEAST_MADE:
        contradicts = (
            f"the edit '{edit.name}' was made in {percent(share)} only: the model does not edit, "
            "or the judge does not see it"
        )
    return Control(f"{says} of the images.", share, low, high, contradicts=contradicts)


def nothing_control(
    task: EditsTask, groups: Sequence[EditedGroup], level: float
) -> Control:
    """Return the control of whether saving an image again moves what is answered about it.

    It contradicts where the groups differ by it (p < .01): then so does whatever tells images
    apart, without any edit. In a fair test of a judge whose answers vary that happens in at most
    one of a hundred runs.
    """
    attribute = task.headline_attribute
    change = followed_change(task, attribute, groups, task.does_nothing)
    difference = cautiously_tested(change.difference(level), level)
    low, high = difference.interval or (None, None)
    ways = " or ".join(task.does_nothing)
    shares = _moved_answers(task, groups)
    if difference.value is None or not shares:
        return Control(f"Nobody answered about images that were {ways}.")
    shown = decimal(difference.value, 2, sign=True)
    says = (
        f"Of images that were only {ways} by the benchmark, {percent(float(np.mean(shares)))} of "
        f"the answers to all questions are another one; by {attribute.name} the groups "
        f"differ by {shown}"
    )
    if low is not None and high is not None:
        says += f" ({decimal(low, 2, sign=True)} to {decimal(high, 2, sign=True)})"
    contradicts = None
    if difference.p is not None and difference.p < _CLEARLY:
        contradicts = (
            f"the groups differ by {shown} where images were only {ways}: what answers is moved "
            "by that, and differently for the groups"
        )
    return Control(
        f"{says}.", difference.value, low, high, difference.p, contradicts=contradicts
    )


def _moved_answers(task: EditsTask, groups: Sequence[EditedGroup]) -> list[float]:
    """Return for each image that was only saved again, and attribute, whether its answer moved."""
    moved: list[float] = []
    for group in groups:
        for edit in task.does_nothing:
            for number, images in enumerate(group.edits[edit]):
                for name, after in images.after.items():
                    before = group.before[name][number]
                    moved += [
                        float(answer != before)
                        for answer in after
                        if answer is not None and before is not None
                    ]
    return moved


def shuffled_control(
    followed: FollowedChange, level: float, rng: np.random.Generator
) -> Control:
    """Return the control that counts how often source images of random groups differ."""
    first, second = (followed.by_group[name] for name in followed.between)
    values = np.concatenate([first.values, second.values])
    numbers = np.arange(len(values))
    rejected = 0
    for _ in range(SHUFFLES):
        order = rng.permutation(len(values))
        in_first = order[: len(first.values)]
        in_second = order[len(first.values) :]
        difference = difference_of_changes(
            GroupChanges("first", numbers[in_first], values[in_first]),
            GroupChanges("second", numbers[in_second], values[in_second]),
            followed.possible,
            level,
        )
        rejected += difference.p is not None and difference.p < error_rate(level)
    return of_shuffles(
        f"With shuffled groups the test finds a difference in {rejected} of {SHUFFLES} tries.",
        rejected / SHUFFLES,
        rejected,
        f"{rejected} of {SHUFFLES} shuffled runs differ by its test",
    )


def halves_control(followed: FollowedChange, level: float) -> Control | None:
    """Return the control that compares every second source image with the others.

    It is None with too few. Halves are by rank: numbers of one image a prompt are all even.
    """
    halves: list[Estimate] = []
    for remainder in (0, 1):
        chosen = []
        for name in followed.between:
            changes = followed.by_group[name]
            half = changes.of_sources(np.argsort(changes.numbers)[remainder::2])
            # The halves share no source image, and so have strata of their own.
            chosen.append(replace(half, group=f"{name}, half {remainder}"))
        first, second = chosen
        difference = difference_of_changes(first, second, followed.possible, level)
        if difference.influence is None:
            return None
        halves.append(difference)
    even, odd = halves
    assert even.influence is not None and odd.influence is not None
    value = (even.value or 0.0) - (odd.value or 0.0)
    influence = Influence.combined([(1.0, even.influence), (-1.0, odd.influence)])
    inference = t_inference(value, influence, level)
    if inference.p is None:
        return None
    return of_halves(value, inference.p, interval=inference.interval or (None, None))
