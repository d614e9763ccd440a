"""The executor `slurm`: an array job whose tasks share the run, and a job that scores it.

Every task is a run of its own on the same folder: they share the work through its claims, so any of
them may start late, be requeued or never run, and more may be submitted. Before its time is over a
task stops after its batch and puts itself back into the queue. The last job scores what is there.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field

from t2ibench.arguments import Arguments, PositiveInt, read_args
from t2ibench.errors import T2IBenchError, shown
from t2ibench.pipeline.captions import keep
from t2ibench.pipeline.prepare import Prepared
from t2ibench.settings import RunSettings
from t2ibench.store.files import write_text

WORKERS = 4
_LIMIT = 120  # seconds that sbatch may take

_ARRAY = """#!/bin/bash
#SBATCH --job-name=t2ibench
#SBATCH --array=1-{workers}
#SBATCH --output="{output}/%A_%a.log"
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:USR1@{warning}
{options}
# {what}
# Stops cleanly after the current batch on SIGTERM, and {warning} s before its time is over; then it
# puts itself back into the queue. May be submitted again at any time, also beside itself.
export OMP_NUM_THREADS="${{SLURM_CPUS_PER_TASK:-1}}"
cd {cwd} || exit 1
{setup}
{command} &
child=$!
requeue=no
trap 'requeue=yes; kill -TERM "$child"' USR1
trap 'kill -TERM "$child"' TERM INT
while true; do
  wait "$child"
  status=$?
  kill -0 "$child" 2>/dev/null || break # else a signal has ended the wait, not the run
