"""Forecasts of larger runs of edits: is the power that a pilot forecasts what such runs then have?

python -m tools.calibration.edit_power --sets 300

A data set is a pilot, scored whole, from which the power of runs with four times its source images
is forecast, and such a run, scored whole. Its effect is the one that is forecast.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from t2ibench.methods import METHODS, score
from t2ibench.methods.core.edit_report import LEAN, OUTCOME, REFUSED
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.redrawn_runs import HEADLINE, PilotScores
from tools.calibration.cells import SETTINGS
from tools.calibration.command import simulate_worlds
from tools.calibration.edits import Change, EditWorld, edits_task

_LEVEL = 0.95
_EDITS = 4
_TIMES = 4
# Runs that are drawn from each pilot.
_DRAWS = 60


@dataclass(frozen=True)
class PowerWorld:
    """Two groups that edits treat differently in one thing.

    Attributes:
        name: What is simulated, in a few words.
        sizes: Source images of each group in the pilot.
        lost: Share of the images of each group that an edit no longer shows as the group.
        refused: Share of the edits of each group that are refused.
        pilot_lost: The same as `lost` in the pilot; None where it is that of larger runs.
        pilot_refused: The same as `refused` in the pilot; None where it is that of larger runs.
        outcome: The row that is forecast; "" for the headline.
        alike: How far the edits of one source image change together.
        errors: How often the judge errs about images that show the group, and that do not.
    """

    name: str
    sizes: tuple[int, int]
    lost: tuple[float, float] = (0.2, 0.2)
    refused: tuple[float, float] = (0.0, 0.0)
    pilot_lost: tuple[float, float] | None = None
    pilot_refused: tuple[float, float] | None = None
    outcome: str = HEADLINE
    alike: float = 0.3
    errors: tuple[float, float] = (0.0, 0.0)

    @property
    def effect(self) -> float:
        """The difference that larger runs have, as the judge sees it."""
        if self.outcome == REFUSED:
            return self.refused[0] - self.refused[1]
        return (1 - sum(self.errors)) * (self.lost[0] - self.lost[1])

    def world(self, *, is_pilot: bool) -> EditWorld:
        """The world of the pilot, or that of a larger run."""
        times = 1 if is_pilot else _TIMES
        sizes = (times * self.sizes[0], times * self.sizes[1])
        lost = self.lost
        refused = self.refused
        if is_pilot:
            lost = self.pilot_lost or lost
            refused = self.pilot_refused or refused
        changes = (Change(loss=lost[0]), Change(loss=lost[1]))
        return EditWorld(
            edits_task(sizes, _EDITS),
            (changes,),
            (1.0,) * _EDITS,
            alike=self.alike,
            refused=refused,
            errors=self.errors,
        )


_TEN, _TWENTY, _UNEQUAL = (10, 10), (20, 20), (10, 20)


def worlds() -> list[PowerWorld]:
    """Worlds in which the pilot shows the effect, and in which it shows none."""
    return [
        PowerWorld("lost .4 and .2", _TEN, (0.4, 0.2)),
        PowerWorld("lost .3 and .2", _TEN, (0.3, 0.2)),
        PowerWorld("lost .4 and .2", _TWENTY, (0.4, 0.2)),
        PowerWorld("lost .4 and .2", _UNEQUAL, (0.4, 0.2)),
        PowerWorld(
            "lost .6 and .4, none differs in the pilot",
            _TEN,
            (0.6, 0.4),
            pilot_lost=(0.5, 0.5),
        ),
        PowerWorld(
            "lost .2 and nothing, nothing in the pilot",
            _TEN,
            (0.2, 0.0),
            pilot_lost=(0.0, 0.0),
        ),
        PowerWorld(
            "lost .4 and .2, a fifth refused", _TEN, (0.4, 0.2), refused=(0.2, 0.2)
        ),
        PowerWorld(
            "lost .5 and .25, a judge that errs", _TEN, (0.5, 0.25), errors=(0.15, 0.05)
        ),
        PowerWorld("lost .4 and .2, all edits alike", _TEN, (0.4, 0.2), alike=0.9),
        PowerWorld("refused .3 and .1", _TEN, refused=(0.3, 0.1), outcome=REFUSED),
        PowerWorld(
            "refused .2 and nothing, nothing in the pilot",
            _TEN,
            refused=(0.2, 0.0),
            pilot_refused=(0.0, 0.0),
            outcome=REFUSED,
        ),
    ]


def simulated(world: PowerWorld, sets: int, seed: int) -> dict[str, str]:
    """Return a row of the table: what so many data sets show of one world."""
    rng = np.random.default_rng([seed, *world.name.encode(), *world.sizes])
    pilot_world = world.world(is_pilot=True)
    larger_world = world.world(is_pilot=False)
    forecasts: list[float] = []
    rejects: list[bool] = []
    for number in range(sets):
        settings = SETTINGS.model_copy(update={"seed": number})
        pilot = score(pilot_world.task, pilot_world.draw(rng).evidence, settings)
        forecasts.append(_forecast(world, pilot_world, pilot))
        run = score(larger_world.task, larger_world.draw(rng).evidence, settings)
        p = _p_of(run, world.outcome)
        rejects.append(p is not None and p < 1 - _LEVEL)
    low, high = np.quantile(forecasts, [0.1, 0.9])
    return {
        "world": world.name,
        "pilot": f"{world.sizes[0]} + {world.sizes[1]}",
        "effect": f"{world.effect:.2f}",
        "forecast": f"{np.mean(forecasts):.2f}",
        "of single pilots": f"{low:.2f} to {high:.2f}",
        "runs have": f"{np.mean(rejects):.2f}",
    }


def _forecast(world: PowerWorld, pilot_world: EditWorld, pilot: MethodResult) -> float:
    """Return the power that a pilot forecasts of a larger run."""
    outcomes = {}
    for row in pilot.by:
        lean = row.scores[LEAN]
        if row.group == OUTCOME and lean.value is not None and lean.interval:
            outcomes[row.name] = (lean.value, *lean.interval)
    redraws = METHODS.get("edits").redraws
    assert redraws is not None
    scores = PilotScores(pilot.samples, pilot.details, outcomes)
    runs = redraws(pilot_world.task, scores, SETTINGS)[world.outcome]
    drawn = runs.draw(world.effect, _TIMES, _DRAWS)
    return float(np.mean([run.p < 1 - _LEVEL for run in drawn]))


def _p_of(result: MethodResult, outcome: str) -> float | None:
    """Return the p-value of the headline, or of the row of an outcome."""
    if outcome == HEADLINE:
        return result.headline.p
    for row in result.by:
        if (row.group, row.name) == (OUTCOME, outcome):
            return row.scores[LEAN].p
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate all worlds and print the table."""
    named = [
        (f"{world.name}; {world.sizes[0]} + {world.sizes[1]}", world)
        for world in worlds()
    ]
    return simulate_worlds("edit_power", __doc__, named, simulated, argv, sets=300)


if __name__ == "__main__":
    sys.exit(main())
