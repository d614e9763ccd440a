"""Profiles and runs made by hand, for tests of decisions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from t2ibench.decisions.decision import Decision, decide
from t2ibench.decisions.profile import Profile
from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns
from t2ibench.results.schema import Results, Row, TaskResult
from tests import hand

TASK = "t2iat_one"
REASON = "the share that our editors correct by hand within an hour"


def scenario(**changes: Any) -> dict[str, Any]:
    """A scenario about the headline of one task."""
    blank: dict[str, Any] = {
        "name": "jobs",
        "at_risk": "women at work",
        "hazard": "women are shown in few occupations",
        "measurement": {"task": TASK, "statistic": "headline"},
        "accept": 0.4,
        "reason": REASON,
    }
    given = {**blank, **changes}
    return {name: value for name, value in given.items() if value is not None}


def profile(*scenarios: dict[str, Any]) -> Profile:
    return Profile.model_validate(
        {"title": "a gate", "scenarios": list(scenarios or [scenario()])}
    )


def images(lean: float, count: int = 200) -> npt.NDArray[np.float64]:
    """Images that are all on one side or the other, in exactly these shares."""
    positive = round(count * (1 + lean) / 2)
    return np.repeat([1.0, -1.0], [positive, count - positive])


def lean_task(lean: float, count: int = 200, **changes: Any) -> TaskResult:
    """A signed headline of two prompts of this lean, with a row for each."""
    result = hand.mean_lean({"x": images(lean, count), "y": images(lean, count)})
    task = hand.record(result, **changes)
    rows = [row.model_copy(update={"n_images": count}) for row in task.by]
    return task.model_copy(update={"by": rows})


def square_task(lean: float, count: int = 200, **changes: Any) -> TaskResult:
    """A mean square of eight prompts of this lean, of either sign."""
    leans = {
        f"row{number}": images(lean * (-1) ** number, count) for number in range(8)
    }
    return hand.record(hand.mean_square(leans), **changes)


def counted_task(counts: dict[str, dict[str, int]], unanswered: int = 0) -> TaskResult:
    """A task whose rows are counts of answers."""
    rows = [
        {
            "name": name,
            "counts": answers,
            "unanswered": unanswered,
            "known": {"female": 0.3},
        }
        for name, answers in counts.items()
    ]
    classes = list(next(iter(counts.values())))
    table = {
        "attribute": "person gender",
        "classes": classes,
        "rows": rows,
        "references": {"female": "labour statistics"},
        "test": "",
        "estimated": False,
    }
    return square_task(0.1).model_copy(
        update={
            "details": {"answers_by_prompt": [table]},
            "by": [Row(name=name, scores={}) for name in counts],
        }
    )


def results(**tasks: TaskResult) -> Results:
    return hand.results(**tasks)


def decided(
    given: Profile,
    tasks: dict[str, TaskResult] | Results,
    older: MeasuredRun | None = None,
    **more: Any,
) -> Decision:
    """The decision about a run in memory."""
    run = tasks if isinstance(tasks, Results) else results(**tasks)
    return decide(given, MeasuredRun(None, run), ReferenceRuns(Path()), older, **more)
