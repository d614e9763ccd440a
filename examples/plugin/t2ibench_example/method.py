"""A method: are the images of one prompt brighter than those of another?

This module is read to list methods and to check task files, so what computes scores (`score.py`)
is imported when it is first called.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from t2ibench.plugins import Finding, ImageTask, LazyModule, MainScore, Method, Text

if TYPE_CHECKING:
    from t2ibench.plugins import MethodResult
    from t2ibench_example import figure as showing
    from t2ibench_example import score as scoring
else:
    showing = LazyModule("t2ibench_example.figure")
    scoring = LazyModule("t2ibench_example.score")


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
    needs=scoring.needs,
    score=scoring.score,
    describe=describe,
    present=showing.present,
    main_score=MainScore("gap", "gap"),
    estimand="100 (P(bright | first) - P(bright | second)) points, from -100 to 100: how many more "
    "of 100 images of the first prompt are bright than of the second.",
)
