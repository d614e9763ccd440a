"""Progress display: bars with speed and remaining time on a terminal, else plain lines."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column

from t2ibench.errors import one_line
from t2ibench.store.locks import Notices

# seconds that the speed is measured over, without the wait for the first items
_WINDOW = 600.0
_FIRST_LINE = 15.0  # seconds
_LONGEST_SILENCE = 600.0
_SILENCE = 2.0  # seconds, after which a stage reports that it is working


class Ticker(Protocol):
    """Counts the images, texts or questions of a stage that are done."""

    def advance(self, count: int) -> None:
        """Count images, texts or questions as done."""
        ...


class Reporter(Notices, Protocol):
    """Shows the progress of a run."""

    def stage(self, name: str, total: int, unit: str) -> AbstractContextManager[Ticker]:
        """Return a context of one stage of a run, with a ticker that counts its steps."""
        ...


def duration(seconds: float) -> str:
    """Return a duration in words, such as '10 minutes'.

    Examples:
        >>> duration(1.2), duration(59.6), duration(600), duration(5400)
        ('1 second', '60 seconds', '10 minutes', '1.5 hours')
    """
    if seconds < 90:
        return f"{seconds:.0f} second{'' if round(seconds) == 1 else 's'}"
    if seconds < 5400:
        return f"{seconds / 60:.0f} minutes"
    return f"{round(seconds / 3600, 1):g} hours"


class _Ticker:
    """A bar on a terminal; for logs a line after fifteen seconds, and less and less often."""

    def __init__(
        self, console: Console, progress: Progress, name: str, total: int, unit: str
    ):
        self._console, self._progress, self._name, self._unit = (
            console,
            progress,
            name,
            unit,
        )
        self._task = progress.add_task(name, total=total, pace="")
        self._started = time.monotonic()
        self._next = self._started + _FIRST_LINE

    def advance(self, count: int) -> None:
        self._progress.update(self._task, advance=count)
        (task,) = self._progress.tasks
        pace = f"{task.speed:.1f} {self._unit}/s" if task.speed else ""
        left = task.time_remaining
        self._progress.update(
            self._task, pace=f"{pace}, {duration(left)} left" if left else pace
        )
        now = time.monotonic()
        if self._console.is_terminal or now < self._next:
            return
        self._next = now + min(
            max(_FIRST_LINE, (now - self._started) / 3), _LONGEST_SILENCE
        )
        words = [f"{task.completed:,.0f} of {task.total:,.0f}", task.fields["pace"]]
        _print(self._console, f"{self._name}: {', '.join(filter(None, words))}")


def _print(console: Console, text: str, style: str | None = None) -> None:
    """Write one line; a closed terminal or full disk does not stop the work."""
    seen = "\n".join(map(one_line, text.split("\n")))
    with suppress(OSError, ValueError):
        console.print(seen, style=style, highlight=False, markup=False, soft_wrap=True)


class ConsoleReporter:
    """Reports progress to standard error, so that standard output contains only results."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, emoji=False)
        self._silence = threading.Timer(0.0, lambda: None)

    @contextmanager
    def opening(self, text: str, silence: float = _SILENCE) -> Iterator[None]:
        """Write `text` unless something else is written within `silence` seconds."""
        self._silence = threading.Timer(silence, self.say, [text])
        self._silence.daemon = True
        self._silence.start()
        try:
            yield
        finally:
            self._silence.cancel()

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Ticker]:
        """Show a progress bar on a terminal, and occasional lines elsewhere."""
        self._silence.cancel()
        progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", table_column=Column(no_wrap=True)),
            console=self.console,
            expand=True,
            disable=not self.console.is_terminal,
            speed_estimate_period=_WINDOW,
            get_time=time.monotonic,
        )
        noun = unit.removesuffix("s") if total == 1 else unit
        silence = (
            self.opening(f"{name}: {total:,} {noun}")
            if progress.disable
            else nullcontext()
        )
        with progress, silence:
            yield _Ticker(self.console, progress, name, total, unit)

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
    """Shows nothing and collects warnings, for the Python API."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Ticker]:
        """Show nothing."""
        yield _Nothing()

    def say(self, text: str) -> None:
        """Write nothing."""

    def warn(self, text: str) -> None:
        """Store the line in `warnings`."""
        self.warnings.append(text)
