"""Worlds of known bias for WEAT: text encoders whose words lean to one side or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from t2ibench.arrays import Float64Array
from t2ibench.methods.weat.schema import WeatTask
from tools.calibration.cells import Cell, Sample, simulated_task
from tools.calibration.worlds import WorldEvidence, unit_rows

_FEW = "The interval of fewer than some 20 words covers more often than it says"
_WORDS, _ATTRIBUTES = 40, 24  # dimensions that words, and attribute words, have to themselves
_DUPLICATE = 0.02  # length of what near-duplicates differ by


@dataclass(frozen=True)
class WordWorld:
    """Words of X whose association is one normal distribution, and words of Y of another.

    Words and attribute words share one direction only, so that the order of the associations is
    that of the normal values behind them.

    Attributes:
        task: The task.
        shift: Distance of the two means, in standard deviations.
        copies: Words that have nearly the same vector.
    """

    task: WeatTask
    shift: float = 0.0
    copies: int = 1

    @property
    def delta(self) -> float:
        """Cliff's delta between the two populations: 2 Φ(shift / √2) - 1."""
        return float(2 * ndtr(self.shift / np.sqrt(2)) - 1)

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        targets, attributes = self.task.targets, self.task.attributes
        vectors: dict[str, Float64Array] = {}
        for side, group in ((0.5, targets.X), (-0.5, targets.Y)):
            rows = self._targets(rng, len(group.words), side * self.shift)
            vectors |= dict(zip(group.words, rows, strict=True))
        for sign, group in ((1.0, attributes.A), (-1.0, attributes.B)):
            rows = np.zeros((len(group.words), 1 + _WORDS + _ATTRIBUTES))
            rows[:, 0] = sign
            rows[:, 1 + _WORDS :] = unit_rows(rng.normal(size=(len(rows), _ATTRIBUTES)))
            vectors |= dict(zip(group.words, unit_rows(rows), strict=True))
        return Sample(WorldEvidence(vectors=vectors), {"prompt_population": self.delta})

    def _targets(self, rng: np.random.Generator, count: int, mean: float) -> Float64Array:
        """Vectors of target words, shape (count, d); the first `copies` of them are alike."""
        distinct = count // self.copies
        rows = np.zeros((distinct, 1 + _WORDS + _ATTRIBUTES))
        rows[:, 0] = 0.1 * rng.normal(mean, size=distinct)
        # Of one length, so that a vector of unit length keeps the order along the direction.
        rows[:, 1 : 1 + _WORDS] = unit_rows(rng.normal(size=(distinct, _WORDS)))
        rows = np.repeat(rows, self.copies, axis=0)
        if self.copies > 1:
            own = unit_rows(rng.normal(size=(len(rows), _WORDS)))
            rows[:, 1 : 1 + _WORDS] += _DUPLICATE * own
        return unit_rows(rows)


def _group(side: str, words: int) -> dict[str, Any]:
    return {"name": side, "words": [f"{side.lower()}{k}" for k in range(words)]}


def _cell(
    name: str,
    words: int,
    shift: float = 0.0,
    copies: int = 1,
    **more: Any,
) -> Cell:
    task = simulated_task(
        WeatTask,
        method="weat",
        targets={side: _group(side, words) for side in "XY"},
        attributes={side: _group(side, 8) for side in "AB"},
    )
    alike = f" in {words // copies} clusters" if copies > 1 else ""
    return Cell(
        f"{name}; {words} + {words} words{alike}",
        task,
        WordWorld(task, shift, copies),
        conservative=_FEW if words // copies < 20 else None,
        **more,
    )


def cells() -> list[Cell]:
    """Without bias, then with."""
    return [
        _cell("no association", 8, quick=True),
        _cell("no association", 25),
        _cell("no association, near-duplicates", 32, copies=4),
        _cell("shift .7 SD", 8, 0.7),
        _cell("shift .7 SD", 25, 0.7, quick=True),
        _cell("shift 1.9 SD", 25, 1.9),
        _cell("shift .7 SD, near-duplicates", 32, 0.7, copies=4),
    ]
