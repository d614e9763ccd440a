"""Changes that are measured on the pixels of source images and edits, group by group.

Lightness of a part of the picture is that after the edit less that before it, within one scene: no
picture is compared with one of another scene. What should have stayed is a part of the picture, and
counts as far as it moves more than where no change is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.edits.changes import GroupedChange
from t2ibench.methods.edits.gathering import EditedGroup
from t2ibench.methods.edits.mean_change import (
    GroupChanges,
    Range,
    beside_zero,
    difference_of_changes,
    mean_changes,
)
from t2ibench.methods.edits.pixels import cells_in, distance, lightness
from t2ibench.methods.edits.schema import NO_CHANGE, Edit, EditsTask, Region
from t2ibench.stats.error_rate import error_rate

# The least that is taken for the largest change of a picture: one level of 255.
_ONE_LEVEL = 1 / 255

# The change of an image, in either direction, that intervals allow for although none was seen.
_FROM_DARK_TO_LIGHT = Range(mean=0.0, variance=0.4**2 / 2)

# What is measured of a source image and its edit, in some cells.
Measure = Callable[[Float64Array, Float64Array, BoolArray], float]


@dataclass(frozen=True, slots=True)
class MeasuredGroup:
    """What was measured on the pictures of one group.

    Attributes:
        group: Name of the group.
        before: Name of an edit to a value for each source image, NaN without, shape (n,).
        after: Name of an edit to a value for each image, NaN without, shape (n, images).
    """

    group: str
    before: dict[str, Float64Array]
    after: dict[str, Float64Array]

    def changes(self, edit: str) -> Float64Array:
        """Return after less before of each image of an edit, shape (n, images)."""
        return self.after[edit] - self.before[edit][:, None]


@dataclass(frozen=True, slots=True)
class MeasuredChange(GroupedChange):
    """How a measured value changes from source images to edits, in every group.

    Attributes:
        explanation: What is measured, as a sentence for pages.
        measured: The values of each group, also of edits that are controls.
    """

    explanation: str = ""
    measured: dict[str, MeasuredGroup] = field(default_factory=dict)

    def possible_by(self, edits: Sequence[int]) -> Range:
        """Return what the change of one image can be: as much as any did, in either direction.

        How far pixels can move depends on the edit, so that it is taken from the edit's images, of
        all groups: each of their intervals is widened by it.
        """
        largest = _ONE_LEVEL
        for changes in self.by_group.values():
            values = changes.of_edits(edits).values
            largest = max(largest, float(np.nanmax(np.abs(values), initial=0.0)))
        return Range(mean=0.0, variance=largest**2 / 2)

    def difference(self, level: float, edits: Sequence[int] | None = None) -> Estimate:
        """Return the lean of the change between the compared groups, by some edits or all.

        It is tested with what images show. Its interval also holds that with one more image of each
        group that changes from a dark face to a light one: ten images that all stay do not show
        that an eleventh would.
        """
        # Not super(): a dataclass with slots is another class than the one that is being defined.
        estimate = GroupedChange.difference(self, level, edits)
        chosen = self.shared_edits if edits is None else list(edits)
        first, second = (self.by_group[name].of_edits(chosen) for name in self.between)
        wide = difference_of_changes(first, second, _FROM_DARK_TO_LIGHT, level)
        if estimate.value is None or not estimate.interval or not wide.interval:
            return estimate
        interval = _both(estimate.interval, wide.interval)
        if estimate.p is not None and estimate.p < error_rate(level):
            interval = beside_zero(interval, estimate.value)
        return replace(estimate, interval=interval)

    def changes(
        self, level: float, edits: Sequence[int] | None = None
    ) -> dict[str, Estimate]:
        """Return the change of each group, by some edits or all, after less before."""
        chosen = self.shared_edits if edits is None else list(edits)
        groups = [changes.of_edits(chosen) for changes in self.by_group.values()]
        estimates = mean_changes(groups, self.possible_by(chosen), level)
        wide = mean_changes(groups, _FROM_DARK_TO_LIGHT, level)
        by_group: dict[str, Estimate] = {}
        for name, estimate, wider in zip(self.by_group, estimates, wide, strict=True):
            by_group[name] = estimate
            if estimate.interval and wider.interval:
                interval = _both(estimate.interval, wider.interval)
                by_group[name] = replace(estimate, interval=interval)
        return by_group

    @property
    def is_measured(self) -> bool:
        """Whether both compared groups have any value."""
        return bool(self.shared_edits)


def _both(
    first: tuple[float, float], second: tuple[float, float]
) -> tuple[float, float]:
    """Return the interval that holds two others."""
    return min(first[0], second[0]), max(first[1], second[1])


def measured_changes(
    task: EditsTask, groups: Sequence[EditedGroup], edits: Sequence[Edit]
) -> list[MeasuredChange]:
    """Return what is measured on pixels: lightness of each part, then what should have stayed.

    Args:
        task: The task.
        groups: What was collected.
        edits: The edits without the controls.
    """
    changes = []
    for region in task.lightness:
        cells = cells_in(region.box)
        changes.append(
            _measured_change(
                task,
                name_of_lightness(region),
                f"Lightness (L* divided by 100) of {_place_of(region)}",
                [_lightness_of_group(group, cells) for group in groups],
                groups,
                edits,
            )
        )
    if task.stays is not None:
        cells = cells_in(task.stays.box)
        changes.append(
            _measured_change(
                task,
                name_of_distance(task.stays),
                "Mean difference in brightness from the source image, from 0 to 1, where no change "
                f"was asked for and by the edit, in {_place_of(task.stays)}",
                [_distances_of_group(group, cells) for group in groups],
                groups,
                edits,
            )
        )
    return changes


def _place_of(region: Region) -> str:
    """Return what is measured of a region, in words that say what nobody has checked."""
    if region.box is None:
        return "the whole picture"
    shares = ", ".join(f"{part:g}" for part in region.box)
    return (
        f"the rectangle {shares} (left, top, right and lower end), where prompts ask for the "
        f"{region.name}"
    )


def name_of_distance(region: Region) -> str:
    """Return what rows call the distance of a part of the picture that should have stayed."""
    return f"distance of the {region.name}"


def name_of_lightness(region: Region) -> str:
    """Return what rows call the lightness of a part of the picture."""
    return f"lightness of the {region.name}"


def _measured_change(
    task: EditsTask,
    name: str,
    explanation: str,
    measured: Sequence[MeasuredGroup],
    groups: Sequence[EditedGroup],
    edits: Sequence[Edit],
) -> MeasuredChange:
    """Return the changes of a value by the measured edits."""
    names = tuple(edit.name for edit in edits)
    by_group: dict[str, GroupChanges] = {}
    for group, values in zip(groups, measured, strict=True):
        changes = np.stack([values.changes(edit) for edit in names], axis=1)
        by_group[group.name] = GroupChanges(group.name, group.numbers, changes)
    return MeasuredChange(
        name=name,
        between=task.compared_groups,
        edits=names,
        by_group=by_group,
        explanation=explanation,
        measured={values.group: values for values in measured},
    )


def _lightness_of_group(group: EditedGroup, cells: BoolArray) -> MeasuredGroup:
    """Return the lightness of some cells of a group's source images and edits."""
    before = np.array(
        [
            np.nan if picture is None else lightness(picture, cells)
            for picture in group.pictures
        ],
        dtype=np.float64,
    )
    return MeasuredGroup(
        group=group.name,
        before=dict.fromkeys(group.edits, before),
        after={edit: _of_pairs(group, edit, _after, cells) for edit in group.edits},
    )


