"""The executor `local`: this process, or with --workers several on this machine.

A worker has a GPU of its own, or a share of the cores: torch takes all cores in every process, and
two such processes on two cores wait for each other most of the time.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from t2ibench.arguments import Arguments, PositiveInt, read_args
from t2ibench.errors import shown
from t2ibench.pipeline.executors.crew import Crew
from t2ibench.pipeline.executors.messages import Gone, Message, Order, Unit
from t2ibench.pipeline.executors.ordering import order_of
from t2ibench.pipeline.job import Job, Stage
from t2ibench.pipeline.prepare import Prepared
from t2ibench.pipeline.progress import Reporter
from t2ibench.worker_pool import cores

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
_CHILD = "from t2ibench.pipeline.executors.process import main; main()"


class Args(Arguments):
    """What --engine-args takes.

    Attributes:
        threads: Of each worker; by default its share of the cores.
    """

    threads: PositiveInt | None = None


class LocalExecutor:
    """Works in this process, or in several of this machine (see pipeline.executors.Employs)."""

    description = "this machine: one process, with --workers N several (the default)"

    def run(self, job: Job, stage: Stage, advance: Callable[[int], None]) -> None:
        """Do all shards of a stage."""
        for number in job.order():
            job.run(stage, number, advance)

    def check(self, workers: int | None, args: Mapping[str, str]) -> None:
        """Check arguments (see pipeline.executors.TakesArguments)."""
        read_args(Args, args, "the engine local", flag="--engine-args")

    def hire(self, prepared: Prepared, reporter: Reporter, observing: bool) -> Crew | None:
        """Start processes, where there are to be several (see pipeline.executors.Employs)."""
        settings = prepared.settings
        gpus = visible_gpus() if settings.device in {None, "auto", "cuda"} else []
        count = settings.workers or max(len(gpus), 1)
        if count == 1:
            return None
        args = read_args(Args, settings.engine_args, "the engine local", flag="--engine-args")
        threads = args.threads or max(1, cores() // count)
        each = "1 thread" if threads == 1 else f"{threads} threads"
        kind = f"on {len(gpus)} GPUs" if gpus else f"with {each} each"
        reporter.say(f"{count} workers {kind}.")
        hands = Processes(order_of(prepared, observing), count, gpus, threads)
        generator = prepared.generator.fingerprint if prepared.generator else None
        return Crew(hands, generator, reporter)


def visible_gpus() -> list[str]:
    """GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them; torch is asked last."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name for name in map(str.strip, named.split(",")) if name and name != "-1"]
    there = Path("/dev/nvidia0").exists() or Path("/dev/kfd").exists() or os.name == "nt"
    if not there and shutil.which("nvidia-smi") is None:
        return []
    import torch

    return [str(number) for number in range(torch.cuda.device_count())]


class Processes:
    """Workers in processes of this machine (see `Hands`).

    Args:
        order: The run.
        count: How many.
        gpus: GPUs that they share in turn.
        threads: Of each.
    """

    elsewhere = False

    def __init__(self, order: Order, count: int, gpus: list[str], threads: int) -> None:
        self.count = count
        self._gpus = gpus
        self._threads = threads
        self._order = pickle.dumps(list(order.path)) + pickle.dumps(order)
        self._heard: queue.Queue[tuple[int, subprocess.Popen[bytes], Message]] = queue.Queue()
        self._running: dict[int, subprocess.Popen[bytes]] = {}

    def start(self, hand: int) -> None:
        """Start a worker."""
        path = [item or os.getcwd() for item in sys.path]  # noqa: PTH109
        errors = tempfile.TemporaryFile()  # noqa: SIM115
        process = subprocess.Popen(
            [sys.executable, "-c", f"import sys; sys.path[:] = {path!r}; {_CHILD}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors if not os.environ.get("T2IBENCH_TRACEBACK") else None,
            env=self._environment(hand),
        )
        self._running[hand] = process
        threading.Thread(target=self._hear, args=(hand, process, errors), daemon=True).start()

    def _environment(self, hand: int) -> dict[str, str]:
        found = dict(os.environ, TOKENIZERS_PARALLELISM="false")
        for name in _THREADS:
            # A smaller number is the user's own.
            given = found.get(name, "")
            known = int(given) if given.isdecimal() and int(given) else self._threads
            found[name] = str(min(known, self._threads))
        if self._gpus:
            found["CUDA_VISIBLE_DEVICES"] = self._gpus[hand % len(self._gpus)]
        return found

    def _hear(self, hand: int, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        """In a thread: say what to do, then hear what the worker says until it ends."""
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.write(self._order)
            process.stdin.flush()
        while True:
            try:
                message: Message = pickle.load(process.stdout)
            except Exception:  # it has ended, perhaps in the middle of a message
                break
            self._heard.put((hand, process, message))
        status = process.wait()
        self._heard.put((hand, process, Gone(_ending(status, errors))))

    def send(self, hand: int, unit: Unit) -> None:
        """Give a worker something to do."""
        self._write(self._running[hand], unit)

    @staticmethod
    def _write(process: subprocess.Popen[bytes], unit: Unit | None) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it has just died, which is heard
            process.stdin.write(pickle.dumps(unit))
            process.stdin.flush()

    def wait(self, seconds: float) -> list[tuple[int, Message]]:
        """What workers have said (see `Hands`)."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._heard.get(timeout=seconds))
            while True:
                found.append(self._heard.get_nowait())
        # What was said by one that has been started again since belongs to nobody.
        return [(hand, message) for hand, who, message in found if self._running[hand] is who]

    def stop(self) -> None:
        """Have all workers end after their batch."""
        for process in self._running.values():
            self._write(process, None)

    def close(self) -> None:
        """End them all."""
        for process in self._running.values():
            with contextlib.suppress(OSError):
                process.kill()
        for process in self._running.values():
            process.wait()


def _ending(status: int, errors: IO[bytes]) -> str:
    """How a process ended, in words."""
    if status < 0:
        try:
            name = signal.Signals(-status).name
        except ValueError:
            name = f"signal {-status}"
        memory = ", perhaps because memory ran out" if name == "SIGKILL" else ""
        return f"was ended by {name}{memory}"
    with contextlib.suppress(OSError, ValueError):
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines()
        if lines:
            return f"ended with status {status} ({shown(lines[-1])})"
    return f"ended with status {status}"


EXECUTOR = LocalExecutor()
