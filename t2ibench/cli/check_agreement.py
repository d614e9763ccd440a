"""`t2ibench check agreement RUN…`: do the methods agree?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.results.method_agreement import Measure


def run(arguments: argparse.Namespace) -> int:
    """Print how far methods, encoders, judges or people agree on the same items."""
    from t2ibench.reports.files import task_files
    from t2ibench.reports.method_agreement import agreement_table
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.files import read_results
    from t2ibench.results.method_agreement import NOTHING, agreements, measures
    from t2ibench.results.paired import read_paired

    WRITERS.get(arguments.format)  # before any file is read
    found: list[Measure] = []
    models: dict[str | None, Path] = {}
    for path in map(Path, arguments.runs):
        results = read_results(path)
        models.setdefault(results.model.fingerprint, path)
        found += measures(results, task_files(results, path), read_paired(path))
    if len(models) > 1:
        first, second, *_ = models.values()
        raise T2IBenchError(
            f"{first} and {second} are of different images.",
            "Give runs of one model, read in several ways; `t2ibench compare` is for two models.",
        )
    pairs = agreements(found)
    print(render(arguments.format, agreement_table(pairs)) if pairs else f"{NOTHING}\n", end="")
    return 0
