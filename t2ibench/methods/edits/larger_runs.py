"""Runs like a pilot with more source images and a planted difference, drawn from its images.

A source image is drawn with all of its edits, so that refusals, a judge's errors, and how far edits
of one source image change together are those of the pilot.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import stdtrit

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.edit_report import (
    ALL_EDITS,
    REFUSED,
    EditOutcomes,
    EditReport,
    edit_report,
)
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.core.redrawn_runs import (
    HEADLINE,
    DrawnRun,
    PilotScores,
    RedrawnRuns,
)
from t2ibench.methods.edits.cautious_test import cautiously_tested
from t2ibench.methods.edits.mean_change import (
    BOTH_WAYS,
    LOSS,
    SHARE,
    GroupChanges,
    Range,
    difference_of_changes,
    edits_together,
)
from t2ibench.methods.edits.outcomes import NOT_EDITED, share_of_outcome
from t2ibench.methods.edits.schema import EditsTask
from t2ibench.settings import Settings

_SEED = 2026
_FEWEST_SOURCES = 2
# Source images that stand for endlessly many, as a multiple of the pilot's.
_MANY = 1000
# A drawn run has no difference where one group has no image of an edit.
_NOTHING = DrawnRun(p=1.0, width=2.0)


@dataclass(frozen=True, slots=True)
class PilotGroup:
    """The answers about one group's source images and edits in a pilot.

    Attributes:
        before: 1 where a source image shows the followed class, else 0, shape (n,).
        after: The same of its edits, NaN where there is no answer, shape (n, cells).
        n_sources: Number of source images in the pilot.
    """

    before: Float64Array
    after: Float64Array
    n_sources: int

    @property
    def change(self) -> float:
        """The mean over edits of the mean change over source images."""
        return float(np.nanmean(self.after - self.before[:, None], axis=0).mean())

    @property
    def share_after(self) -> float:
        """The mean over edits of the share of edits that show the class."""
        return float(np.nanmean(self.after, axis=0).mean())

    def chance_of(self, shift: float) -> float:
        """Return the chance to move each edit that moves the mean change by a shift.

        A negative shift moves edits that show the class; a positive one those that do not.
        """
        share = self.share_after
        room = 1 - share if shift > 0 else share
        return abs(shift) / room if room > 0 else 0.0

    def drawn(
        self,
        rng: np.random.Generator,
        *,
        group: str,
        size: int,
        chance: float,
        upwards: bool,
        alike: float,
    ) -> GroupChanges:
        """Return the changes of drawn source images, some of whose edits are moved.

        Args:
            rng: Draws them.
            group: What the group is called, by which its source images differ from others'.
            size: Number of source images.
            chance: Chance of an edit to be moved, if it is on the side that is moved.
            upwards: Whether edits that do not show the class show it then, or the other way round.
            alike: Share of the source images whose edits are moved together.
        """
        chosen = rng.integers(0, len(self.before), size=size)
        before = self.before[chosen][:, None]
        after = self.after[chosen]
        moved = _moved(rng, after.shape, chance, alike)
        movable = after == (0.0 if upwards else 1.0)
        shifted = np.where(moved & movable, 1 - after, after)
        return GroupChanges(group, np.arange(size), (shifted - before)[:, :, None])


def _moved(
    rng: np.random.Generator, shape: tuple[int, ...], chance: float, alike: float
) -> BoolArray:
    """Return which edits are moved; of some source images all or none."""
    together = rng.random((shape[0], 1)) < alike
    of_source = rng.random((shape[0], 1))
    of_edit = rng.random(shape)
    moved: BoolArray = np.where(together, of_source, of_edit) < chance
    return moved


@dataclass(frozen=True, slots=True)
class RedrawnEdits:
    """Draws runs of edits from a pilot's; see `core.redrawn_runs.RedrawnRuns`.

    Attributes:
        groups: The two groups that are compared.
        possible: What the change of one image can be.
        sign: -1 where a loss counts as positive.
        level: Confidence level of the interval.
        alike: How far the edits of one source image change together in the pilot, from 0 to 1.
    """

    groups: tuple[PilotGroup, PilotGroup]
    possible: Range
    sign: float
    level: float
    alike: float

    @property
    def smallest_group(self) -> int:
        """Number of source images in the smaller group."""
        return min(group.n_sources for group in self.groups)

    def draw(self, effect: float, times: float, count: int) -> list[DrawnRun]:
        """Return what so many runs with a planted difference show."""
        shifts = self._shifts(effect)
        sizes = [
            max(_FEWEST_SOURCES, round(group.n_sources * times))
            for group in self.groups
        ]
        draws = [
            partial(
                group.drawn,
                size=size,
                chance=group.chance_of(shift),
                upwards=shift > 0,
                alike=self.alike,
            )
            for group, size, shift in zip(self.groups, sizes, shifts, strict=True)
        ]
        rng = np.random.default_rng([_SEED, *sizes])
        first, second = draws
        return [
            self._shown_by(first(rng, group="first"), second(rng, group="second"))
            for _ in range(count)
        ]

    def _shown_by(self, first: GroupChanges, second: GroupChanges) -> DrawnRun:
        """Return what the changes of two groups show."""
        difference = difference_of_changes(
            first, second, self.possible, self.level, sign=self.sign
        )
        tested = cautiously_tested(difference, self.level)
        if tested.p is None or tested.interval is None:
            return _NOTHING
        low, high = tested.interval
        return DrawnRun(tested.p, high - low)

    def _shifts(self, effect: float) -> tuple[float, float]:
        """Return how far the mean change of each group is moved for a planted difference.

        The difference has the pilot's sign. Each group is moved by half of the rest, as far as
        it can be: no share is below 0 or above 1.
        """
        first, second = self.groups
        measured = first.change - second.change
        wanted = effect if measured >= 0 else -effect
        missing = wanted - measured
        of_first = _within_room(first, missing / 2)
        of_second = _within_room(second, of_first - missing)
        of_first = _within_room(first, missing + of_second)
        reached = measured + of_first - of_second
        if abs(reached - wanted) > 1e-9:
            raise T2IBenchError(
                f"A difference of {effect:g} is not possible here: the shares that the groups show "
                f"allow {abs(reached):.2f}.",
                "Give a smaller --effect.",
            )
        return of_first, of_second


def _within_room(group: PilotGroup, shift: float) -> float:
    """Return a shift of a group's mean that leaves its share between 0 and 1."""
    share = group.share_after
    return float(np.clip(shift, -share, 1 - share))


