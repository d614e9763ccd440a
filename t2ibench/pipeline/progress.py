"""Progress on a terminal: rich bars with images a second and time left; plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
)
from rich.table import Column
from rich.text import Text

from t2ibench.errors import one_line

_WINDOW = 30.0  # seconds that the speed is measured over
_LEAST = 3  # and reports of progress, where they come more slowly
_FIRST_LINE = 15.0  # seconds
_LONGEST_SILENCE = 600.0
_SILENCE = 2.0  # seconds, after which a command says that it has begun


class Ticker(Protocol):
    """Told how many items are done."""

    def advance(self, count: int) -> None:
        """Count items as done."""
        ...


class Reporter(Protocol):
    """Shows what a run is doing."""

    def stage(self, name: str, total: int, unit: str) -> AbstractContextManager[Ticker]:
        """Begin a stage."""
        ...

    def say(self, text: str) -> None:
        """Write one line."""
        ...

    def warn(self, text: str) -> None:
        """Write one line that the user must see."""
        ...


def duration(seconds: float) -> str:
    """A time in words.

    Examples:
        >>> duration(1.2), duration(59.6), duration(600), duration(5400)
        ('1 second', '60 seconds', '10 minutes', '1.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} second{'' if round(seconds) == 1 else 's'}"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{round(seconds / 3600, 1):g} hours"


class _Pace:
    """What is left of a stage, at the speed of its last half minute.

    The wait for the first items, in which models are loaded, says nothing of it.
    """

    def __init__(self, total: int, unit: str) -> None:
        self.total, self.unit, self.done = total, unit, 0
        self._seen: deque[tuple[float, int]] = deque()

    def advance(self, count: int) -> None:
        """Count items as done."""
        now = time.monotonic()
        self.done += count
        self._seen.append((now, self.done))
        while len(self._seen) > _LEAST and now - self._seen[1][0] > _WINDOW:
            self._seen.popleft()

    def __str__(self) -> str:
        if len(self._seen) < 2:
            return ""
        (began, before), (now, done) = self._seen[0], self._seen[-1]
        rate = (done - before) / max(now - began, 1e-9)
        left = f", {duration((self.total - done) / rate)} left" if done < self.total else ""
        return f"{rate:.1f} {self.unit}/s{left}"


class _PaceColumn(ProgressColumn):
    def __init__(self, pace: _Pace) -> None:
        super().__init__(Column(no_wrap=True))  # the bar gives way
        self._pace = pace

    def render(self, task: Task) -> Text:
        return Text(str(self._pace), no_wrap=True)


class _Bar:
    def __init__(self, progress: Progress, task_id: TaskID, pace: _Pace) -> None:
        self._progress, self._task, self._pace = progress, task_id, pace

    def advance(self, count: int) -> None:
        self._pace.advance(count)
        self._progress.advance(self._task, count)


class _Lines:
    """For logs: a line after fifteen seconds, and less and less often."""

    def __init__(self, console: Console, name: str, pace: _Pace) -> None:
        self._console, self._name, self._pace = console, name, pace
        self._started = time.monotonic()
        self._next = self._started + _FIRST_LINE

    def advance(self, count: int) -> None:
        self._pace.advance(count)
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + min(max(_FIRST_LINE, (now - self._started) / 3), _LONGEST_SILENCE)
        words = [f"{self._pace.done:,} of {self._pace.total:,}", str(self._pace)]
        _print(self._console, f"{self._name}: {', '.join(filter(None, words))}")


def _print(console: Console, text: str, style: str | None = None) -> None:
    """Write one line; a terminal that has gone, or a full log, does not stop the work."""
    seen = "\n".join(map(one_line, text.split("\n")))
    with suppress(OSError, ValueError):
        console.print(seen, style=style, highlight=False, markup=False, soft_wrap=True)


class ConsoleReporter:
    """Reports to standard error, so that standard output stays for results."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, emoji=False)
        self._silence = threading.Timer(0.0, lambda: None)

    @contextmanager
    def opening(self, text: str) -> Iterator[None]:
        """Write a line unless something else is written within two seconds."""
        self._silence = threading.Timer(_SILENCE, self.say, [text])
        self._silence.daemon = True
        self._silence.start()
        try:
            yield
        finally:
            self._silence.cancel()

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Ticker]:
        """Show a bar on a terminal, a line now and then elsewhere."""
        self._silence.cancel()
        pace = _Pace(total, unit)
        if not self.console.is_terminal:
            one = unit.removesuffix("s") if total == 1 else unit
            with self.opening(f"{name}: {total:,} {one}"):
                yield _Lines(self.console, name, pace)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            _PaceColumn(pace),
        )
        with Progress(*columns, console=self.console, expand=True) as progress:
            yield _Bar(progress, progress.add_task(name, total=total), pace)

    def say(self, text: str) -> None:
        """Write one line."""
        self._silence.cancel()
        _print(self.console, text)

    def warn(self, text: str) -> None:
        """Write one line, marked as a warning."""
        self._silence.cancel()
        _print(self.console, f"warning: {text}", "yellow")


class _Nothing:
    def advance(self, count: int) -> None:
        pass


class SilentReporter:
    """For the Python API: shows nothing, keeps warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Ticker]:
        """Show nothing."""
        yield _Nothing()

    def say(self, text: str) -> None:
        """Write nothing."""

    def warn(self, text: str) -> None:
        """Keep the line in `warnings`."""
        self.warnings.append(text)
