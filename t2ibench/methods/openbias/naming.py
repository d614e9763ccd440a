"""What the biases of a task, and crossings of them, are called."""

from __future__ import annotations

from collections.abc import Sequence

from t2ibench.methods.openbias.schema import Bias, OpenBiasTask

JOIN = " x "


def crossed_biases(biases: Sequence[Bias], names: Sequence[str]) -> list[int]:
    """The numbers of the biases that a crossing names."""
    found = []
    for name in names:
        meant = [k for k, bias in enumerate(biases) if name == f"{bias.about} {bias.name}"]
        meant = meant or [k for k, bias in enumerate(biases) if name == bias.name]
        found += meant if len(meant) == 1 else []
    return found


def crossing_name(task: OpenBiasTask, names: Sequence[str]) -> str:
    """What a crossing is called."""
    return JOIN.join(task.biases[k].name for k in crossed_biases(task.biases, names))
