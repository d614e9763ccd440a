"""The fork server of workers: what they share, and how they end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from t2ibench.pipeline.executors import fork_server, processes
from t2ibench.pipeline.executors.fork_server import ForkedWorker, ForkServer
from t2ibench.pipeline.worker import WorkerSpec
from t2ibench.pipeline.worker_count import shared_imports
from t2ibench.settings import RunSettings
from tests.pipeline.engines import ROOT, alive
from tests.pipeline.forked import MODULE, tell_and_wait

pytestmark = pytest.mark.skipif(
    not fork_server.can_fork(), reason="processes are forked on Linux alone"
)


@pytest.fixture
def server() -> Iterator[ForkServer]:
    found = ForkServer([MODULE, "no_such_module"], tell_and_wait, {"T2I_FORKED": "1"})
    yield found
    found.close()


def started(server: ForkServer) -> tuple[ForkedWorker, Connection]:
    ours, theirs = multiprocessing.Pipe()
    worker = server.start(theirs)
    theirs.close()
    return worker, ours


def until(happens: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_workers_share_modules_and_end_one_by_one(server: ForkServer) -> None:
    workers, lines = zip(*(started(server) for _ in range(3)), strict=True)
    pids, parents, has, drawn = zip(*(line.recv() for line in lines), strict=True)
    assert len(set(parents)) == 1 and os.getpid() not in parents
    assert set(has) == {(True, "1")} and "T2I_FORKED" not in os.environ
    assert len({first for first, _ in drawn}) == len({then for _, then in drawn}) == 3

    # What the terminal or a cluster sends to every process is the leader's to decide on.
    for number in (signal.SIGTERM, signal.SIGINT):
        os.kill(parents[0], number)
    workers[0].kill()
    workers[0].join()
    with pytest.raises(EOFError):
        lines[0].recv()
    lines[1].send("end")
    workers[1].join()
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL, 0, None]
    assert alive(pids[2]) and alive(parents[0])

    server.close()
    workers[2].join()
    assert not any(map(alive, (*pids, parents[0])))


def test_workers_end_with_a_server_that_is_killed(server: ForkServer) -> None:
    workers, lines = zip(*(started(server) for _ in range(2)), strict=True)
    pids, parents, *_ = zip(*(line.recv() for line in lines), strict=True)
    os.kill(parents[0], signal.SIGKILL)
    for worker in workers:
        worker.join()
        worker.kill()
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL] * 2
    with pytest.raises(OSError):
        started(server)
    # By themselves, as workers do whose leader is gone.
    for line in lines:
        line.close()
    until(lambda: not any(map(alive, pids)))


def test_a_server_that_is_still_importing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_slowly.py").write_text("import time; time.sleep(20)")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(fork_server, "_PATIENCE", 60.0)
    server = ForkServer(["imported_slowly"], tell_and_wait, {})
    worker, _ = started(server)
    server.close()
    worker.join()
    assert server._process.exitcode == -signal.SIGKILL


# A leader that says who its server and its worker are, and waits. Its modules may take long.
LEADER = """
import multiprocessing, sys
from t2ibench.pipeline.executors.fork_server import ForkServer
from tests.pipeline.forked import tell_and_wait

server = ForkServer(sys.argv[1:], tell_and_wait, {})
print(server._process.pid, flush=True)
ours, theirs = multiprocessing.Pipe()
server.start(theirs)
theirs.close()
print(ours.recv()[0], flush=True)
ours.poll(None)
"""


@contextmanager
def leader(folder: Path, *modules: str) -> Iterator[subprocess.Popen[str]]:
    """A process that leads a fork server, with modules of a folder."""
    path = os.pathsep.join([str(ROOT), str(folder), *sys.path])
    process = subprocess.Popen(
        [sys.executable, "-c", LEADER, *modules],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def said(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    return int(process.stdout.readline())


def test_a_server_ends_with_its_leader_while_it_imports(tmp_path: Path) -> None:
    slow = "import pathlib, time; pathlib.Path(__file__ + '.begun').touch(); time.sleep(600)"
    (tmp_path / "imported_slowly.py").write_text(slow)
    with leader(tmp_path, "imported_slowly") as process:
        server = said(process)
        until((tmp_path / "imported_slowly.py.begun").exists)
        process.kill()
        until(lambda: not alive(server))


def test_a_suspended_server_and_its_workers_end_with_their_leader(
    tmp_path: Path,
) -> None:
    with leader(tmp_path) as process:
        server, worker = said(process), said(process)
        for pid in (server, worker):
            os.kill(pid, signal.SIGSTOP)
        process.kill()
        until(lambda: not alive(server) and not alive(worker))


def test_a_suspended_server_goes_on_when_it_is_needed(
    server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_server, "_REMINDED", 0.01)
    workers, lines = zip(*(started(server) for _ in range(2)), strict=True)
    pids, parents, *_ = zip(*(line.recv() for line in lines), strict=True)

    os.kill(parents[0], signal.SIGSTOP)
    workers[0].kill()
    until(lambda: not alive(pids[0]))
    workers[0].join()

    os.kill(parents[0], signal.SIGSTOP)
    os.kill(pids[1], signal.SIGKILL)
    workers[1].join()
    assert [worker.exitcode for worker in workers] == [-signal.SIGKILL] * 2


def test_a_server_ends_its_workers_after_half_an_order(server: ForkServer) -> None:
    """Ctrl-C may come between an order and the line that belongs to it."""
    worker, line = started(server)
    pid, *_ = line.recv()
    server.order(fork_server._Order("start", 1))
    server.close()
    worker.join()
    assert server._process.exitcode == 0 and not alive(pid)


def test_models_say_what_they_import_and_gpus_are_used_by_spawned_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = RunSettings(model="toy", tasks=("all",), encoder=("toy-clip",))
    alone = shared_imports(settings, observing=False)
    assert "torch" in alone and {*alone} < {*shared_imports(settings, observing=True)}
    assert not shared_imports(
        RunSettings(model="toyland", tasks=("all",)), observing=True
    )

    def imported(gpus: list[str]) -> tuple[str, ...]:
        spec = WorkerSpec(settings, True, True, None, None, ".", ())
        return processes.Processes(
            spec, 2, gpus, 1, shared_imports=alone
        )._shared_imports

    assert imported([]) == alone and imported(["0"]) == ()
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    assert imported([]) == ()
