"""What the wordings do, and how far apart the images of the groups are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.likeness import apart_mean, apart_row, halves, sides
from t2ibench.methods.core.wording_report import wording_report
from t2ibench.methods.core.wording_scores import Cells
from t2ibench.methods.occupations.headline import headline_of
from t2ibench.methods.occupations.leans import PairLeans
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.settings import Settings


def wording_details(
    task: OccupationsTask, pairs: Sequence[PairLeans], settings: Settings
) -> dict[str, Any]:
    """How much the wordings matter, as an entry of `details`."""
    reports = []
    for found in pairs:
        if found.gate.contradicts is not None:
            continue
        leans, at = found.leans, np.arange(len(found.leans.names))
        cells = Cells.of(leans)
        name = f"{found.pair.first.name}-{found.pair.second.name}"
        report = wording_report(
            leans,
            cells,
            task.prompts.wordings,
            [("stimuli", at, at)],
            (cells.top, cells.bottom),
            lambda one, found=found: headline_of(  # type: ignore[misc]
                [replace(found, leans=one)], settings.level
            ),
            pair=name if len(pairs) > 1 else None,
            about_others=True,
        )
        if report is not None:
            reports.append(report.as_detail())
    return {"wording": reports} if reports else {}


def likeness_scores(
    task: OccupationsTask, pairs: Sequence[PairLeans], settings: Settings
) -> dict[str, Estimate]:
    """How far apart the images of the groups are, over stimuli."""
    if not task.likeness or not pairs:
        return {}
    scores = {
        f"apart{found.pair.suffix}": apart_mean(
            [sides(wordings) for wordings in found.leans.images], settings.level
        )
        for found in pairs
    }
    uncued = [halves(wordings) for wordings in pairs[0].leans.images]
    return scores | {"apart_halves": apart_mean(uncued, settings.level)}


def likeness_rows(
    task: OccupationsTask, pairs: Sequence[PairLeans], settings: Settings
) -> list[dict[str, Estimate]]:
    """How far apart the images of the groups are, for each stimulus."""
    if not task.likeness or not pairs:
        return []
    return [
        {
            f"apart{found.pair.suffix}": apart_row(
                sides(found.leans.images[number]),
                settings.n_permutations,
                settings.rng(task.id, f"apart{found.pair.suffix} {name}"),
            )
            for found in pairs
        }
        for number, name in enumerate(pairs[0].leans.names)
    ]
