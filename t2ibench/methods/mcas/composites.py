"""MCAS, diffusion bias and bias amplification, from the four association scores.

Mandal, Leavy & Little 2023 (MCAS) and 2024 (delta, alpha). The association scores are averaged
over encoders first, as in section 5.2 of the paper; the composite scores are computed from those
means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from t2ibench.methods.core.estimate import Estimate, Item, MethodResult, average, average_results
from t2ibench.methods.mcas.schema import McasTask
from t2ibench.settings import Settings
from t2ibench.stats import percentile_interval

TERMS = ("ii", "itp", "it", "tt")
_FEWEST_POINTS = 6  # targets with an alpha, for a curve


def composite(ii: Any, itp: Any, it: Any, tt: Any) -> dict[str, Any]:
    """MCAS, delta, its signed form, and alpha (Mandal et al. 2024, eqs. 3, 4 and 5).

    mcas = II + ITP + IT + TT
    delta = | |II| - |TT| |, signed_delta = |II| - |TT|
    alpha = | (ITP + IT) / (2 TT) |

    Args:
        ii: Target images with attribute images; a number, or an array of any shape.
        itp: Target prompt with attribute images; as `ii`.
        it: Target images with attribute words; as `ii`.
        tt: Target prompt with attribute words; as `ii`.

    Returns:
        'mcas', 'delta', 'signed_delta' and 'alpha', each of the shape of the terms. Alpha is nan
        where TT is 0.

    Examples:
        Alpha is |(-0.25 + 0.75) / (2 * -0.25)| = 1:

        >>> scores = composite(0.5, -0.25, 0.75, -0.25)
        >>> {name: float(value) for name, value in scores.items()}
        {'mcas': 0.75, 'delta': 0.25, 'signed_delta': 0.25, 'alpha': 1.0}
    """
    tt = np.asarray(tt, dtype=np.float64)
    safe = np.where(tt == 0.0, np.nan, tt)
    signed = np.abs(ii) - np.abs(tt)
    return {
        "mcas": ii + itp + it + tt,
        "delta": np.abs(signed),
        "signed_delta": signed,
        "alpha": np.abs((itp + it) / (2.0 * safe)),
    }


def summarise(values: Sequence[float], stereotypes: Sequence[str | None]) -> dict[str, Any]:
    """Minimum, maximum, mean and standard error by stereotype (Table 4 of the 2024 paper).

    Args:
        values: One for each target.
        stereotypes: 'A', 'B' or None, one for each target.

    Returns:
        Keys 'A', 'B' and 'all', each with 'min', 'max', 'mean', 'standard_error' (SD with ddof 1
        over the root of n; None for one target) and 'n'. A side without values is excluded.

    Examples:
        The SD of 1 and 3 is the root of 2; over the root of 2 targets that is 1:

        >>> summary = summarise([1.0, 3.0, 8.0], ["A", "A", "B"])
        >>> summary["A"]["mean"], round(summary["A"]["standard_error"], 6), summary["all"]["mean"]
        (2.0, 1.0, 4.0)
    """
    table: dict[str, Any] = {}
    for side in ("A", "B", "all"):
        chosen = np.array(
            [
                value
                for value, stereotype in zip(values, stereotypes, strict=True)
                if side in {"all", stereotype}
            ],
            dtype=np.float64,
        )
        if len(chosen):
            table[side] = {
                "min": float(chosen.min()),
                "max": float(chosen.max()),
                "mean": float(chosen.mean()),
                "standard_error": (
                    float(chosen.std(ddof=1) / np.sqrt(len(chosen))) if len(chosen) > 1 else None
                ),
                "n": len(chosen),
            }
    return table


def combine(task: McasTask, results: Sequence[MethodResult], settings: Settings) -> MethodResult:
    """Mean of the association scores over encoders (or of one), then the composite scores.

    Args:
        task: The task.
        results: One for each encoder.
        settings: How it is measured.

    Returns:
        By target 'mcas', 'delta', 'signed_delta' and 'alpha' too (None where the interval of TT
        covers 0); for the task the mean of each over targets, such as 'mcas_mean', and in
        `details` the summary by stereotype and the curve of alpha over delta.
    """
    combined = average_results(results)
    if combined.reason:
        return combined
    stereotypes = {target.name: target.stereotype for target in task.targets}
    by = [
        replace(item, scores={**item.scores, **_composites(item.scores, settings)})
        for item in combined.by
    ]
    scores = dict(combined.scores)
    by_stereotype: dict[str, Any] = {}
    for name in (*TERMS, "mcas", "delta", "signed_delta", "alpha"):
        known = [item for item in by if item.scores[name].value is not None]
        values = [item.scores[name].value or 0.0 for item in known]
        by_stereotype[name] = summarise(values, [stereotypes[item.name] for item in known])
        scores[f"{name}_mean"] = _mean([item.scores[name] for item in known])
    details = {"by_stereotype": by_stereotype, "alpha_by_delta_loess": _loess(by)}
    return replace(combined, by=by, scores=scores, details=details)


def _mean(estimates: Sequence[Estimate]) -> Estimate:
    if not estimates:
        return Estimate.undefined("no target has a value")
    merged = average(estimates)
    return Estimate(merged.value, merged.boot)


def _composites(terms: Mapping[str, Estimate], settings: Settings) -> dict[str, Estimate]:
    values = composite(*(terms[name].value for name in TERMS))
    boots = composite(*(terms[name].boot for name in TERMS))
    scores = {name: Estimate(float(value), boots[name]) for name, value in values.items()}
    tt = terms["tt"].boot
    low, high = percentile_interval(tt, settings.level) if tt is not None else (-1.0, 1.0)
    if low <= 0.0 <= high:
        scores["alpha"] = Estimate.undefined(
            "the interval of TT covers 0, so the ratio is not defined"
        )
    return scores


def _loess(by: Sequence[Item]) -> list[list[float]] | None:
    """The smoothed curve of alpha over delta (Figures 2 to 4), where there are enough targets.

    This is the only use of statsmodels; drop the dependency once reports draw the curve.

    Returns:
        Points (delta, alpha), or None for too few targets.
    """
    points = [
        (item.scores["delta"].value, item.scores["alpha"].value)
        for item in by
        if item.scores["alpha"].value is not None
    ]
    if len(points) < _FEWEST_POINTS:
        return None
    from statsmodels.nonparametric.smoothers_lowess import lowess

    delta, alpha = np.array(points, dtype=np.float64).T
    return [[float(x), float(y)] for x, y in lowess(alpha, delta) if np.isfinite(y)]
