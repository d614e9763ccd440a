"""SIGKILL at random moments of real runs: the same command ends in the same results."""

from __future__ import annotations

import itertools
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.chaos.tools import FLAGS
from tests.chaos.tries import Tries, sizes
from tests.pipeline import engines
from tests.processes import Process

pytestmark = pytest.mark.nightly

# t2ibench itself. It kills itself before its N-th call that opens, makes, renames or removes
# something in the folder of runs, or its N-th statement of SQL; with 0 it does not.
WATCH = """
import os, signal, sys
left = {calls}

def step(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

def watch(event, args):
    if event in {{"open", "os.mkdir", "os.rename", "os.remove", "os.scandir", "os.link"}}:
        if "runs" in str(args[0]):
            step()

sys.addaudithook(watch)
from t2ibench.store import database
connection = database.connect

def traced(path, how):
    made = connection(path, how)
    made.set_trace_callback(step)
    return made

database.connect = traced
"""
CALLS = 700  # about as many as an uninterrupted run makes


class Runs(engines.Runs):
    """Processes in one folder, some of which kill themselves."""

    def begin(self, calls: int = 0, *more: str) -> Process:
        return self.start(*more, flags=FLAGS, before=WATCH.format(calls=calls))

    def begun(self, process: Process) -> None:
        """Wait until the first file of the run is there."""
        self.until(lambda: process.poll() is not None or self.run.exists())

    def killed(self, rng: random.Random) -> str:
        """A run that is killed, by the clock or before one of its calls; how."""
        if rng.random() < 0.5:
            calls = rng.randint(1, CALLS)
            end(self.begin(calls))
            return f"call {calls}"
        process = self.begin()
        self.begun(process)
        moment = rng.uniform(0, 0.6)
        time.sleep(moment)
        process.kill()
        end(process)
        return f"{moment:.3f} s"


def end(process: Process) -> tuple[int, str]:
    _, errors = process.communicate(timeout=engines.WAIT)
    return process.wait(), errors


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Iterator[Runs]]:
    """Runs without end, each in a folder of its own."""
    found: list[Runs] = []

    def begin(number: int) -> Runs:
        found.append(Runs(tmp_path / str(number)))
        return found[-1]

    yield map(begin, itertools.count())
    for one in found:
        one.kill()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What an uninterrupted run gives."""
    one = Runs(tmp_path_factory.mktemp("one") / "alone")
    assert end(one.begin())[0] == 0
    return one.outputs()


def finished(one: Runs, whole: dict[str, bytes]) -> None:
    status, errors = end(one.begin())
    assert status == 0, errors
    assert one.outputs() == whole
    assert not list((one.folder / "runs").rglob("*.tmp"))


@sizes(8, 200)
def test_kills(tries: Tries, whole: dict[str, bytes], runs: Iterator[Runs]) -> None:
    rng = random.Random(tries.number)
    kills = 0
    for one in itertools.islice(runs, tries.count):
        done = [one.killed(rng) for _ in range(rng.choice([1, 1, 2, 3]))]
        kills += len(done)
        print(done)
        finished(one, whole)
    print(f"{kills} kills of {tries.count} runs")


@sizes(8, 200)
def test_kills_of_one_of_two(
    tries: Tries, whole: dict[str, bytes], runs: Iterator[Runs]
) -> None:
    """Of two that share a folder, one is killed and the other finishes; or both are killed."""
    rng = random.Random(tries.number)
    both = 0
    for pair in itertools.islice(runs, tries.count):
        survives = rng.random() < 0.7
        first = pair.begin(rng.randint(1, CALLS // 2))  # each does a part of the work
        if rng.random() < 0.5:
            pair.begun(first)
            time.sleep(rng.uniform(0, 0.5))
        second = pair.begin(0 if survives else rng.randint(1, CALLS // 2))
        ends = [end(first), end(second)]
        print(survives, [status for status, _ in ends])
        assert all(status in {0, -signal.SIGKILL} for status, _ in ends), ends
        if survives:
            assert ends[1][0] == 0, ends
            assert pair.outputs() == whole
        both += not survives
        finished(pair, whole)
    print(f"{tries.count - both} survivors, {both} pairs killed")


@sizes(4, 100)
def test_kills_of_workers_and_their_leader(
    tries: Tries, whole: dict[str, bytes], runs: Iterator[Runs]
) -> None:
    rng = random.Random(tries.number)
    for one in itertools.islice(runs, tries.count):
        process = one.begin(0, "--workers", "2")
        time.sleep(rng.uniform(0.5, 5.0))
        family = [process.pid, *children(process.pid)]
        victim = rng.choice(family)
        print(family.index(victim), len(family))
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        status, errors = end(process)
        assert status in {0, -signal.SIGKILL}, errors
        finished(one, whole)


def children(pid: int) -> list[int]:
    try:
        return [
            int(one)
            for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:  # it has ended
        return []


def test_the_program_kills_itself(runs: Iterator[Runs]) -> None:
    """The tests above kill what runs: without this, they could pass without any kill."""
    one = next(runs)
    assert end(one.begin(CALLS // 2))[0] == -signal.SIGKILL
    assert os.listdir(one.folder / "runs")  # noqa: PTH208