def redraws(
    task: EditsTask, pilot: PilotScores, settings: Settings
) -> dict[str, RedrawnRuns]:
    """Return draws of runs for the headline and for each outcome of edits, by name.

    Raises:
        T2IBenchError: the pilot has too few source images with an answer.
    """
    of_headline = _redrawn_headline(task, pilot.samples, settings)
    runs: dict[str, RedrawnRuns] = {HEADLINE: of_headline}
    report = edit_report(pilot.details)
    if report is not None:
        asked = [
            edit.name
            for edit in task.edits
            if edit.question is not None and edit.name in report.edits
        ]
        runs |= _redrawn_outcomes(report, asked, pilot.outcomes, settings.level)
    return runs


def _redrawn_headline(
    task: EditsTask, samples: Iterable[Mapping[str, Any]], settings: Settings
) -> RedrawnRuns:
    """Return draws of runs for the headline of a task, from the samples of a pilot.

    Raises:
        T2IBenchError: one of the compared groups has too few source images with an answer.
    """
    attribute = task.headline_attribute
    edits = [edit.name for edit in settings.limited(task.edits)]
    rows = [
        row
        for row in samples
        if row["attribute"] == attribute.full_name and row["edit"] in edits
    ]
    first, second = (
        _group_of(
            [row for row in rows if row["group"] == group],
            attribute.followed_class(group),
            attribute.classes,
            edits,
            task.images_per_edit,
        )
        for group in task.compared_groups
    )
    shared = np.isfinite(first.after).any(axis=0) & np.isfinite(second.after).any(
        axis=0
    )
    if min(first.n_sources, second.n_sources) < _FEWEST_SOURCES or not shared.any():
        raise T2IBenchError(
            "The pilot does not say how far its headline varies: fewer than two source images of a "
            "group have an answer before and after.",
        )
    groups = (
        PilotGroup(first.before, first.after[:, shared], first.n_sources),
        PilotGroup(second.before, second.after[:, shared], second.n_sources),
    )
    return RedrawnEdits(
        groups=groups,
        possible=LOSS if attribute.defines_groups else BOTH_WAYS,
        sign=-1.0 if attribute.defines_groups else 1.0,
        level=settings.level,
        alike=_alike(groups),
    )


