"""Which cells there are, over all methods, those of installed packages too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from t2ibench.errors import T2IBenchError, did_you_mean, first_line
from t2ibench.methods import METHODS
from t2ibench.methods.core.cells import Cell, ToylandWorld
from t2ibench.registry import load_target

QUICK_SETS = 150
FULL_SETS = 2000
_FEWEST = 40


@dataclass(frozen=True, slots=True)
class Job:
    """A cell and how often it is simulated.

    Attributes:
        method: Name of its method.
        cell: Its name.
        sets: Data sets.
    """

    method: str
    cell: str
    sets: int


@lru_cache
def cells_of(method: str) -> dict[str, Cell]:
    """The cells of a method."""
    target = getattr(METHODS.get(method), "calibrates", None)
    if target is None:
        return {}
    try:
        cells = list(load_target(target)())
    except T2IBenchError:
        raise
    except Exception as error:
        raise T2IBenchError(
            f"The cells of the method '{method}' cannot be made: {type(error).__name__}: "
            f"{first_line(error)}."
        ) from error
    by_name = {cell.name: cell for cell in cells}
    if len(by_name) < len(cells):
        raise T2IBenchError(f"The method '{method}' has two cells of one name.")
    return by_name


def choose(
    families: Sequence[str] = (),
    *,
    quick: bool = False,
    toyland: bool = False,
    sets: int | None = None,
    containing: str = "",
) -> list[Job]:
    """The cells that a calibration simulates."""
    for name in families:
        if name not in METHODS:
            raise METHODS.unknown(name)
        if not cells_of(name):
            known = [method for method in METHODS if cells_of(method)]
            raise T2IBenchError(
                f"The method '{name}' has nothing to simulate.{did_you_mean(name, known)}",
                f"Methods with cells: {', '.join(known)}.",
            )
    wanted = sets or (QUICK_SETS if quick else FULL_SETS)
    jobs = [
        Job(method, cell.name, max(_FEWEST, round(wanted * cell.share)))
        for method in (families or METHODS.names())
        for cell in cells_of(method).values()
        if isinstance(cell.world, ToylandWorld) == toyland
        and (cell.quick or not quick)
        and containing.lower() in cell.name.lower()
    ]
    if not jobs:
        raise T2IBenchError(
            "There is no such cell to simulate.", "Leave --quick, --toyland or --cell out."
        )
    return jobs
