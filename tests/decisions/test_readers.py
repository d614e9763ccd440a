"""Whether the readers of a task are those that were fixed, by what the task uses."""

from __future__ import annotations

import pytest

from t2ibench.decisions.readers import other_encoders, other_judges, same_judges
from t2ibench.results.schema import Score, TaskResult
from tests import hand
from tests.decisions.made import lean_task


def read_by(
    encoders: str = "", judges: str = "", *, only_checks: bool = False
) -> TaskResult:
    """A task with these encoders and judges, which may check its guided images alone."""
    settings = hand.settings(
        encoders=dict.fromkeys(encoders.split(), "e" * 64),
        judges=dict.fromkeys(judges.split(), "f" * 64),
    )
    task = lean_task(0.0, settings=settings)
    controls = {"obedience:gender": Score(value=1.0)} if only_checks else {}
    return task.model_copy(update={"controls": controls})


@pytest.mark.parametrize(
    ("task", "fixed", "is_other"),
    [
        (read_by("a:1 b:2"), ("b:2", "a:1"), False),
        (read_by("a:1"), ("a:1", "b:2"), True),
        (read_by("a:1 b:2"), ("a:1",), True),
        (read_by("a:1", "toyland", only_checks=True), ("a:1", "b:2"), True),
        # Word vectors embed no images.
        (read_by("a:1"), ("a:1", "vectors:glove.txt"), False),
        # Judges answer, and at most one encoder reads the images.
        (read_by("", "toyland"), ("a:1",), False),
        (read_by("a:1", "toyland"), ("a:1", "b:2"), False),
        (read_by("c:3", "toyland"), ("a:1",), True),
    ],
)
def test_encoders(task: TaskResult, fixed: tuple[str, ...], is_other: bool) -> None:
    assert other_encoders(task, fixed) is is_other


@pytest.mark.parametrize(
    ("task", "fixed", "is_other"),
    [
        (read_by("", "a:1 b:2"), ("b:2", "a:1"), False),
        (read_by("", "a:1"), ("a:1", "b:2"), True),
        (read_by("", "a:1 b:2"), ("a:1",), True),
        # Encoders score it, and the first judge checks the guided images, if there are any.
        (read_by("a:1"), ("toyland",), False),
        (read_by("a:1", "toyland", only_checks=True), ("toyland", "b:2"), False),
        (read_by("a:1", "b:2", only_checks=True), ("toyland",), True),
    ],
)
def test_judges(task: TaskResult, fixed: tuple[str, ...], is_other: bool) -> None:
    assert other_judges(task, fixed) is is_other


def test_judges_have_another_name_in_results_than_users_give_them() -> None:
    vlm, clip = "vlm:Qwen/Qwen3-VL-4B-Instruct", "clip:toy-clip"
    for used, fixed in (
        ([vlm], ["qwen3-vl-4b"]),
        (["answers by anna"], ["answers:a/people.csv,by=anna"]),
        (["answers:people.csv"], ["answers:a/people.csv"]),
        ([clip], ["clip"]),
        (["answers by anna", clip], ["clip", "answers by anna"]),
    ):
        assert same_judges(used, fixed), (used, fixed)
    assert not same_judges(["answers by ben"], ["answers:people.csv,by=anna"])
    assert not same_judges([vlm], ["clip"])