def _redrawn_outcomes(
    report: EditReport,
    asked: Sequence[str],
    intervals: Mapping[str, tuple[float, float, float]],
    level: float,
) -> dict[str, RedrawnRuns]:
    """Return draws of runs for the difference of each outcome's shares, by outcome.

    Refusals are among them also where the pilot has none.

    Args:
        report: The pilot's counts.
        asked: Names of the edits with a question, which alone are tested as not made.
        intervals: Outcome to the difference that was tested, with both ends of its interval.
        level: Confidence level of the intervals.
    """
    by_outcome: dict[str, RedrawnRuns] = {}
    sizes = [round(report.sources.get(group, 0)) for group in report.between]
    if min(sizes) < _FEWEST_SOURCES:
        return by_outcome
    rng = np.random.default_rng([_SEED, *sizes])
    for outcome in dict.fromkeys([*intervals, REFUSED]):
        counts = [
            _made_or_not(report, group, asked)
            if outcome == NOT_EDITED
            else _of_all_edits(report, group)
            for group in report.between
        ]
        shares = [share_of_outcome(of_group, outcome) for of_group in counts]
        n_edits = len(asked if outcome == NOT_EDITED else report.edits)
        alike = 1.0
        if outcome in intervals and n_edits > 1:
            alike = _alike_outcomes(intervals[outcome], shares, sizes, n_edits, level)
        groups = [
            _drawn_group(rng, share, size, n_edits, alike)
            for share, size in zip(shares, sizes, strict=True)
        ]
        by_outcome[outcome] = RedrawnEdits(
            groups=(groups[0], groups[1]),
            possible=SHARE,
            sign=1.0,
            level=level,
            alike=alike,
        )
    return by_outcome


def _of_all_edits(report: EditReport, group: str) -> EditOutcomes:
    """Return what became of all edits of a group's source images."""
    return next(
        row for row in report.outcomes if (row.edit, row.group) == (ALL_EDITS, group)
    )


def _made_or_not(report: EditReport, group: str, asked: Sequence[str]) -> EditOutcomes:
    """Return how many edits of a group were made and not made, of those with a question."""
    rows = [row for row in report.outcomes if row.group == group and row.edit in asked]
    return EditOutcomes(
        edit=ALL_EDITS,
        group=group,
        edited=sum(row.edited for row in rows),
        not_edited=sum(row.not_edited for row in rows),
    )


def _alike_outcomes(
    interval: tuple[float, float, float],
    shares: Sequence[float],
    sizes: Sequence[int],
    n_edits: int,
    level: float,
) -> float:
    """Return how far edits of a source image have an outcome together, read from an interval.

    Returns:
        The correlation that gives the interval its width, from 0 to 1.
    """
    value, low, high = interval
    # The wider side also holds the interval about a mean with two more observations.
    half = min(value - low, high - value)
    error = half / float(stdtrit(sum(sizes) - 2, (1 + level) / 2))
    of_single_edits = sum(
        share * (1 - share) / (size - 1)
        for share, size in zip(shares, sizes, strict=True)
    )
    if not of_single_edits > 0:
        return 1.0
    alone = 1 / n_edits
    ratio = float(np.clip(error**2 / of_single_edits, alone, 1.0))
    return (ratio - alone) / (1 - alone)


def _drawn_group(
    rng: np.random.Generator, share: float, size: int, n_edits: int, alike: float
) -> PilotGroup:
    """Return a group whose edits have an outcome with a known chance, for many source images."""
    many = _MANY * size
    occurs = _moved(rng, (many, n_edits), share, alike)
    return PilotGroup(np.zeros(many), occurs.astype(np.float64), size)


def _group_of(
    rows: Sequence[Mapping[str, Any]],
    followed: str,
    classes: Sequence[str],
    edits: Sequence[str],
    images: int,
) -> PilotGroup:
    """Return a group's answers before and after, with a column for each image of each edit."""
    sources = sorted({(row["source_prompt"], row["source_index"]) for row in rows})
    number = {source: place for place, source in enumerate(sources)}
    before = np.full(len(sources), np.nan)
    after = np.full((len(sources), len(edits) * images), np.nan)
    for row in rows:
        place = number[row["source_prompt"], row["source_index"]]
        if {row["before"], row["answer"]} <= set(classes) - {UNKNOWN}:
            column = edits.index(row["edit"]) * images + row["index"]
            before[place] = row["before"] == followed
            after[place, column] = row["answer"] == followed
    is_answered = np.isfinite(before)
    n_sources = int(is_answered.sum())
    return PilotGroup(before[is_answered], after[is_answered], n_sources)


def _alike(groups: Sequence[PilotGroup]) -> float:
    """Return how far edits of one source image change together: 0 each by itself, 1 all."""
    changes = [
        GroupChanges("", np.arange(len(group.before)), values[:, :, None])
        for group in groups
        for values in [group.after - group.before[:, None]]
    ]
    return edits_together(changes)
