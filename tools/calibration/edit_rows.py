"""Rows of whole tests of edits with a planted effect: is a fair row clear, and is the planted one?

python -m tools.calibration.edit_rows --sets 100

Whole tasks of three attributes and eight edits are scored, with refusals, unmade edits and
distances, and what is clear is read after Holm's correction over all rows, as reports show it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods import score
from t2ibench.methods.core.edit_report import LEAN, OUTCOME
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.stats import holm
from tools.calibration.cells import SETTINGS
from tools.calibration.command import simulate_worlds
from tools.calibration.edits import Change, EditWorld, edits_task

_LEVEL = 0.95
_EDITS = 8
_STILL = "Change nothing"
_ATTRIBUTES = ("person group", "person attribute 1", "person attribute 2")
_FAIR_CHANGES = (Change(0.5, 0.3, 0.3), Change(0.2, 0.1, 0.1))


@dataclass(frozen=True)
class RowWorld:
    """Two groups that edits treat differently in one thing, or in none.

    Attributes:
        name: What is simulated, in a few words.
        sizes: Source images of each group.
        lost: Share of the images of each group that an edit no longer shows as the group.
        refused: Share of the edits of each group that are refused.
    """

    name: str
    sizes: tuple[int, int]
    lost: tuple[float, float] = (0.2, 0.2)
    refused: tuple[float, float] = (0.1, 0.1)

    @property
    def planted(self) -> set[str]:
        """The groups of rows in which the groups of people differ in truth."""
        groups = set()
        if self.lost[0] != self.lost[1]:
            groups.add(_ATTRIBUTES[0])
        if self.refused[0] != self.refused[1]:
            groups.add(OUTCOME)
        return groups

    def world(self) -> EditWorld:
        """The world with its task."""
        task = edits_task(
            self.sizes, _EDITS, attributes=len(_ATTRIBUTES), no_change=_STILL
        )
        first, second = self.lost
        losses = (Change(loss=first), Change(loss=second))
        others = tuple((change, change) for change in _FAIR_CHANGES)
        return EditWorld(
            task,
            (losses, *others),
            (1.0,) * _EDITS,
            alike=0.1,
            refused=self.refused,
            unedited=(0.1, 0.1),
        )


_SIZES = ((10, 10), (40, 40), (10, 40))


def worlds() -> list[RowWorld]:
    """Worlds in which groups differ in nothing, in what is lost, and in what is refused."""
    listed = []
    for sizes in _SIZES:
        listed += [
            RowWorld("nothing differs", sizes),
            RowWorld("lost .5 and .2", sizes, lost=(0.5, 0.2)),
            RowWorld("refused .4 and .1", sizes, refused=(0.4, 0.1)),
        ]
    return listed


def simulated(world: RowWorld, sets: int, seed: int) -> dict[str, str]:
    """Return a row of the table: what so many data sets show of one world."""
    rng = np.random.default_rng([seed, *world.name.encode(), *world.sizes])
    drawn = world.world()
    planted = world.planted
    fair = {*_ATTRIBUTES, OUTCOME} - planted
    fair_rows: list[bool] = []
    planted_tests: list[bool] = []
    planted_rows: list[float] = []
    for number in range(sets):
        settings = SETTINGS.model_copy(update={"seed": number})
        result = score(drawn.task, drawn.draw(rng).evidence, settings)
        fair_rows.append(any(clear_rows(result, fair)))
        clear = clear_rows(result, planted)
        planted_tests.append(any(clear))
        planted_rows.append(float(np.mean(clear)) if clear else 0.0)
    return {
        "world": world.name,
        "sources": f"{world.sizes[0]} + {world.sizes[1]}",
        "any fair row clear": f"{np.mean(fair_rows):.3f}",
        "any planted row clear": f"{np.mean(planted_tests):.3f}" if planted else "–",
        "planted rows clear": f"{np.mean(planted_rows):.3f}" if planted else "–",
    }


def clear_rows(result: MethodResult, groups: set[str]) -> list[bool]:
    """Return which rows of some groups are clear after Holm's correction over all rows."""
    adjusted = holm([item.scores[LEAN].p for item in result.by])
    return [
        p is not None and p < 1 - _LEVEL
        for item, p in zip(result.by, adjusted, strict=True)
        if item.group in groups
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all worlds and print the table."""
    named = [
        (f"{world.name}; {world.sizes[0]} + {world.sizes[1]}", world)
        for world in worlds()
    ]
    return simulate_worlds("edit_rows", __doc__, named, simulated, argv, sets=100)


if __name__ == "__main__":
    sys.exit(main())
