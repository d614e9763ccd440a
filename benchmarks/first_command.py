"""Where the time of a first command goes, stage by stage.

    python benchmarks/first_command.py                      # t2ibench --model toy --tasks all
    python benchmarks/first_command.py --cores 2
    python benchmarks/first_command.py -- --model toy --tasks core_occupations_age --limit 3

The command runs in this process, with its workers in others, and writes into a temporary folder.
Each line has a stage's seconds on the clock, and the processor seconds of this process, which leads
the run, and of its workers. 'start of workers' ends when the first image is stored. Linux only.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from timing import write

COMMAND = ["--model", "toy", "--tasks", "all"]
BEGAN = time.perf_counter()
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cores", type=int, help="use so many; all by default")
    parser.add_argument("--json", type=Path)
    parser.add_argument("command", nargs="*", default=COMMAND, help="flags of t2ibench")
    args = parser.parse_args()
    if args.cores is not None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.cores])
    stages = Stages()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        status = measured(stages, [*args.command, "--output-dir", folder])
    print(f"{len(os.sched_getaffinity(0))} cores, exit status {status}")
    print(f"{'stage':24}{'clock':>8}{'leader':>8}{'workers':>9}")
    for row in stages.rows:
        print(f"{row.stage:24}{row.clock:8.1f}{row.leader:8.1f}{row.workers:9.1f}")
    write(args.json, [row._asdict() for row in stages.rows])
    return status


class Row(NamedTuple):
    """Seconds of one stage: on the clock, and of the processor by the leader and the others."""

    stage: str
    clock: float
    leader: float
    workers: float


class Stages:
    """The stages of a command so far: each lasts until the next begins."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self._first = self._last = Row("imports", BEGAN, 0.0, 0.0)

    def begin(self, stage: str) -> None:
        """End the stage that lasts, and begin another."""
        now = Row(stage, time.perf_counter(), time.process_time(), of_others())
        self._add(self._last, now)
        self._last = now

    def end(self) -> None:
        """End the last stage, and add the sum."""
        self.begin("end")
        self._add(self._first._replace(stage="all"), self._last)

    def _add(self, before: Row, after: Row) -> None:
        spent = (b - a for a, b in zip(before[1:], after[1:], strict=True))
        self.rows.append(Row(before.stage, *spent))


def measured(stages: Stages, words: list[str]) -> int:
    """Run the command, and note when each of its stages begins."""
    from t2ibench import cli
    from t2ibench.pipeline import preparation, run
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.reports import files

    def before(module: Any, name: str, stage: str) -> None:
        call: Callable[..., Any] = getattr(module, name)

        def noted(*args: Any, **options: Any) -> Any:
            stages.begin(stage)
            return call(*args, **options)

        setattr(module, name, noted)

    before(preparation, "prepare", "plan")
    before(run, "executor_of", "start of workers")
    before(run, "score_stored", "opening evidence")
    before(files, "write_reports", "report")
    stage_of_reporter = ConsoleReporter.stage

    @contextmanager
    def noted_stage(
        self: ConsoleReporter, name: str, total: int, unit: str
    ) -> Iterator[Any]:
        with stage_of_reporter(self, name, total, unit) as ticker:
            if name != "Generating images":
                stages.begin(name)
                yield ticker
            else:
                yield FirstTold(ticker, lambda: stages.begin(name))

    ConsoleReporter.stage = noted_stage  # type: ignore[method-assign]
    status = cli.main(words)
    stages.end()
    return status


class FirstTold:
    """A ticker that tells when it first advances."""

    def __init__(self, ticker: Any, tell: Callable[[], None]) -> None:
        self._ticker = ticker
        self._tell: Callable[[], None] | None = tell

    def advance(self, count: int) -> None:
        if self._tell is not None:
            self._tell()
            self._tell = None
        self._ticker.advance(count)


def of_others() -> float:
    """Processor seconds of all processes that this one has started, and of those of theirs."""
    ended = os.times()
    ticks = 0
    parents: dict[int, int] = {}
    times: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = file.read_text().rsplit(")", 1)[1].split()
        except OSError:  # it has just ended
            continue
        number = int(file.parent.name)
        parents[number] = int(fields[1])
        times[number] = sum(map(int, fields[11:15]))  # with those of its ended children
    for number, spent in times.items():
        above = parents[number]
        while above in parents and above != os.getpid():
            above = parents[above]
        if above == os.getpid():
            ticks += spent
    return ticks / _TICKS + ended.children_user + ended.children_system


if __name__ == "__main__":
    sys.exit(main())
