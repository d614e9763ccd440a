"""Reports on how much the wording of prompts changes leans, for each pair of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from t2ibench.methods.core.headline import HeadlineEstimate
from t2ibench.methods.core.leans import Leans
from t2ibench.methods.core.wording_report import by_wording, wording_report
from t2ibench.methods.occupations.headline import headline_of
from t2ibench.methods.occupations.leans import PairLeans
from t2ibench.methods.occupations.schema import OccupationsTask


def wording_details(
    task: OccupationsTask, pairs: Sequence[PairLeans], level: float
) -> dict[str, Any]:
    """Return a report for each pair on how wordings change leans, as an entry of `details`."""
    reports = []
    for pair in pairs:
        if pair.unclear is not None:
            continue

        def headline(leans: Leans, pair: PairLeans = pair) -> HeadlineEstimate:
            return headline_of([replace(pair, leans=leans)], level)

        numbers = np.arange(len(pair.leans.names))
        report = wording_report(
            pair.leans,
            task.prompts.wordings,
            [("stimuli", numbers, numbers)],
            by_wording(pair.leans),
            headline,
            pair="-".join(pair.pair.names) if len(pairs) > 1 else None,
            about_others=True,
        )
        if report is not None:
            reports.append(asdict(report))
    return {"wording": reports} if reports else {}