def _distances_of_group(group: EditedGroup, cells: BoolArray) -> MeasuredGroup:
    """Return how far some cells of a group's edits are from those of their source images.

    Before is how far they are where no change is asked for, as the mean over the images of a source
    image.
    """
    after = {edit: _of_pairs(group, edit, distance, cells) for edit in group.edits}
    unasked = after[NO_CHANGE]
    counts = np.isfinite(unasked).sum(axis=1)
    means = np.nansum(unasked, axis=1) / np.maximum(counts, 1)
    before = np.where(counts > 0, means, np.nan)
    return MeasuredGroup(group.name, dict.fromkeys(group.edits, before), after)


def _after(source: Float64Array, edited: Float64Array, cells: BoolArray) -> float:
    """Return the lightness of some cells of an edited picture."""
    return lightness(edited, cells)


def _of_pairs(
    group: EditedGroup, edit: str, measure: Measure, cells: BoolArray
) -> Float64Array:
    """Return a measure of each pair of a source image and an image of its edit, NaN without one."""
    rows = []
    for source, images in zip(group.pictures, group.edits[edit], strict=True):
        row = [
            np.nan
            if source is None or picture is None
            else measure(source, picture, cells)
            for picture in images.pictures
        ]
        rows.append(row)
    n_images = max((len(row) for row in rows), default=1)
    return np.array(rows, dtype=np.float64).reshape(len(rows), n_images)
