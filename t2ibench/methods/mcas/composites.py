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

from t2ibench.methods.core.averages import average_results
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import Headline
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.mcas.amplification import alpha_set, alpha_slope
from t2ibench.methods.mcas.headline import Design, lean_headline
from t2ibench.methods.mcas.schema import McasTask
from t2ibench.settings import Settings

TERMS = ("ii", "itp", "it", "tt")
_PUBLISHED = ("delta", "signed_delta", "alpha")  # absolute values and a ratio: no interval
_SUMMARISED = (*TERMS, "mcas", "ii_minus_tt", *_PUBLISHED)
_BY_SIDE = ("mcas", "delta", "alpha")  # whose means Tables 3 and 4 give by stereotype


def composite(ii: Any, itp: Any, it: Any, tt: Any) -> dict[str, Any]:
    """MCAS, delta, its signed form, and alpha (Mandal et al. 2024, eqs. 3, 4 and 5).

    mcas = II + ITP + IT + TT
    delta = | |II| - |TT| |, signed_delta = |II| - |TT|
    alpha = | (ITP + IT) / (2 TT) |

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
    """Mean of leans and association scores over encoders (or of one), then the composite scores."""
    combined = average_results(results, settings.level)
    if combined.reason:
        return combined
    by = [
        replace(item, scores={**item.scores, **_composites(item.scores, settings.level)})
        for item in combined.by
    ]
    stereotypes = {target.name: target.stereotype for target in task.targets}
    scores = {**combined.scores, "alpha_slope": alpha_slope(by, settings.level)}
    by_stereotype: dict[str, Any] = {}
    names = {"A": task.attributes.A.name, "B": task.attributes.B.name, "all": "all"}
    for name in _SUMMARISED:
        known = [item for item in by if item.scores[name].value is not None]
        values = [item.scores[name].value or 0.0 for item in known]
        summary = summarise(values, [stereotypes[item.name] for item in known])
        by_stereotype[name] = {names[side]: row for side, row in summary.items()}
        scores[f"{name}_mean"] = _mean([item.scores[name] for item in known], settings.level)
        for side in ("A", "B") if name in _BY_SIDE else ():
            members = [item.scores[name] for item in known if stereotypes[item.name] == side]
            scores[f"{name}_mean_{side}"] = _mean(members, settings.level)
    details = {
        "by_stereotype": by_stereotype,
        "by_category": _by_category(task, by, settings.level),
    }
    found = combined.headline
    if len(results) > 1 and found.value is not None:
        # The mean over encoders of a headline has one inference; both come from the mean leans.
        found = _of_rows(task, by, settings.level) or found
    return replace(combined, headline=found, by=by, scores=scores, details=details)


def _mean(estimates: Sequence[Estimate], level: float) -> Estimate:
    """The mean over these targets; targets share the attributes' units."""
    if not estimates:
        return Estimate.undefined("no target has a value")
    weight = 1.0 / len(estimates)
    value = float(np.mean([estimate.value for estimate in estimates]))
    influences = [estimate.influence for estimate in estimates if estimate.influence is not None]
    if len(influences) < len(estimates):
        return Estimate(value, as_published=estimates[0].as_published)
    shared = Influence.combined([(weight, influence) for influence in influences])
    return Estimate.from_influence(value, shared, level)


def _composites(terms: Mapping[str, Estimate], level: float) -> dict[str, Estimate]:
    values = composite(*(terms[name].value for name in TERMS))
    influence = {name: terms[name].influence or Influence.none() for name in TERMS}
    ii, tt = terms["ii"].value or 0.0, terms["tt"].value or 0.0
    total = Influence.combined([(1.0, influence[name]) for name in TERMS])
    step = Influence.combined([(1.0, influence["ii"]), (-1.0, influence["tt"])])
    published = {
        name: Estimate(float(values[name]), as_published=True)
        for name in _PUBLISHED
        if np.isfinite(values[name])
    }
    none = Estimate.undefined("TT is 0, so the ratio is not defined")
    return {
        "mcas": Estimate.from_influence(float(values["mcas"]), total, level),
        "ii_minus_tt": Estimate.from_influence(ii - tt, step, level),
        **{name: published.get(name, none) for name in _PUBLISHED},
        "signed_alpha": alpha_set(terms, level),
    }


def _of_rows(task: McasTask, by: Sequence[Item], level: float) -> Headline | None:
    """The headline of some rows; None where they cannot be compared."""
    specs = {target.name: target for target in task.targets}
    targets = [specs[item.name] for item in by]
    leans = [item.scores["lean"] for item in by]
    if any(lean.value is None for lean in leans) or not Design.of(targets).compares:
        return None
    values = np.array([lean.value for lean in leans], dtype=np.float64)
    influences = [lean.influence or Influence.none() for lean in leans]
    return lean_headline(task, targets, values, influences, level)


def _by_category(task: McasTask, by: Sequence[Item], level: float) -> dict[str, Any] | None:
    """The headline within each category, where the task has several."""
    categories = {target.name: target.category for target in task.targets}
    names = list(dict.fromkeys(categories[item.name] for item in by))
    if len(names) < 2:
        return None
    table = {}
    for name in names:
        members = [item for item in by if categories[item.name] == name]
        found = _of_rows(task, members, level)
        if found is not None:
            chosen = found.chosen
            table[name or "other"] = {
                "lean": found.value, "ci_low": chosen.ci_low, "ci_high": chosen.ci_high,
                "p": chosen.p, "targets": len(members),
            }  # fmt: skip
    return table
