"""Worlds of known bias for WEAT: text encoders whose words lean to one side or not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from t2ibench.arrays import Float64Array, IntArray
from t2ibench.methods.weat.schema import WeatTask
from tools.calibration.cells import Cell, Sample, simulated_task
from tools.calibration.worlds import WorldEvidence, unit_rows

_CAUTIOUS = (
    "The part that all words of a set share is estimated a little too low, and few independent "
    "words have a wide interval"
)
# dimensions that words, and attribute words, have to themselves
_WORDS, _ATTRIBUTES = 63, 24
_SPREAD = (1 + _WORDS) ** -0.5  # of words along each of theirs
_EVERYDAY = 1000
_REFERENCE_CLUSTERS, _REFERENCE_COSINES = 100, (0.0, 0.95)


@dataclass(frozen=True)
class WordWorld:
    """Words of X whose association is one normal distribution, and words of Y of another.

    Words and attribute words share one direction only. Words of a cluster are related: their
    vectors have a cosine, and the associations correlate by a power of it.

    Attributes:
        task: The task.
        shift: Distance of the two means, in standard deviations.
        clusters: Sizes of the clusters of each set; words beyond them are single.
        cosine: Of two words of a cluster.
        power: The correlation is the cosine to this power: below 1 where attributes lie in what
            related words share.
        wider: Standard deviation of X, as a multiple of that of Y.
        heavy: Whether the values have the tails of Student's t with three degrees of freedom.
    """

    task: WeatTask
    shift: float = 0.0
    clusters: tuple[int, ...] = ()
    cosine: float = 0.0
    power: float = 1.0
    wider: float = 1.0
    heavy: bool = False

    @property
    def delta(self) -> float:
        """Cliff's delta between the two populations: 2 Φ(shift / √(1 + wider²)) - 1."""
        return float(2 * ndtr(self.shift / np.hypot(1.0, self.wider)) - 1)

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        targets, attributes = self.task.targets, self.task.attributes
        vectors: dict[str, Float64Array] = {}
        for side, scale, group in (
            (0.5, self.wider, targets.X),
            (-0.5, 1.0, targets.Y),
        ):
            single = np.ones(len(group.words) - sum(self.clusters), np.int64)
            sizes = np.concatenate([np.array(self.clusters, np.int64), single])
            rows = self._words(rng, sizes, np.full(len(sizes), self.cosine))
            rows[:, 0] = rows[:, 0] * scale + _SPREAD * side * self.shift
            vectors |= dict(zip(group.words, unit_rows(rows), strict=True))
        sizes = np.full(_REFERENCE_CLUSTERS, _EVERYDAY // _REFERENCE_CLUSTERS)
        everyday = self._words(rng, sizes, rng.uniform(*_REFERENCE_COSINES, len(sizes)))
        vectors |= dict(zip(self.task.reference, unit_rows(everyday), strict=False))
        for sign, group in ((1.0, attributes.A), (-1.0, attributes.B)):
            rows = np.zeros((len(group.words), 1 + _WORDS + _ATTRIBUTES))
            rows[:, 0] = sign
            rows[:, 1 + _WORDS :] = unit_rows(rng.normal(size=(len(rows), _ATTRIBUTES)))
            vectors |= dict(zip(group.words, unit_rows(rows), strict=True))
        return Sample(WorldEvidence(vectors=vectors), {"prompt_population": self.delta})

    def _words(
        self, rng: np.random.Generator, sizes: IntArray, cosines: Float64Array
    ) -> Float64Array:
        """Words of clusters, shape (words, d), before they have unit length."""
        number = np.repeat(np.arange(len(sizes)), sizes)
        rows = np.zeros((len(number), 1 + _WORDS + _ATTRIBUTES))
        both = rng.normal(size=(len(sizes), 1 + _WORDS))
        own = rng.normal(size=(len(number), 1 + _WORDS))
        shared = np.tile(cosines[:, None], 1 + _WORDS)
        shared[:, 0] **= self.power
        drawn = (np.sqrt(shared) * both)[number] + np.sqrt(1 - shared[number]) * own
        if self.heavy:
            drawn[:, 0] /= np.sqrt(rng.chisquare(3, len(rows)) / 3)
        rows[:, : 1 + _WORDS] = _SPREAD * drawn
        return rows


def _group(side: str, words: int) -> dict[str, Any]:
    return {"name": side, "words": [f"{side.lower()}{k}" for k in range(words)]}


def _cell(
    name: str, words: int, shift: float = 0.0, *, alone: bool = False, **more: Any
) -> Cell:
    """A cell; `alone` has no everyday words."""
    task = simulated_task(
        WeatTask,
        method="weat",
        targets={side: _group(side, words) for side in "XY"},
        attributes={side: _group(side, 8) for side in "AB"},
        reference=[] if alone else [f"everyday {k}" for k in range(_EVERYDAY)],
    )
    fields = WordWorld.__dataclass_fields__.keys() & more.keys()
    world = replace(
        WordWorld(task, shift), **{field: more.pop(field) for field in fields}
    )
    return Cell(
        f"{name}; {words} + {words} words", task, world, conservative=_CAUTIOUS, **more
    )


def cells() -> list[Cell]:
    """Without bias, then with."""
    six, unequal = (4,) * 6, (12, 8, 4)
    fair = [
        _cell(
            f"no association, 6 clusters of cosine {cosine}",
            24,
            clusters=six,
            cosine=cosine,
        )
        for cosine in (0.3, 0.6, 0.8, 0.9)
    ]
    return [
        _cell("no association", 8, quick=True),
        _cell("no association", 25),
        *fair,
        _cell(
            "no association, clusters of 5, 1, 1, 1 of cosine .8",
            8,
            clusters=(5,),
            cosine=0.8,
        ),
        _cell(
            "no association, clusters of 12, 8, 4 and single words of cosine .8",
            32,
            clusters=unequal,
            cosine=0.8,
        ),
        _cell(
            "no association, 6 clusters of cosine .5 that correlate by .7",
            24,
            clusters=six,
            cosine=0.5,
            power=0.5,
        ),
        _cell(
            "no association, 6 clusters of cosine .6, no everyday words",
            24,
            alone=True,
            clusters=six,
            cosine=0.6,
        ),
        _cell("no association, tails of Student's t", 25, heavy=True),
        _cell("no association, X twice as wide", 8, wider=2.0),
        _cell("no association, X twice as wide", 25, wider=2.0),
        _cell("shift .7 SD", 8, 0.7),
        _cell("shift .7 SD", 25, 0.7, quick=True),
        _cell("shift 1.9 SD", 25, 1.9),
        _cell(
            "shift 1 SD, 6 clusters of cosine .6",
            24,
            1.0,
            clusters=six,
            cosine=0.6,
            quick=True,
        ),
        _cell(
            "shift 1.9 SD, 6 clusters of cosine .8", 24, 1.9, clusters=six, cosine=0.8
        ),
        _cell(
            "shift 1 SD, clusters of 12, 8, 4 and single words of cosine .8",
            32,
            1.0,
            clusters=unequal,
            cosine=0.8,
        ),
    ]
