"""Which cells there are, and which of them a calibration simulates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from t2ibench.errors import T2IBenchError, did_you_mean
from tools.calibration import (
    edits,
    mcas,
    occupations,
    openbias,
    t2iat,
    tibet,
    vibex,
    weat,
)
from tools.calibration.cells import Cell, ToylandWorld
from tools.calibration.framing import framing_cells
from tools.calibration.simulate import Job

QUICK_SETS = 150
FULL_SETS = 2000
_FEWEST = 40

Families = Mapping[str, Callable[[], list[Cell]]]
FAMILIES: Families = {
    "weat": weat.cells,
    "t2iat": t2iat.cells,
    "occupations": lambda: [*occupations.cells(), *framing_cells()],
    "mcas": mcas.cells,
    "openbias": openbias.cells,
    "tibet": tibet.cells,
    "vibex": vibex.cells,
    "edits": edits.cells,
}


def choose(
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    toyland: bool = False,
    sets: int | None = None,
    containing: str = "",
    families: Families = FAMILIES,
) -> list[Job]:
    """The cells that a calibration simulates."""
    for name in names:
        if name not in families:
            raise T2IBenchError(
                f"There are no cells of a method '{name}'.{did_you_mean(name, list(families))}",
                f"Methods with cells: {', '.join(families)}.",
            )
    wanted = sets or (QUICK_SETS if quick else FULL_SETS)
    jobs = [
        Job(cell, max(_FEWEST, round(wanted * cell.share)))
        for name in names or families
        for cell in families[name]()
        if isinstance(cell.world, ToylandWorld) == toyland
        and (cell.quick or not quick)
        and containing.lower() in cell.name.lower()
    ]
    if not jobs:
        raise T2IBenchError(
            "There is no such cell to simulate.",
            "Leave --quick, --toyland or --cell out.",
        )
    return jobs
