"""How often single tests of the suite reject in toyland where nothing is planted.

python -m tools.calibration.single --tasks mcas_all,tibet_occupations --sets 1000

The world is fair and judged, as in whole runs (tools.calibration.runs), and p-values are those of
the test alone, before any correction over a run. Tests that ask for classes which toyland never
draws evenly reject rightly; see that module.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.results.display import state_of
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.loader import LoadedTask
from tools.calibration.command import (
    add_workers,
    drawn_sets,
    print_worlds,
    worlds_parser,
)
from tools.calibration.runs import WORLDS, measured
from tools.calibration.verdicts import rate_text

FAIR = next(world for world in WORLDS if world.name == "fair, and judged")
_Z = 1.96


def drawn(task: LoadedTask, first_seed: int, number: int) -> tuple[float, ...]:
    """Draw and score a test once.

    Returns:
        The headline, its p-value, and whether the test cannot tell; NaN where it has no value.
    """
    result = measured(FAIR, task, first_seed + number)
    headline = result.headline
    value = np.nan if headline.value is None else headline.value
    p = np.nan if headline.p is None else headline.p
    return value, p, float(state_of(result) == "cannot_tell")


def rates(sets: Float64Array) -> dict[str, str]:
    """Return what a table says of a test.

    Args:
        sets: Headline, p-value and whether it cannot tell, shape (sets, 3).
    """
    values, p, unsure = sets.T
    values = values[np.isfinite(values)]
    defined = p[np.isfinite(p)]
    error = _Z * values.std(ddof=1) / np.sqrt(len(values))
    return {
        "sets": str(len(defined)),
        "p < .05": rate_text((defined < 0.05).astype(np.float64)),
        "p < .01": rate_text((defined < 0.01).astype(np.float64)),
        "mean headline": f"{values.mean():+.4f} ± {error:.4f}",
        "cannot tell": rate_text(unsure),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate each test, and print the table."""
    parser = worlds_parser("single", __doc__)
    add_workers(parser)
    text = "simulate these tasks"
    parser.add_argument("--tasks", metavar="T,…", required=True, help=text)
    arguments = parser.parse_args(argv)

    def simulated(task: LoadedTask, _: int, seed: int) -> dict[str, str]:
        sets = drawn_sets(task.id, partial(drawn, task, seed), arguments)
        return {"test": task.id, **rates(sets)}

    tasks = ((task.id, task) for task in load_tasks(arguments.tasks))
    print_worlds(tasks, simulated, arguments)
    return 0


if __name__ == "__main__":
    from tools.calibration import single  # by its name, so that other processes find it

    sys.exit(single.main())
