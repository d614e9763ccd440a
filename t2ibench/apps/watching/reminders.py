"""Says what unfinished sets of images are missing, without repeating itself."""

from __future__ import annotations

from pathlib import Path

from t2ibench.errors import shown
from t2ibench.pipeline.progress import Reporter

_SECONDS = 60.0  # between two lines on what the same set is missing


class Reminders:
    """Says what a set is missing when that changes, but at most once a minute.

    Args:
        reporter: Where it is said.
    """

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        # By the folder of a set: what was said of it last, and when.
        self._last_lines: dict[Path, tuple[str, float]] = {}

    def say(self, folder: Path, name: str, why: str, *, now: float) -> None:
        """Say why the set in a folder is not complete, unless that was said already.

        Args:
            folder: Where its images are.
            name: What it is called.
            why: What is missing, in a sentence.
            now: The time in seconds.
        """
        before, when = self._last_lines.get(folder, ("", -_SECONDS))
        if why == before or now - when < _SECONDS:
            return
        self._last_lines[folder] = (why, now)
        self._reporter.say(f"{shown(name)}: {why}")
