"""Score simulated worlds of known bias with every method, and check that the numbers hold.

Checked is how often tests reject without bias, how often intervals cover the truth, and that the
headline is unbiased at any number of images. The same seed gives the same table.

python -m tools.calibration --quick                           # a few cells of every method
python -m tools.calibration --family openbias --sets 500      # one method
python -m tools.calibration --toyland                         # toyland's own images; slow
python -m tools.calibration --output docs/calibration.md      # the full table
python -m tools.calibration.runs                              # whole runs: do they cry wolf?

It ends with 1 where a cell lies outside of its bands.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from t2ibench.cli.usage import not_negative, positive
from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.progress import ConsoleReporter
from tools.calibration.families import FAMILIES, Families, choose
from tools.calibration.kept import KeptChunks, code_sha256
from tools.calibration.simulate import simulate
from tools.calibration.table import markdown
from tools.calibration.verdicts import verdicts


def main(argv: Sequence[str] | None = None, families: Families = FAMILIES) -> int:
    """Simulate, print the table, and say what does not hold."""
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(words)
    try:
        return _calibrate(arguments, shlex.join(_without_folder(words)), families)
    except (T2IBenchError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _without_folder(words: Sequence[str]) -> list[str]:
    """Return a command line without --keep, which changes nothing of the table."""
    shown = []
    left = iter(words)
    for word in left:
        if word == "--keep":
            next(left, None)
        elif not word.startswith("--keep="):
            shown.append(word)
    return shown


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.calibration",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--quick", action="store_true", help="a few cells, few data sets each")
    add(
        "--toyland",
        action="store_true",
        help="the cells on toyland's own images, which are slow",
    )
    add("--family", metavar="M,…", default="", help="methods (see t2ibench ls methods)")
    add(
        "--cell", metavar="TEXT", default="", help="only cells whose name contains this"
    )
    add(
        "--sets",
        metavar="N",
        type=positive,
        help="data sets of a cell (2000; quick: 150)",
    )
    add("--workers", metavar="N", type=positive, help="processes (as many as cores)")
    add("--seed", metavar="N", type=not_negative, default=0, help="of the worlds (0)")
    add(
        "--keep",
        metavar="FOLDER",
        type=Path,
        help="keep data sets there, and go on with those of the same code",
    )
    add("--output", metavar="FILE", type=Path, help="write the table as Markdown")
    return parser


def _calibrate(arguments: argparse.Namespace, words: str, families: Families) -> int:
    jobs = choose(
        [name.strip() for name in arguments.family.split(",") if name.strip()],
        quick=arguments.quick,
        toyland=arguments.toyland,
        sets=arguments.sets,
        containing=arguments.cell,
        families=families,
    )
    output: Path | None = arguments.output
    if output is not None and not output.resolve().parent.is_dir():
        raise T2IBenchError(
            f"There is no folder '{output.parent}' to write {output.name} to."
        )
    reporter = ConsoleReporter()
    code = code_sha256()
    kept = None if arguments.keep is None else KeptChunks(arguments.keep, code)
    total = sum(job.sets for job in jobs)
    with reporter.stage(f"Simulating {len(jobs)} cells", total, "data sets") as ticker:
        tables = simulate(jobs, arguments.seed, arguments.workers, ticker.advance, kept)
    found = verdicts(jobs, tables)
    page = markdown(found, f"python -m tools.calibration {words}".rstrip(), code)
    if output is None:
        print(page, end="")
    else:
        output.write_text(page, encoding="utf-8")
        reporter.say(f"Table: {output}")
    for line in (line for verdict in found for line in verdict.problems):
        reporter.warn(line)
    failed = sum(bool(verdict.problems) for verdict in found)
    reporter.say(f"{len(found)} cells: {len(found) - failed} hold, {failed} do not.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
