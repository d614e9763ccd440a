"""The page that shows how each test changes over the sets that were scored, such as checkpoints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from t2ibench.decisions.each_run import decide_each
from t2ibench.decisions.profile import Profile, read_profile
from t2ibench.reports.html.trend_page import trend_html
from t2ibench.reports.several_runs_axes import axes_of
from t2ibench.results.compared_runs import read_runs
from t2ibench.results.several_runs import MOST_RUNS, compare_runs
from t2ibench.store.files import natural_key, write_text

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A set of images that was scored.

    Attributes:
        name: What it is called, such as the name of its folder.
        run: Its run folder.
    """

    name: str
    run: Path


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that were fixed beforehand, and the folder of their file."""

    profile: Profile
    base: Path

    @classmethod
    def read(cls, file: Path) -> Limits:
        """Return the limits of a file; raise an error if it is missing or invalid."""
        return cls(read_profile(file), file.parent)


def steps_of(names: Sequence[str]) -> list[float]:
    """Return the number in each name in which alone the names differ, if it ascends; else none.

    Names that differ in two numbers, such as an epoch and its loss, do not say which of them is
    the step.

    Examples:
        >>> steps_of(["checkpoint-500", "checkpoint-1000"])
        [500.0, 1000.0]
        >>> steps_of(["epoch-1-loss-0.12", "epoch-2-loss-0.10"])
        []
        >>> steps_of(["step-0", "step-0-version-2", "step-500"])
        []
    """
    texts_around = {tuple(_NUMBER.split(name)) for name in names}
    if len(texts_around) != 1:
        return []
    numbers = zip(*(_NUMBER.findall(name) for name in names), strict=True)
    differing = [place for place in numbers if len(set(place)) > 1]
    if len(differing) != 1:
        return []
    steps = [float(number) for number in differing[0]]
    ascend = all(before < after for before, after in pairwise(steps))
    return steps if ascend else []


def in_order(checkpoints: Sequence[Checkpoint]) -> list[Checkpoint]:
    """Return checkpoints in the natural order of their names, so that 1000 follows 500."""
    return sorted(checkpoints, key=lambda checkpoint: natural_key(checkpoint.name))


def spread(count: int, most: int) -> list[int]:
    """Return the places of at most `most` of `count` things, the first and the last among them.

    Examples:
        >>> spread(3, 20), spread(9, 3)
        ([0, 1, 2], [0, 4, 8])
    """
    if count <= most:
        return list(range(count))
    return [round(place * (count - 1) / (most - 1)) for place in range(most)]


def write_trend(
    checkpoints: Sequence[Checkpoint], page: Path, limits: Limits | None
) -> None:
    """Write the page of all checkpoints, or of as many as a comparison shows.

    Args:
        checkpoints: Two or more.
        page: The file.
        limits: Limits by which each is decided; None for no decisions.
    """
    ordered = in_order(checkpoints)
    shown = [ordered[place] for place in spread(len(ordered), MOST_RUNS)]
    left_out = ""
    if len(shown) < len(ordered):
        left_out = (
            f"{len(shown)} of {len(ordered)} are shown, the first and the last among them, evenly "
            "spread."
        )
    steps = steps_of([checkpoint.name for checkpoint in shown])
    folders = [checkpoint.run for checkpoint in shown]
    comparison = compare_runs(read_runs(folders, steps), ordered=True)
    decisions = []
    if limits is not None:
        decisions = decide_each(limits.profile, limits.base, folders)
    axes = axes_of(comparison)
    write_text(
        page, trend_html(comparison, axes, decisions=decisions, left_out=left_out)
    )
