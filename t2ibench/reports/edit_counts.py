"""How many edits of how many source images results are about."""

from __future__ import annotations

from collections.abc import Iterable

from t2ibench.methods.core.edit_report import edit_report
from t2ibench.results.schema import TaskResult


def edits_counted(results: Iterable[TaskResult]) -> str:
    """Return how many edits of how many source images tests are about; "" if any has none.

    Examples:
        >>> edits_counted([])
        ''
    """
    reports = [edit_report(result.details) for result in results]
    present = [report for report in reports if report is not None]
    if not present or len(present) < len(reports):
        return ""
    n_edits = sum(report.n_edits for report in present)
    n_sources = sum(report.n_sources for report in present)
    edits = "edit" if n_edits == 1 else "edits"
    images = "source image" if n_sources == 1 else "source images"
    return f"{n_edits:,} {edits} of {n_sources:,} {images}"


def prompts_given(result: TaskResult) -> int:
    """Return how many prompts a test gave a model without a source image.

    The number of prompts of a test about edits is that of its instructions, each of which goes to
    the model with every source image.
    """
    return 0 if edit_report(result.details) else result.n_prompts
