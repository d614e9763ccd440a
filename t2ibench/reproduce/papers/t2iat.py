"""Wang et al. (2023): T2IAT."""

from __future__ import annotations

from t2ibench.reproduce.paper import Built, Material, read_paper
from t2ibench.reproduce.tables import Line

_SCORES = ("S", "p", "d")


def table_1(material: Material) -> Built:
    """Eight association tests: S, p and d, with the project's own headline below.

    Args:
        material: The eight tasks; published values are those of the task files.

    Returns:
        Four lines a test.
    """
    lines = []
    for name in material.exhibit.tasks:
        task = material.results.get(name)
        row = name if task is None else _title(task.title)
        known = {} if task is None else _published(task.published, material.exhibit.models)
        p = None if task is None or "S" not in task.scores else task.scores["S"].p
        ours = {"S": material.score(name, "S"), "p": p, "d": material.score(name, "d")}
        note = "not measured" if task is None else task.reason or ""
        lines += [
            Line(row, score, ours[score], known.get(score, (None,)), digits=3, note=note)
            for score in _SCORES
        ]
        if task is not None:
            head = task.headline
            lines.append(
                Line(row, "lean", head.value, (), head.ci_low, head.ci_high, note=_why(task))
            )
    return Built(lines)


def _why(task: object) -> str:
    return str(getattr(task, "inconclusive", None) or getattr(task, "reason", None) or "")


def _title(title: str) -> str:
    return title.removeprefix("T2IAT: ").removesuffix(" (as published)")


def _published(
    blocks: list[dict[str, object]], models: tuple[str, ...]
) -> dict[str, tuple[float | None, ...]]:
    """Score to published values, one a model, from the `published` blocks of a task file."""
    tables = {str(block["model"]): block["scores"] for block in blocks}
    found: dict[str, tuple[float | None, ...]] = {}
    for score in _SCORES:
        found[score] = tuple(tables.get(model, {}).get(score) for model in models)  # type: ignore[attr-defined]
    return found


PAPER = read_paper("t2iat", {"table-1": table_1})
