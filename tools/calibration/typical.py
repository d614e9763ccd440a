"""Write the pilots of tasks that were never run: of each method one simulated task.

python -m tools.calibration.typical        # writes t2ibench/power/simulated.json

Of several data sets, the one with the median width of its interval is the pilot.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import asdict
from typing import Any

import numpy as np

from t2ibench.errors import T2IBenchError
from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.headline import QUESTIONS, Headline, Question
from t2ibench.power.forecasters import forecaster
from t2ibench.power.pilots import SIMULATED, Size
from tools.calibration.cells import Cell, ToylandWorld
from tools.calibration.families import FAMILIES

_DATA_SETS = 25


def pilot(cell: Cell) -> dict[str, Any]:
    """What `t2ibench power` knows of a method's tasks."""
    headline, needed = _median(cell), needs(cell.task, cell.settings)
    strata, level = needed.images_by_prompt, cell.settings.level
    known = {name: _forecaster(headline, name, strata, level) for name in QUESTIONS}
    return {
        "world": cell.name,
        "size": asdict(Size.of(needed)),
        "question": headline.question,
        "forecasters": known,
    }


def _median(cell: Cell) -> Headline:
    assert not isinstance(cell.world, ToylandWorld)
    headlines = []
    for number in range(_DATA_SETS):
        sample = cell.world.draw(np.random.default_rng(number))
        settings = cell.settings.model_copy(update={"seed": number})
        scored = score(cell.task, sample.evidence, settings)
        headline = combine(cell.task, [scored], settings).headline
        low, high = headline.chosen.ci_low, headline.chosen.ci_high
        if headline.value is not None and low is not None and high is not None:
            headlines.append((high - low, number, headline))
    return sorted(headlines)[len(headlines) // 2][2]


def _forecaster(
    headline: Headline, question: Question, strata: Collection[str], level: float
) -> dict[str, Any]:
    """The fields of a forecaster by the name of its class, without the level."""
    try:
        known = forecaster(headline, question, strata, level)
    except T2IBenchError as error:
        return {"unknown": error.message}
    fields = {name: value for name, value in asdict(known).items() if name != "level"}  # type: ignore[call-overload]
    return {type(known).__name__.lower(): fields}


def main() -> None:
    """Simulate the typical cell of each method, and write what was found."""
    typical = [cell for cells in FAMILIES.values() for cell in cells() if cell.typical]
    found = {cell.task.method: pilot(cell) for cell in typical}
    text = json.dumps(found, indent=1, default=np.ndarray.tolist)
    SIMULATED.write_text(text + "\n", encoding="utf-8")
    print(f"{SIMULATED}: {', '.join(found)}")


if __name__ == "__main__":
    main()
