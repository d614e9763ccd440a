"""What the exhibits of TIBET have in common: rows, concepts, and the run beside the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.concepts import words_of
from t2ibench.methods.tibet.schema import TibetTask
from t2ibench.reproduction.paper import Material
from t2ibench.reproduction.second_run import second_run
from t2ibench.results.schema import Row, TaskResult

OCCUPATIONS, PLACES, TABLE_5 = "tibet_occupations", "tibet_intersections", "tibet_table5"
_AFTER = "after"  # option that names the run of the mitigated model
_MEN, _WOMEN = {"male", "man", "men", "boy"}, {"female", "woman", "women", "girl"}


def row_of(task: TaskResult, prompt: str, axis: str) -> Row | None:
    """The row of a prompt and axis."""
    return next((row for row in task.by if row.name == f"{prompt} | {axis}"), None)


def spec_of(material: Material, task: str) -> TibetTask | None:
    """The task that was run."""
    spec = material.specs.get(task)
    return spec if isinstance(spec, TibetTask) else None


def place_of(material: Material, task: str, prompt: str) -> Mapping[str, Any] | None:
    """The concepts of a prompt, its axes and counterfactuals."""
    found = material.results.get(task)
    entries = [] if found is None else found.details.get("prompts") or []
    return next((entry for entry in entries if entry["prompt"] == prompt), None)


def after_of(material: Material, task: str) -> TaskResult | None:
    """The task in the run of the mitigated model."""
    run = second_run(material, _AFTER)
    if run is None:
        return None
    found = run.task(material.ran[task], task)
    if found is None:
        raise T2IBenchError(
            f"{material.options[_AFTER]} has no task '{material.ran[task]}'.",
            "Measure it with the same preset: `t2ibench run --preset tibet --model …`.",
        )
    return found


def samples_after(material: Material, task: str) -> Sequence[Mapping[str, Any]]:
    """The samples of a task in the run of the mitigated model."""
    run = second_run(material, _AFTER)
    return () if run is None else run.samples(material.ran[task], task)


def occupation(row: str) -> str:
    """The occupation of a row of results.

    Examples:
        >>> occupation("A photo of an architect | gender")
        'architect'
    """
    return row.partition(" | ")[0].partition(" of ")[2].partition(" ")[2]


def gender_of(answer: str) -> int:
    """The one gender that an answer names.

    Examples:
        >>> [gender_of(answer) for answer in ("Male.", "a woman", "other", "a man and a woman")]
        [1, -1, 0, 0]
    """
    words = set(words_of(answer))
    return int(bool(words & _MEN)) - int(bool(words & _WOMEN))
