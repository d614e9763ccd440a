"""Changes of an attribute from source images to their edits, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.methods.edits.gathering import Answers, EditedGroup
from t2ibench.methods.edits.mean_change import (
    BOTH_WAYS,
    LOSS,
    GroupChanges,
    Range,
    difference_of_changes,
    mean_changes,
)
from t2ibench.methods.edits.schema import EditAttribute, EditsTask


@dataclass(frozen=True, slots=True)
class GroupedChange:
    """How something changes from source images to edits, in every group.

    Attributes:
        name: What changes, as rows call it.
        between: The two groups that are compared.
        edits: Names of the edits, in the order of the changes.
        by_group: Group to its changes.
    """

    name: str
    between: tuple[str, str]
    edits: tuple[str, ...]
    by_group: dict[str, GroupChanges]

    def possible_by(self, edits: Sequence[int]) -> Range:
        """Return what the change of one image by some of the edits can be."""
        return BOTH_WAYS

    @property
    def sign(self) -> float:
        """The sign with which changes count."""
        return 1.0

    @property
    def shared_edits(self) -> list[int]:
        """Numbers of the edits of which both compared groups have images before and after."""
        return [
            number
            for number in range(len(self.edits))
            if all(
                self.by_group[name].of_edits([number]).pairs for name in self.between
            )
        ]

    def difference(self, level: float, edits: Sequence[int] | None = None) -> Estimate:
        """Return the lean of the change between the compared groups, by some edits or all.

        It is what the first group gains less what the second gains. Of an attribute that defines
        the groups, which images that show it can only lose, it is the share that is lost. Edits
        that are missing altogether in one of the two groups do not count.
        """
        chosen = self.shared_edits if edits is None else list(edits)
        first, second = (self.by_group[name].of_edits(chosen) for name in self.between)
        return difference_of_changes(
            first,
            second,
            self.possible_by(chosen),
            level,
            sign=self.sign,
        )

    def changes(
        self, level: float, edits: Sequence[int] | None = None
    ) -> dict[str, Estimate]:
        """Return the change of each group, by some edits or all, after less before."""
        chosen = self.shared_edits if edits is None else list(edits)
        groups = [changes.of_edits(chosen) for changes in self.by_group.values()]
        estimates = mean_changes(groups, self.possible_by(chosen), level)
        return dict(zip(self.by_group, estimates, strict=True))


@dataclass(frozen=True, slots=True)
class FollowedChange(GroupedChange):
    """How the share of an attribute's followed class changes, in every group.

    Attributes:
        attribute: The attribute.
    """

    attribute: EditAttribute

    def possible_by(self, edits: Sequence[int]) -> Range:
        """Return what the change of one image can be, by any edit."""
        return self.possible

    @property
    def possible(self) -> Range:
        """What the change of one image can be."""
        return LOSS if self.attribute.defines_groups else BOTH_WAYS

    @property
    def sign(self) -> float:
        """The sign with which changes count: a loss is positive where only a loss is possible."""
        return -1.0 if self.attribute.defines_groups else 1.0


def followed_change(
    task: EditsTask,
    attribute: EditAttribute,
    groups: Sequence[EditedGroup],
    edits: Sequence[str],
) -> FollowedChange:
    """Return how an attribute changes by the named edits."""
    return FollowedChange(
        name=attribute.full_name,
        attribute=attribute,
        between=task.compared_groups,
        edits=tuple(edits),
        by_group={
            group.name: _changes_of_group(attribute, group, edits) for group in groups
        },
    )


def _changes_of_group(
    attribute: EditAttribute, group: EditedGroup, edits: Sequence[str]
) -> GroupChanges:
    """Return the changes of the share of a group's followed class, NaN without both answers."""
    followed = attribute.followed_class(group.name)
    name = attribute.full_name
    before = shows(group.before[name], followed, attribute.classes)
    after = []
    for edit in edits:
        of_edit = [
            shows(images.after[name], followed, attribute.classes)
            for images in group.edits[edit]
        ]
        after.append(of_edit)
    values = np.array(after, dtype=np.float64).transpose(1, 0, 2)
    changes = values - np.array(before)[:, None, None]
    return GroupChanges(group.name, group.numbers, changes)


def shows(answers: Answers, followed: str, classes: Sequence[str]) -> list[float]:
    """Return 1 for each answer that is the followed class, 0 for another class, NaN for none.

    Examples:
        >>> shows(("male", "female", "unknown", None), "female", ("male", "female"))
        [0.0, 1.0, nan, nan]
    """
    return [
        float(answer == followed)
        if answer in classes and answer != UNKNOWN
        else float("nan")
        for answer in answers
    ]
