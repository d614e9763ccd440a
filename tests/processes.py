"""Processes of t2ibench that start in an instant: forked from one that has imported it.

Most of the time of a short run in a process of its own goes into imports. What is tested with these
processes (locks, kills, work that is shared) begins after them.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import NoReturn

from t2ibench.pipeline.executors.processes import Processes

MAIN = "import sys; from t2ibench.cli import main; sys.exit(main(sys.argv[1:]))"
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.preloaded"])


class Process:
    """A Python program in a process, with the members of `subprocess.Popen` that tests need.

    Its standard output is lost; its standard error goes into a file.

    Args:
        program: Source code, run as the main module.
        arguments: Its `sys.argv[1:]`.
        cwd: The folder that it runs in.
        errors: The file of its standard error.
        environment: Its environment variables; None for those of this process.
    """

    def __init__(
        self,
        program: str,
        arguments: Sequence[str],
        cwd: Path,
        errors: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._errors = errors
        # it is there even where the process is killed before its first line
        errors.touch()
        self.args = [program, *arguments]
        # The one that is forked has the environment of the first test.
        variables = dict(os.environ if environment is None else environment)
        given = (self.args, str(cwd), str(errors), variables)
        self._process = _CONTEXT.Process(target=_begin, args=given)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self._process.exitcode

    def communicate(self, timeout: float | None = None) -> tuple[None, str]:
        """Wait for its end; what it has written to standard error."""
        self.wait(timeout)
        return None, self._errors.read_text(encoding="utf-8")

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def fork_workers() -> None:
    """Have the run of this process, a `Process`, start its workers in an instant, too.

    Workers that are spawned import everything again, and some tests are not about that.
    """
    # A process that was forked knows the server's address, and would start a server all the same.
    server = multiprocessing.forkserver._forkserver
    server.ensure_running = lambda: None  # type: ignore[method-assign]
    Processes._spawned = forked_worker  # type: ignore[method-assign, assignment]


def forked_worker(run: Processes, number: int, line: Connection) -> ForkServerProcess:
    """What stands for `Processes._spawned` where a test is not about the start of workers."""
    variables = {**os.environ, **run._environment(number)}
    work = partial(_work, run._work, variables, line)
    process = _CONTEXT.Process(target=work)
    process.start()
    return process


def _work(
    work: Callable[[Connection], None], environment: dict[str, str], line: Connection
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    work(line)


def _begin(
    argv: list[str], cwd: str, errors: str, environment: dict[str, str]
) -> NoReturn:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for number, name in ((0, os.devnull), (1, os.devnull), (2, errors)):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
    # A background job of a shell, as the tests may be one, ignores SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    program, *words = argv
    sys.argv = ["-c", *words]
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
    sys.exit(0)
