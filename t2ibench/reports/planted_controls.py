"""Positive controls that find nothing in toyland because its settings removed the bias."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.scales import SMALL
from t2ibench.results.schema import Results, Row
from t2ibench.toyland.caption import parse
from t2ibench.toyland.world import AXES, BiasSettings, read_bias_settings


def evening_settings(rows: Sequence[Row], results: Results) -> list[str]:
    """Return the settings of toyland that removed what a positive control looks for.

    Whoever sets the shares of flowers and insects to .5 finds no lean of flowers and insects: that
    is what the encoder should find, and no failure of it.

    Args:
        rows: The rows of the control: its stimuli, by concept.
        results: The run.

    Returns:
        The settings, such as 'all.weather.pleasant=0.5'; empty where the control fails for another
        reason, or where the model is not toyland.
    """
    settings = results.model.effective_settings.get("biases")
    if results.model.name != "toyland" or not isinstance(settings, Mapping):
        return []
    try:
        biases = read_bias_settings(settings)
    except T2IBenchError:  # settings of another version of toyland
        return []
    planted = _leans_by_axis(rows, BiasSettings())
    axis = max(planted, key=lambda name: planted[name])
    if planted[axis] <= SMALL or _leans_by_axis(rows, biases)[axis] > SMALL:
        return []
    return [
        f"{name}={value:g}"
        for name, value in biases.as_args().items()
        if name.split(".")[1] == axis
    ]


def _leans_by_axis(rows: Sequence[Row], biases: BiasSettings) -> dict[str, float]:
    """Return, for each axis of toyland, half the range of the leans that `biases` plants."""
    leans: dict[str, float] = {}
    for axis in AXES:
        by_concept: dict[str | None, list[float]] = {}
        for row in rows:
            share = biases.share(axis, parse(row.name).things)
            by_concept.setdefault(row.group, []).append(2 * share - 1)
        means = [np.mean(values) for values in by_concept.values()]
        leans[axis] = float(np.ptp(means)) / 2 if means else 0.0
    return leans
