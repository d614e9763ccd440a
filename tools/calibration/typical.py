"""Write the pilots of tasks that were never run: each shipped task, drawn and read by toyland.

python -m tools.calibration.typical        # writes t2ibench/power/simulated.json

Of several data sets, the one with the median width of its intervals is the pilot.
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
from t2ibench.methods.core.schema import BaseTask
from t2ibench.power.forecasters import forecaster
from t2ibench.power.pilots import SIMULATED, Size
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from tools.calibration.cells import ToylandWorld
from tools.calibration.toyland import toyland_sample

_DATA_SETS = 5


def pilot(task: BaseTask) -> dict[str, Any] | None:
    """What `t2ibench power` knows of a task; None where it has no images, or toyland no lean."""
    settings = Settings(n_permutations=10_000, n_bootstrap=50)
    needed = needs(task, settings)
    headlines = []
    for seed in range(_DATA_SETS) if needed.prompts else ():
        sample = toyland_sample(ToylandWorld({}), needed, seed)
        scored = score(task, sample.evidence, settings.model_copy(update={"seed": seed}))
        headline = combine(task, [scored], settings).headline
        asked = headline.inference.values()
        widths = [
            one.ci_high - one.ci_low
            for one in asked
            if one.ci_low is not None and one.ci_high is not None
        ]
        if headline.value is not None and headline.chosen.ci_low is not None:
            headlines.append((sum(widths), seed, headline))
    if not headlines:
        return None
    headline = sorted(headlines)[len(headlines) // 2][2]
    strata, level = needed.images_by_prompt, settings.level
    return {
        "method": task.method,
        "size": asdict(Size.of(needed)),
        "question": headline.question,
        "forecasters": {name: _forecaster(headline, name, strata, level) for name in QUESTIONS},
    }


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
    """Simulate every task of `all` and `core`, and write what was found."""
    pilots = {task.id: pilot(task.spec) for task in load_tasks("all,core")}
    found = {name: one for name, one in pilots.items() if one is not None}
    text = json.dumps(found, default=np.ndarray.tolist, separators=(",", ":"))
    SIMULATED.write_text(text.replace('},"', '},\n"') + "\n", encoding="utf-8")
    print(f"{SIMULATED}: {', '.join(found)}")


if __name__ == "__main__":
    main()
