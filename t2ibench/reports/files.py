"""The report files that every run writes next to its results.json."""

from __future__ import annotations

from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.reports.writers import WRITERS
from t2ibench.results.reading import read_results
from t2ibench.results.schema import Results
from t2ibench.store.files import write_text
from t2ibench.store.locks import locked

WRITTEN = ("md",)


def write_reports(results: Results, folder: Path) -> None:
    """Write results.md, of the results.json that is there now.

    Args:
        results: What results.json held; another process may have added to it since.
        folder: The run folder.
    """
    with locked(folder, "results"):
        try:
            latest = read_results(folder)
        except T2IBenchError:
            latest = results
        for name in WRITTEN:
            writer = WRITERS.get(name)
            write_text(folder / f"results.{writer.suffix}", writer.results(latest))
