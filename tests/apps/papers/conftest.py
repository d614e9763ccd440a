"""Exhibits of a run."""

from __future__ import annotations

from pathlib import Path

from t2ibench.apps.papers.exhibits import Exhibit
from t2ibench.apps.papers.paper import PAPERS
from t2ibench.apps.papers.reproduction import build
from t2ibench.results.files import read_results

FEW = ["--bootstrap", "50", "--permutations", "50", "--control-encoder", "none"]
SMALL = ["--model", "toyland", "--limit", "4", "--times", ".1"]


def exhibits(paper: str, run: Path) -> dict[str, Exhibit]:
    """The exhibits of a paper."""
    results = read_results(run).with_earlier()
    return {one.name: one for one in build(PAPERS.get(paper), results, run).exhibits}


def ours(one: Exhibit, score: str | None = None) -> dict[str, float | str | None]:
    """Our numbers: of a score by row, or all by 'row: score'."""
    if score is not None:
        return {line.row: line.ours for line in one.lines if line.score == score}
    return {f"{line.row}: {line.score}": line.ours for line in one.lines}
