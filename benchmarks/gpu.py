"""Measure on one GPU what docs/scale.md and docs/reproducibility.md say, in eight minutes at most.

    python benchmarks/gpu.py --out gpu.md                          # SDXL's shape, on CUDA
    python benchmarks/gpu.py --size tiny --device cpu --out try.md  # the same steps, to try it
    python benchmarks/gpu.py --only judging,first-command           # two steps alone

It writes one table: how long a model of the real shape takes to load, which batch is chosen for the
card, images a second beside the bare pipeline, which images depend on the batch and by how much,
what deterministic kernels cost, where a batch is halved, and what observe.py, first_command.py and
judge.py say; first_command.py uses all cores, and not the GPU. Each step is a process of its own.
After `--minutes` the step that runs is cut off, with what it printed kept, and the table says which
steps are cut off and which were not begun.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
OWN_STEPS = ("pipeline", "start", "speed", "pixels", "halving", "deterministic")
# The other scripts, each with what it measures in the real size and to try it.
SCRIPTS = {
    "embedding": "observe.py",
    "first-command": "first_command.py",
    "judging": "judge.py",
}
FLAGS = {
    "embedding": {
        "sdxl": ["--rounds", "2", "--images", "1024"],
        "tiny": ["--rounds", "2", "--images", "16", "--pixels", "64"],
    },
    "judging": {
        "sdxl": ["--images", "8", "--size", "large"],
        "tiny": ["--images", "1", "--size", "tiny"],
    },
    "first-command": {
        "sdxl": [],
        "tiny": ["--", "--model", "toy", "--tasks", "core_occupations_age", "--limit", "3"],
    },
}  # fmt: skip
STEPS = (*OWN_STEPS, *SCRIPTS)
# The last lines of what such a script prints: first_command.py has a line for each of its stages.
LAST_LINES = 13

Row = tuple[str, str]


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        printed: What it wrote to standard output, to the end or until it was cut off.
        errors: What it wrote to standard error.
        status: Its exit status; None where it was cut off.
    """

    printed: str
    errors: str
    status: int | None


def main() -> None:
    began = time.monotonic()
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=["sdxl", "tiny"], default="sdxl")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", help="bfloat16, or float32 on a CPU")
    parser.add_argument("--images", type=int, default=16, help="of each measure")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=8, help="of all steps")
    parser.add_argument(
        "--only", type=steps, default=STEPS, help=f"of {', '.join(STEPS)}"
    )
    parser.add_argument("--out", type=Path, default=Path("gpu.md"))
    args = parser.parse_args()
    args.dtype = args.dtype or ("float32" if args.device == "cpu" else "bfloat16")
    lines = ["| what | value |", "| --- | --- |"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for what, value in rows(args, Path(name), began + 60 * args.minutes):
            print(f"{what}: {value}", flush=True)
            lines.append(f"| {what} | {value} |")
            # Whatever ends it, what was measured is there.
            args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def steps(text: str) -> tuple[str, ...]:
    """The steps named in a text, in the order in which they are measured."""
    named = text.split(",")
    for name in named:
        if name not in STEPS:
            raise argparse.ArgumentTypeError(f"no step {name!r}")
    # The pipeline is built by the first step and used by the others that are of this file's own.
    if set(named) & set(OWN_STEPS):
        named.append("pipeline")
    return tuple(name for name in STEPS if name in named)


def rows(args: argparse.Namespace, folder: Path, deadline: float) -> Iterator[Row]:
    """The rows of all steps, of which none runs beyond the deadline."""
    for name in args.only:
        left = deadline - time.monotonic()
        if left <= 0:
            yield name, "not measured: the time is up"
            continue
        # toy is so small that cores draw it as quickly as a GPU: this step is about the cores.
        visible = {"CUDA_VISIBLE_DEVICES": ""} if name == "first-command" else {}
        ended = run(command(name, args, folder), left, visible)
        yield from rows_of(name, ended)
        if ended.status is None:
            yield name, "cut off: the time is up"


def command(name: str, args: argparse.Namespace, folder: Path) -> list[str]:
    """The command line of a step."""
    device = ["--device", args.device]
    dtype = ["--dtype", args.dtype]
    if name in OWN_STEPS:
        words = ["gpu_steps.py", name, "--folder", str(folder), "--size", args.size]
        words += ["--images", str(args.images), "--steps", str(args.steps)]
        words += device + dtype
    else:
        words = [SCRIPTS[name]]
        if name != "first-command":
            words += device
        if name == "judging":
            words += dtype
        words += FLAGS[name][args.size]
    return [sys.executable, str(HERE / words[0]), *words[1:]]


def run(words: Sequence[str], seconds: float, variables: Mapping[str, str]) -> Ended:
    """Run a command for so long at most, and end it with all that it started.

    Args:
        words: The command line.
        seconds: How long it may run.
        variables: Variables of its environment besides those of this process.
    """
    # Files, unlike pipes, are complete whatever a process that was killed leaves running.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            words,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            env={**os.environ, **variables},
        ) as process:
            status: int | None = None
            try:
                status = process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                pass
            finally:
                if status is None:
                    os.killpg(process.pid, signal.SIGKILL)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Ended(texts[0], texts[1], status)


def rows_of(name: str, ended: Ended) -> Iterator[Row]:
    """The rows that a step printed, and the end of its errors where it failed."""
    if name in OWN_STEPS:
        for line in ended.printed.splitlines():
            if line.startswith("["):
                what, value = json.loads(line)
                yield what, value
    elif ended.status in (0, None):
        yield from last_lines(name, ended.printed)
    if ended.status not in (0, None):
        yield name, f"failed with exit status {ended.status}"
        yield from last_lines(name, ended.errors)


def last_lines(name: str, text: str) -> Iterator[Row]:
    """The last lines of a text as rows, without JSON, of which the text is a summary."""
    lines = [line for line in text.splitlines() if line.strip()]
    for line in [line for line in lines if not line.startswith("{")][-LAST_LINES:]:
        yield name, line.strip().replace("|", "/")


if __name__ == "__main__":
    main()
