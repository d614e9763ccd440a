"""What the exhibits of OpenBias have in common: biases by name, of one run or of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.reproduction.paper import Material
from t2ibench.reproduction.scores import score_line, value_of
from t2ibench.reproduction.second_run import second_run
from t2ibench.reproduction.tables import Line
from t2ibench.results.schema import Row, TaskResult

EXAMPLES, PROFESSIONS = "openbias_examples", "openbias_winobias"
METHOD = "openbias"
POOLS = {"coco": "openbias_coco", "flickr": "openbias_flickr30k"}  # by the option of a second run


@dataclass(frozen=True, slots=True)
class FoundBias:
    """A bias that was measured.

    Attributes:
        name: As the paper writes it, such as 'person gender'.
        task: The task that it is of.
        row: Its scores.
        detail: What the details say of it.
    """

    name: str
    task: TaskResult
    row: Row
    detail: Mapping[str, Any]

    def value(self, score: str) -> float | None:
        """A score."""
        return value_of(self.row, score)

    def line(self, name: str, score: str, published: tuple[Any, ...] = ()) -> Line:
        """A score with its interval, as a line."""
        return score_line(self.name, name, self.row.scores.get(score), 2, published)


def paper_name(name: str) -> str:
    """The name of a bias, in the paper's spelling.

    Examples:
        >>> paper_name("Train colour")
        'train color'
    """
    return name.lower().replace("colour", "color")


def biases_in(tasks: Iterable[TaskResult]) -> dict[str, FoundBias]:
    """The biases of tasks."""
    found: dict[str, FoundBias] = {}
    for task in tasks:
        rows = {row.name: row for row in task.by if "unknown_share" in row.scores or
                "severity" in row.scores}  # fmt: skip
        for detail in task.details.get("biases") or []:
            row = rows.get(detail["bias"])
            if row is not None:
                name = paper_name(detail["bias"])
                found.setdefault(name, FoundBias(name, task, row, detail))
    return found


def biases_of(material: Material, option: str | None) -> dict[str, FoundBias] | None:
    """The biases of a pool of captions."""
    if option is None:
        return biases_in([material.results[EXAMPLES]] if EXAMPLES in material.results else [])
    run = second_run(material, option)
    if run is None:
        own = own_pool(material, option)
        return None if own is None else biases_in([material.results[own]])
    tasks = [task for task in run.results.tasks.values() if task.method == METHOD]
    if not tasks:
        raise T2IBenchError(
            f"{material.options[option]} has no task of the method '{METHOD}'.",
            "`t2ibench propose openbias --captions …` writes one.",
        )
    return biases_in(tasks)


def own_pool(material: Material, option: str) -> str | None:
    """The run's own task of a pool of captions."""
    task = POOLS.get(option, "")
    return task if task in material.results else None


def has_pool(material: Material, option: str) -> bool:
    """Whether there are results of a pool of captions."""
    return option in material.options or own_pool(material, option) is not None


def pool_or_examples(material: Material, option: str) -> tuple[dict[str, FoundBias], bool]:
    """The biases of a pool, or of the paper's printed captions without one."""
    found = biases_of(material, option)
    if found is not None:
        return found, True
    return biases_of(material, None) or {}, False


def answers_of(material: Material, option: str | None, bias: str) -> dict[tuple[str, int], str]:
    """The judge's answers about a bias that are a class."""
    run = None if option is None else second_run(material, option)
    if run is None:
        own = None if option is None else own_pool(material, option)
        rows = material.samples(own or EXAMPLES)
    else:
        names = [name for name, task in run.results.tasks.items() if task.method == METHOD]
        rows = [row for name in names for row in run.samples(name)]
    return {
        (str(row["prompt"]), int(row["index"])): str(row["answer"])
        for row in rows
        if paper_name(str(row.get("bias", ""))) == bias and row.get("answer") != UNKNOWN
    }
