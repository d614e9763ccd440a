"""Runs made by hand for tests of formats: a lean, a mean square, and tests that decide nothing."""

from __future__ import annotations

from t2ibench.results.schema import GeneratorInfo, Results
from tests import hand

NASTY = "<b>|`x`|</b> \\ {y} & 5 % $z$ @misc{a, #\u202e"


def several_tests(title: str = "a title") -> Results:
    """A run with a clear lean to the low side, a mean square, a contradicted test and a control."""
    lean = {"a nurse": [-1.0, -1.0, -1.0, -0.9] * 4, "a chef": [-1.0, -0.9, -1.0] * 4}
    tasks = {
        "lean": hand.record(hand.mean_lean(lean)),
        "square": hand.record(hand.mean_square(lean)),
        "undecided": hand.record(
            hand.mean_lean(lean), inconclusive="its halves differ"
        ),
        "control": hand.record(hand.mean_lean(lean), positive_control=True),
    }
    for task in tasks.values():
        task.title = title
    return hand.results(**tasks)


def renamed(results: Results, name: str) -> Results:
    """The same of a model of another name."""
    return results.model_copy(update={"model": GeneratorInfo(name=name)})
