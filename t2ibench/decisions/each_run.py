"""Decides about each of several runs, such as checkpoints, by one profile."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from t2ibench.decisions.decision import Decision, decide
from t2ibench.decisions.profile import Profile
from t2ibench.decisions.runs import ReferenceRuns, read_run
from t2ibench.errors import T2IBenchError


def decide_each(profile: Profile, base: Path, runs: Sequence[Path]) -> list[Decision]:
    """Return the decision about each run alone.

    Args:
        profile: The limits, fixed beforehand.
        base: Folder of the profile, below which the runs that it refers to are.
        runs: Folders of the runs.

    Raises:
        T2IBenchError: the limits are about two runs, or a run cannot be read.
    """
    check_decides_alone(profile)
    references = ReferenceRuns(base)
    today = datetime.now(tz=timezone.utc).date()
    return [
        decide(profile, read_run(path), references, None, today=today) for path in runs
    ]


def check_decides_alone(profile: Profile) -> None:
    """Raise an error if limits are about two runs."""
    if profile.needs_older_run:
        raise T2IBenchError(
            "The limits compare two runs, and each run is decided alone here.",
            "`t2ibench decide OLD NEW --accept FILE` compares two.",
        )
