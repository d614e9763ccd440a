"""`t2ibench compare RUN_A RUN_B`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

_NOTE = (
    "An interval without 0 is a difference beyond chance, one task at a time; for a model beside "
    "its training images a positive difference is amplification."
)


def run(arguments: argparse.Namespace) -> int:
    """Print the differences of two runs.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status.

    Raises:
        T2IBenchError: the runs have no task in common.
    """
    from t2ibench.errors import T2IBenchError
    from t2ibench.reports.markdown import interval, number
    from t2ibench.reports.writers import WRITERS, Table, render
    from t2ibench.results.compare import compare
    from t2ibench.results.schema import Score, read_results

    WRITERS.get(arguments.format)  # before any file is read
    first, second = (read_results(Path(path)) for path in (arguments.first, arguments.second))
    rows = [
        [
            difference.task,
            f"{difference.row}: {difference.name}" if difference.row else "headline",
            f"{number(difference.first.value)} {interval(difference.first)}",
            f"{number(difference.second.value)} {interval(difference.second)}",
            number(difference.value),
            interval(Score(ci_low=difference.low, ci_high=difference.high)),
            difference.note,
        ]
        for difference in compare(first, second)
        if not difference.row or (arguments.rows and difference.value is not None)
    ]
    if first.limited or second.limited:
        print("Made with --limit; not a result to report.", file=sys.stderr)
    if not rows:
        raise T2IBenchError("The two runs have no task in common.", "Run both on the same tasks.")
    names = [first.model.name or "first", second.model.name or "second"]
    if len(set(names)) == 1:
        names = [str(arguments.first), str(arguments.second)]
    headers = ["Task", "Row", *names, "Difference", "95 % CI", "Note"]
    print(render(arguments.format, Table(headers, rows, [_NOTE])), end="")
    return 0
