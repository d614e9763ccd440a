"""The report files that every run writes next to its results.json."""

from __future__ import annotations

from pathlib import Path

from t2ibench.reports.writers import WRITERS
from t2ibench.results.schema import Results
from t2ibench.store.files import write_text

WRITTEN = ("md",)


def write_reports(results: Results, folder: Path) -> None:
    """Write results.md.

    Args:
        results: What results.json holds.
        folder: The run folder.
    """
    for name in WRITTEN:
        writer = WRITERS.get(name)
        write_text(folder / f"results.{writer.suffix}", writer.results(results))