done
wait "$child" 2>/dev/null
last=$?
[ "$last" = 127 ] || status=$last
restarts="${{SLURM_RESTART_COUNT:-0}}"
if [ "$requeue" = yes ] && [ "$status" = 130 ] && [ "$restarts" -lt {requeues} ]; then
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"
fi
exit "$status"
"""
_SCORE = """#!/bin/bash
#SBATCH --job-name=t2ibench-score
#SBATCH --output="{output}/score_%j.log"
{options}
cd {cwd} || exit 1
{setup}
exec {command}
"""
_SUBMIT = """#!/bin/bash
set -e
array=$(sbatch --parsable {array})
echo "array job ${{array%%;*}}"
{score}
"""
_SCORING = """score=$(sbatch --parsable --dependency="afterany:${{array%%;*}}" {script})
echo "score job ${{score%%;*}}, when all tasks of the array have ended"
"""


class Args(Arguments):
    """What --engine-args takes; most of it is sbatch's.

    Attributes:
        time: Limit of a task, as Slurm writes it.
        partition: Where it runs.
        account: Who pays.
        gpus: Of a task, as --gpus takes it; a task runs one process a GPU.
        cpus: Of a task.
        mem: Memory of a task.
        options: Further flags of sbatch, as on its command line.
        setup: A line of shell before t2ibench, such as 'module load cuda'.
        warning: Seconds before its time is over that a task stops: longer than a batch takes.
        requeues: How often a task puts itself back into the queue at most.
        submit: Whether to submit at once.
    """

    time: str | None = None
    partition: str | None = None
    account: str | None = None
    gpus: str | None = None
    cpus: PositiveInt | None = None
    mem: str | None = None
    options: str = ""
    setup: str = ""
    warning: PositiveInt = 120
    requeues: Annotated[int, Field(ge=0)] = 50
    submit: bool = False


class SlurmExecutor:
    """Writes and submits jobs (see pipeline.executors.Submits)."""

    description = "an array job of Slurm, written or submitted; a last job scores"

    def check(self, workers: int | None, args: Mapping[str, str]) -> None:
        """Check arguments (see pipeline.executors.TakesArguments)."""
        read = _read(args)
        for name, text in args.items():
            if "\n" in text or "\r" in text:
                raise T2IBenchError(f"--engine-args {name}: expected one line.")
        _words(read.options)
        if read.submit and shutil.which("sbatch") is None:
            raise T2IBenchError(
                "--engine-args submit=yes needs sbatch, which is not on this machine.",
                "Leave submit out, and run the script that is written on a login node.",
            )

    def submit(self, prepared: Prepared) -> list[str]:
        """Write the scripts, and submit them where that was asked for."""
        if prepared.objects:
            raise T2IBenchError(
                "The engine slurm runs later, in other processes: it takes no Python objects.",
                "Name models as package.module:factory.",
            )
        settings, args = prepared.settings, _read(prepared.settings.engine_args)
        count = settings.workers or WORKERS
        config = yaml.safe_dump(_config(settings), allow_unicode=True, sort_keys=True)
        digest = hashlib.sha256(f"{config}{args!r}{count}".encode()).hexdigest()[:8]
        folder = (prepared.folder.path / "slurm" / digest).resolve()
        write_text(folder / "run.yaml", config)
        keep(prepared.plan.tasks, prepared.folder.path)
        self._write(folder, prepared, args, count)
        script = folder / "submit.sh"
        if not args.submit:
            return [f"Written: {count} tasks and a job that scores.", f"Submit: bash {script}"]
        return [*_submitted(script), f"Logs: {folder}"]

    @staticmethod
    def _write(folder: Path, prepared: Prepared, args: Args, count: int) -> None:
        settings = prepared.settings
        t2ibench = [sys.executable, "-m", "t2ibench"]
        config = str(folder / "run.yaml")
        shared = {
            "output": folder,
            "cwd": shlex.quote(os.getcwd()),  # noqa: PTH109
            "setup": args.setup,
        }
        array = _ARRAY.format(
            **shared,
            workers=count,
            warning=args.warning,
            requeues=args.requeues,
            what=f"{len(prepared.plan.requests)} images of {len(prepared.plan.tasks)} tasks",
            options=_options(args, alone=False),
            command=shlex.join([*t2ibench, "run", "--config", config]),
        )
        write_text(folder / "array.sh", array)
        score = ""
        if not settings.generate_only:
            run = str(prepared.folder.path)
            command = shlex.join([*t2ibench, "score", run])
            options = _options(args, alone=True)
            script = _SCORE.format(**shared, options=options, command=command)
            write_text(folder / "score.sh", script)
            score = _SCORING.format(script=shlex.quote(str(folder / "score.sh")))
        submit = _SUBMIT.format(array=shlex.quote(str(folder / "array.sh")), score=score)
        write_text(folder / "submit.sh", submit)


def _read(args: Mapping[str, str]) -> Args:
    return read_args(Args, args, "the engine slurm", flag="--engine-args")


def _words(options: str) -> list[str]:
    try:
        return shlex.split(options)
    except ValueError as error:
        raise T2IBenchError(f"--engine-args options={shown(options)}: {error}.") from None


def _options(args: Args, *, alone: bool) -> str:
    """Lines of #SBATCH; those of the job that scores ask for no GPU."""
    named = [("partition", args.partition), ("account", args.account)]
    if not alone:
        named += [("time", args.time), ("gpus", args.gpus), ("mem", args.mem)]
        named += [("cpus-per-task", str(args.cpus) if args.cpus else None)]
    words = [f"--{name}={value}" for name, value in named if value]
    words += [] if alone else _words(args.options)
    return "\n".join(f"#SBATCH {word}" for word in words)


def _config(settings: RunSettings) -> dict[str, object]:
    """The settings of one task of the array, as --config reads them."""
    task = settings.model_copy(
        update={
            "engine": "local",
            "engine_args": {},
            "workers": None,
            "no_score": not settings.generate_only,
        }
    )
    found = task.model_dump(mode="json", exclude_defaults=True)
    return {name: value for name, value in found.items() if value is not None}


def _submitted(script: Path) -> list[str]:
    try:
        done = subprocess.run(
            ["bash", str(script)], capture_output=True, text=True, timeout=_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        raise T2IBenchError(
            f"sbatch did not answer in {_LIMIT} s.", f"Later: bash {script}"
        ) from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise T2IBenchError(
            f"sbatch failed: {shown(said[-1] if said else f'status {done.returncode}')}.",
            f"Change --engine-args, or, once that is mended: bash {script}",
        )
    return [f"Submitted: {line}." for line in done.stdout.strip().splitlines()]


EXECUTOR = SlurmExecutor()
