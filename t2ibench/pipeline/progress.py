"""Progress on a terminal: rich bars with images a second and time left; plain lines elsewhere."""

from __future__ import annotations

import time
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
    TimeRemainingColumn,
)
from rich.text import Text

from t2ibench.errors import one_line


class Ticker(Protocol):
    """Told how many items are done."""

    def advance(self, count: int) -> None:
        """Count items as done.

        Args:
            count: How many more are done.
        """
        ...


class Reporter(Protocol):
    """Shows what a run is doing."""

    def stage(self, name: str, total: int, unit: str) -> AbstractContextManager[Ticker]:
        """Begin a stage.

        Args:
            name: Name of the stage.
            total: Number of items.
            unit: What an item is, in the plural: 'images'.

        Returns:
            A context manager that yields a ticker.
        """
        ...

    def say(self, text: str) -> None:
        """Write one line.

        Args:
            text: The line.
        """
        ...

    def warn(self, text: str) -> None:
        """Write one line that the user must see.

        Args:
            text: The line.
        """
        ...


class _Rate(ProgressColumn):
    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.1f} {self.unit}/s" if speed else f"– {self.unit}/s")


class _Bar:
    def __init__(self, progress: Progress, task_id: TaskID) -> None:
        self._progress = progress
        self._task = task_id

    def advance(self, count: int) -> None:
        self._progress.advance(self._task, count)


class _Lines:
    """A line every ten seconds, for logs."""

    def __init__(self, console: Console, name: str, total: int, unit: str) -> None:
        self._console, self._name, self._total, self._unit = console, name, total, unit
        self._done, self._started = 0, time.monotonic()
        self._last = self._started

    def advance(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if now - self._last < 10.0:
            return
        self._last = now
        rate = self._done / (now - self._started)
        left = (self._total - self._done) / rate if rate else 0.0
        _print(
            self._console,
            f"{self._name}: {self._done} of {self._total}, {rate:.1f} {self._unit}/s, "
            f"about {left:.0f} s left",
        )


def _print(console: Console, text: str, style: str | None = None) -> None:
    """Write one line; a terminal that has gone, or a full log, does not stop the work."""
    seen = "\n".join(map(one_line, text.split("\n")))
    with suppress(OSError, ValueError):
        console.print(seen, style=style, highlight=False, markup=False, soft_wrap=True)


class ConsoleReporter:
    """Reports to standard error, so that standard output stays for results."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, emoji=False)

    @contextmanager
    def stage(self, name: str, total: int, unit: str) -> Iterator[Ticker]:
        """Show a bar on a terminal, a line now and then elsewhere.

        Args:
            name: Name of the stage.
            total: Number of items.
            unit: What an item is, in the plural.

        Yields:
            The ticker that moves it.
        """
        if not self.console.is_terminal:
            yield _Lines(self.console, name, total, unit)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(unit),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.console) as progress:
            yield _Bar(progress, progress.add_task(name, total=total))

    def say(self, text: str) -> None:
        """Write one line.

        Args:
            text: The line.
        """
        _print(self.console, text)

    def warn(self, text: str) -> None:
        """Write one line, marked as a warning.

        Args:
            text: The line.
        """
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
        """Show nothing.

        Args:
            name: Name of the stage; not used.
            total: Number of items; not used.
            unit: What an item is; not used.

        Yields:
            A ticker that does nothing.
        """
        yield _Nothing()

    def say(self, text: str) -> None:
        """Write nothing.

        Args:
            text: The line; not used.
        """

    def warn(self, text: str) -> None:
        """Keep the line in `warnings`.

        Args:
            text: The line.
        """
        self.warnings.append(text)
