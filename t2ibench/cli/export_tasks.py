"""`t2ibench export-tasks DIR`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def run(arguments: argparse.Namespace) -> int:
    """Write tasks as a data set."""
    from t2ibench.reports.taskset import write_taskset
    from t2ibench.tasks.index import load_tasks

    def left_out(line: str) -> None:
        print(f"t2ibench: {line}", file=sys.stderr)

    include = arguments.include_path or ()
    tasks = load_tasks(arguments.tasks, include, on_left_out=left_out)
    target = Path(arguments.output)
    written = write_taskset(tasks, target)
    counts = ", ".join(f"{rows:,} {name}" for name, rows in written.items())
    print(f"{counts}: {target}")
    return 0
