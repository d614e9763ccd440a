"""A method: are the images of one prompt brighter than those of another?

This module is read to list methods and to check task files, so it imports what computes scores
lazily (`score.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from t2ibench.methods import MainScore, Method
from t2ibench.methods.core.checks import Finding
from t2ibench.methods.core.schema import ImageTask, Text
from t2ibench.registry import lazy

if TYPE_CHECKING:
    from t2ibench.methods.core.estimate import MethodResult


class ToneTask(ImageTask):
    """A task file of the method `tone`. Unknown keys are errors, told with their lines.

    Attributes:
        first: The prompt whose images are asked about.
        second: The prompt they are compared with.
    """

    method: Literal["tone"]
    first: Text
    second: Text


def check(task: ToneTask) -> Iterator[Finding]:
    """What is wrong with a task that its schema cannot say."""
    if task.first == task.second:
        yield Finding(("second",), "is the same prompt as 'first'")


def describe(task: ToneTask, result: MethodResult) -> str:
    """The result as a plain sentence; it claims a direction only where the test shows one."""
    gap = result.headline
    if gap.value is None:
        return f"No score: {result.reason or gap.reason}."
    if gap.p is None or gap.p >= 0.05:
        return f"No difference in brightness beyond chance from '{task.second}'."
    word = "brighter" if gap.value > 0 else "darker"
    return f"Images of '{task.first}' are {word} than those of '{task.second}'."


METHOD = Method(
    title="Tone",
    Task=ToneTask,
    check=check,
    needs=lazy("t2ibench_example.score:needs"),
    score=lazy("t2ibench_example.score:score"),
    describe=describe,
    main_score=MainScore("gap", "gap"),
    estimand="L = P(bright | first) - P(bright | second), from -1 to 1: how much more often images "
    "of the first prompt are bright than those of the second.",
)
