"""How many attempts a test makes, from which seed, and in what time."""

from __future__ import annotations

import os
import re
import signal
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
# Seconds of one attempt, after which it is taken to hang; a machine with much else to do is slow.
_HANGS = 300


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

        @settings(examples, print_blob=True, suppress_health_check=list(HealthCheck))
        @given(st.data())
        def run(data: DataObject) -> None:
            # A failure is kept in the corpus, which an exception that no command may catch is not.
            try:
                with in_time():
                    check(data)
            except Hang:
                raise AssertionError(f"it took more than {_HANGS} s") from None

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
    found = (Tries(few, 0), Tries(many, int(os.environ[SEED])))
    return pytest.mark.parametrize("tries", found, ids=["few", "many"])


class Hang(BaseException):
    """A command has not ended in time."""


@contextmanager
def in_time() -> Iterator[None]:
    """End what hangs, in the thread of the test."""

    def end(_: int, __: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(_HANGS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
