"""The covariance of the leans of several rows, which may share images."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.influence import FLOOR, Influence, Spread, Stratum, spread_of

# Degrees of freedom that stand for infinitely many.
_MANY = 1e6


def covariance_of_leans(
    influences: Sequence[Influence], certain: Collection[str] = ()
) -> Spread:
    """Return the covariance of leans that share images, and its degrees of freedom.

    Args:
        influences: How each image moves each of the leans.
        certain: Prompts whose images' part is certain where all leans are 0, so that it takes
            nothing from the degrees of freedom.

    Examples:
        Two axes with the same answers about the same images are one:

        >>> lean = Influence.of_mean("a chef", range(1000), [0.0, 1.0] * 500)
        >>> round(covariance_of_leans([lean, lean]).dfs[0], 1)
        1.0
        >>> round(covariance_of_leans([lean]).dfs[1], -1)
        1000.0
    """
    columns_of_prompts: dict[str, list[int]] = {}
    for column, influence in enumerate(influences):
        for prompt in influence.strata:
            columns_of_prompts.setdefault(prompt, []).append(column)
    strata = {
        prompt: _stratum(prompt, columns, influences)
        for prompt, columns in columns_of_prompts.items()
    }
    spread = spread_of(len(influences), list(strata.values()))
    if not certain:
        return spread
    estimated = [stratum for prompt, stratum in strata.items() if prompt not in certain]
    part = spread_of(len(influences), estimated)
    share = float(np.trace(part.matrix) / np.trace(spread.matrix))
    df = _MANY
    if share > 0:
        df = min(part.dfs[1] / share**2, _MANY)
    return Spread(spread.matrix, (spread.dfs[0], df))


def _stratum(
    prompt: str, columns: Sequence[int], influences: Sequence[Influence]
) -> Stratum:
    """Return each image's influence on each lean for one prompt, with degrees of freedom."""
    units_and_moves = []
    for column in columns:
        influence = influences[column]
        of_prompt = influence.stratum == influence.strata.index(prompt)
        units_and_moves.append((influence.unit[of_prompt], influence.value[of_prompt]))
    images = np.unique(np.concatenate([units for units, _ in units_and_moves]))
    table: Float64Array = np.zeros((len(images), len(columns)))
    for place, (units, moves) in enumerate(units_and_moves):
        table[np.searchsorted(images, units), place] += moves
    n_images = int((images != FLOOR).sum())
    freedom = max(n_images - 1, 1)
    return columns, table, freedom
