"""How many attempts a test makes, from which seed, and in what time."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase
from hypothesis.strategies import DataObject

SEED = "T2IBENCH_CHAOS_SEED"
CORPUS = "T2IBENCH_CHAOS_CORPUS"
# Seconds of the processor that one attempt may use, its threads together.
WORK = 60.0
# Seconds for which an attempt may wait for something other than its turn on the processor.
WAIT = 300.0
# Seconds of the clock between two looks at an attempt.
LOOK = 5.0
# Where Linux says for how long a thread ran, and for how long it waited for a processor.
_STATISTICS = Path("/proc/self/schedstat")


@dataclass
class Tries:
    """How often a test tries something, and from which seed."""

    count: int
    number: int

    def of(self, check: Callable[[DataObject], None]) -> None:
        """Try a property, which draws what it needs."""
        # Shrinking repeats whole commands; what was found first says enough.
        phases = (
            [Phase.generate] if self.count > 1000 else [Phase.generate, Phase.shrink]
        )
        corpus = _corpus()
        if corpus is not None:
            phases = [Phase.reuse, *phases]
        examples = settings(max_examples=self.count, database=corpus, phases=phases)

        @settings(
            examples,
            print_blob=True,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.data())
        def run(data: DataObject) -> None:
            # A failure is kept in the corpus, which an exception that no command may catch is not.
            try:
                with in_time():
                    check(data)
            except Hang as hang:
                raise AssertionError(str(hang)) from None

        # Under a fixed seed hypothesis neither keeps failures nor tries kept ones again.
        if corpus is None:
            run = seed(self.number)(run)
        run()


def _corpus() -> ExampleDatabase | None:
    """Return where failures of this test are kept and tried first; None without such a folder."""
    home = os.environ.get(CORPUS)
    if not home:
        return None
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("[")[0]
    name = re.sub(r"[^A-Za-z0-9]+", "-", test).strip("-") or "unnamed"
    return DirectoryBasedExampleDatabase(Path(home) / name)


def sizes(few: int, many: int) -> pytest.MarkDecorator:
    """Run a test with `tries`: few from seed 0, and many from a new one."""
    new_seed = int(os.environ[SEED])
    attempts = [
        pytest.param(Tries(few, 0), id="few"),
        pytest.param(Tries(many, new_seed), id="many", marks=pytest.mark.nightly),
    ]
    return pytest.mark.parametrize("tries", attempts)


class Hang(BaseException):
    """A command has not ended in time."""


@dataclass(frozen=True)
class _Spent:
    """What this process has used since it began.

    The clock of a machine with much else to do says nothing about the work under test.

    Attributes:
        clock: Seconds of the clock.
        work: Seconds of the processor, over all threads.
        queued: Seconds for which its main thread could have run and another process did.
    """

    clock: float
    work: float
    queued: float

    @classmethod
    def now(cls) -> _Spent:
        return cls(time.monotonic(), time.process_time(), queued())

    def hang(self, *, work: float, wait: float) -> Hang | None:
        """Return why what began here hangs, or None."""
        now = _Spent.now()
        worked = now.work - self.work
        waited = now.clock - self.clock - worked - (now.queued - self.queued)
        if worked > work:
            return Hang(f"it used more than {work:g} s of the processor")
        if waited > wait:
            return Hang(f"it waited for more than {wait:g} s")
        return None


def queued(statistics: Path = _STATISTICS) -> float:
    """Return for how many seconds the main thread waited for a processor.

    Args:
        statistics: What Linux says of it. 0 where there is no such file, or it has another form.
    """
    try:
        nanoseconds = int(statistics.read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return nanoseconds / 1e9


@contextmanager
def in_time(
    work: float = WORK, wait: float = WAIT, look: float = LOOK
) -> Iterator[None]:
    """End what hangs, in the thread of the test.

    Args:
        work: Seconds of the processor that are too many.
        wait: Seconds of waiting for anything but the processor that are too many.
        look: Seconds of the clock between two looks.
    """
    start = _Spent.now()

    def check(_: int, __: FrameType | None) -> None:
        hang = start.hang(work=work, wait=wait)
        if hang is not None:
            raise hang

    before = signal.signal(signal.SIGALRM, check)
    signal.setitimer(signal.ITIMER_REAL, look, look)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
