"""Whether people checked the judge, beside every judged result."""

from __future__ import annotations

from typing import Any

import pytest

from t2ibench.results.judge_checks import judges_said
from t2ibench.results.schema import Headline, Row, Score, TaskResult, TaskSettings

CHECK = {"bias": "person gender", "verdict": "use corrected", "reason": "it errs", "images": 268}


def result(judges: list[str], labels: int = 0, **details: Any) -> TaskResult:
    settings = TaskSettings(encoders={}, judges=dict.fromkeys(judges, "0" * 64))
    scores = {"n_labels": Score(value=float(labels))} if labels else {}
    return TaskResult(
        version=1,
        method="openbias",
        task_hash="0" * 64,
        family="openbias",
        title="T",
        headline=Headline(),
        by=[Row(name="person gender", scores=scores)],
        settings=settings,
        details=details,
    )


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (result([]), ""),
        (result(["clip"]), "clip, unchecked by people: its mistakes"),
        (result(["clip", "vlm"]), "clip and vlm, unchecked by people: their mistakes"),
        (result(["clip"], labels=40), "checked by people on these images: 40 labels"),
        (result(["clip"], judge_checks=[CHECK]), "268 labelled images: corrected by its errors"),
        (
            result(["clip"], judge_checks=[{**CHECK, "verdict": "do not use"}]),
            "268 labelled images: do not use (it errs)",
        ),
        (
            result(["clip"], judge_checks=[CHECK], biases=[{"bias": "person age"}]),
            "unchecked about person age",
        ),
        (result(["answers by anna"]), "Answered by anna; nobody else checked"),
        (result(["labels by anna"]), "Answered by anna; nobody else checked"),
        (result(["answers:people.csv"]), "by=NAME says who answered"),
    ],
)
def test_what_is_said_of_a_judge(task: TaskResult, said: str) -> None:
    assert said in judges_said(task) and bool(said) == bool(judges_said(task))
