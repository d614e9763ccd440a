"""Appendix B of ViBEx: what the encoder finds where the answer is known."""

from __future__ import annotations

from t2ibench.reproduction.paper import Built, Material
from t2ibench.reproduction.papers.vibex_material import FIGURES, row_of
from t2ibench.reproduction.scores import score_line
from t2ibench.reproduction.second_run import task_of
from t2ibench.reproduction.tables import Line
from t2ibench.results.schema import TaskResult

_WITHOUT = (
    "The paper's numbers are of photographs: 50 of each anchor, chosen by hand from FairFace, "
    "evenly over gender (and age) where race is asked about. A run of such a folder with "
    "this preset is taken with `--with photographs=RUN`; without one, ours are of generated "
    "images alone."
)


def table_b(material: Material) -> Built:
    """D of a beard and of a person, of photographs and of generated images."""
    lines: list[Line] = []
    given = "photographs" in material.options
    for scenario, concept in (("gender", "beard"), ("race", "person")):
        task = FIGURES[scenario]
        row = f"{concept}, {scenario}"
        known = tuple(material.published(row, score) for score in ("D", "p"))
        photographs = task_of(material, "photographs", task) if given else None
        lines += _lines(row, "photographs", photographs, concept, known)
        lines += _lines(row, "generated", material.results.get(task), concept, ((), ()))
    return Built(lines, notes=[] if given else [_WITHOUT])


def _lines(
    row: str,
    kind: str,
    task: TaskResult | None,
    concept: str,
    known: tuple[tuple[float | str | None, ...], ...],
) -> list[Line]:
    found = row_of(task, concept, "forward")
    score = None if found is None else found.scores.get("D")
    p = None if score is None else score.p
    return [
        score_line(row, f"D, {kind}", score, 3, known[0]),
        Line(row, f"p, {kind}", p, known[1]),
    ]
