"""The outcome of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from t2ibench.pipeline.score_cache import TaskScored
from t2ibench.results.schema import Results

_OF_SOURCES = "source images: "  # before what is about them


@dataclass(slots=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        results: What results.json holds; None if nothing was scored.
        folder: The run folder.
        attempts: Images that were tried now, by status.
        observed: Images and texts that were embedded, and questions that were answered now.
        damaged: Lines about image files that cannot be used.
        problems: Lines about everything else that the user must know.
        complete: Whether nothing is missing.
        scored: What was scored now, whatever other commands have written since.
        not_generated: Images that were tried now and are none, by status and reason.
        stopped: Each encoder or judge that was stopped, with the reason.
    """

    results: Results | None
    folder: Path
    attempts: Counter[str]
    observed: int
    damaged: list[str]
    problems: list[str]
    complete: bool = False
    scored: Mapping[str, TaskScored] = field(default_factory=dict)
    not_generated: Counter[tuple[str, str]] = field(default_factory=Counter)
    stopped: Mapping[str, str] = field(default_factory=dict)

    def add_sources(self, sources: Outcome) -> None:
        """Add what was observed of source images, and the problems with them."""
        self.observed += sources.observed
        self.damaged += sources.damaged
        self.problems += [f"{_OF_SOURCES}{line}" for line in sources.problems]
        for (status, reason), count in sources.not_generated.items():
            self.not_generated[status, f"{_OF_SOURCES}{reason}"] += count
        stopped = {
            f"{_OF_SOURCES}{reader}": reason
            for reader, reason in sources.stopped.items()
        }
        self.stopped = {**stopped, **self.stopped}
