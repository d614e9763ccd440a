"""`t2ibench calibrate`."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from t2ibench.errors import T2IBenchError


def run(arguments: argparse.Namespace) -> int:
    """Simulate worlds of known bias, and check that the numbers hold."""
    from t2ibench.calibration.cells import choose
    from t2ibench.calibration.simulate import simulate
    from t2ibench.calibration.table import as_json, markdown
    from t2ibench.calibration.verdicts import verdicts
    from t2ibench.pipeline.progress import ConsoleReporter

    families = [name.strip() for name in arguments.family.split(",") if name.strip()]
    jobs = choose(
        families,
        quick=arguments.quick,
        toyland=arguments.toyland,
        sets=arguments.sets,
        containing=arguments.cell,
    )
    output = Path(arguments.output) if arguments.output else None
    if output is not None and not output.resolve().parent.is_dir():
        raise T2IBenchError(f"There is no folder '{output.parent}' to write {output.name} to.")
    reporter = ConsoleReporter()
    total = sum(job.sets for job in jobs)
    with reporter.stage(f"Simulating {len(jobs)} cells", total, "data sets") as ticker:
        tables = simulate(jobs, arguments.seed, arguments.workers, ticker.advance)
    found, command = verdicts(jobs, tables), shlex.join(arguments.argv)
    page = markdown(found, command)
    if output is not None:
        output.write_text(page, encoding="utf-8")
        reporter.say(f"Table: {output}")
    if arguments.json:
        print(json.dumps(as_json(found, command), indent=1, ensure_ascii=False))
    elif output is None:
        print(page, end="")
    problems = [line for verdict in found for line in verdict.problems]
    for line in problems:
        reporter.warn(line)
    failed = sum(bool(verdict.problems) for verdict in found)
    reporter.say(f"{len(found)} cells: {len(found) - failed} hold, {failed} do not.")
    return 1 if failed else 0
