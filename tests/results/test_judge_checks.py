"""Whether people checked the judge, beside every judged result."""

from __future__ import annotations

from typing import Any

import pytest

from t2ibench.results.judge_checks import judges_said
from t2ibench.results.schema import Row, Score, TaskResult
from tests import hand

CHECK = {"bias": "person gender", "verdict": "use corrected", "reason": "it errs", "images": 268}


def result(judges: list[str], labels: int = 0, **details: Any) -> TaskResult:
    settings = hand.settings(judges=dict.fromkeys(judges, "0" * 64))
    by = [Row(name="person gender", scores={"n_labels": Score(value=float(labels))})]
    return hand.task("openbias", by=by, settings=settings, details=details)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (result([]), ""),
        (result(["clip"]), "clip, unchecked by people: its mistakes"),
        (result(["clip", "vlm"]), "clip and vlm, unchecked by people: their mistakes"),
        (result(["clip"], labels=40), "checked by people on these images: 40 labels"),
        (result(["clip"], judge_checks=[CHECK]), "268 labelled images: corrected by its errors"),
        (result(["clip"], judge_checks=[{**CHECK, "verdict": "do not use"}]), "use (it errs)"),
        (result(["clip"], judge_checks=[CHECK], biases=[{"bias": "age"}]), "unchecked about age"),
        (result(["answers by anna"]), "Answered by anna; nobody else checked"),
        (result(["labels by anna"]), "Answered by anna; nobody else checked"),
        (result(["answers:people.csv"]), "by=NAME says who answered"),
    ],
)
def test_what_is_said_of_a_judge(task: TaskResult, said: str) -> None:
    assert said in judges_said(task) and bool(said) == bool(judges_said(task))
