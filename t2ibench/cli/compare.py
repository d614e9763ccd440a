"""`t2ibench compare RUN_A RUN_B`."""

from __future__ import annotations

import argparse
from pathlib import Path


def run(arguments: argparse.Namespace) -> int:
    """Print the differences of two runs."""
    from tabulate import tabulate

    from t2ibench.errors import T2IBenchError
    from t2ibench.reports.markdown import interval, number
    from t2ibench.results.compare import compare
    from t2ibench.results.schema import Score, read_results

    first, second = (read_results(Path(path)) for path in (arguments.first, arguments.second))
    rows = [
        [
            one.task,
            f"{one.row}: {one.name}" if one.row else "headline",
            f"{number(one.first.value)} {interval(one.first)}",
            f"{number(one.second.value)} {interval(one.second)}",
            number(one.value),
            interval(Score(ci_low=one.low, ci_high=one.high)),
            one.note,
        ]
        for one in compare(first, second)
        if not one.row or (arguments.rows and one.value is not None)
    ]
    if first.limited or second.limited:
        print("Made with --limit: a try, not a result to report.\n")
    if not rows:
        raise T2IBenchError("The two runs have no task in common.", "Run both on the same tasks.")
    names = [first.model.name or "first", second.model.name or "second"]
    if len(set(names)) == 1:
        names = [str(arguments.first), str(arguments.second)]
    headers = ["Task", "Row", *names, "Difference", "95 % CI", "Note"]
    formats = {"md": "github", "latex": "latex_booktabs", "csv": "tsv"}
    print(tabulate(rows, headers, tablefmt=formats[arguments.format], disable_numparse=True))
    print(
        "\nAn interval without 0 is a difference beyond chance, one task at a time; for a model "
        "beside its training pictures a positive difference is amplification."
    )
    return 0
