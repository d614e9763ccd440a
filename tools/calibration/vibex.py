"""Worlds of known bias for concept queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri

from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.stats.excess import excess, typical_square
from tools.calibration.cells import SETTINGS, Cell, Sample, simulated_task
from tools.calibration.repeats import repeating
from tools.calibration.worlds import WorldEvidence, unit_rows

_D = 64
_SPREAD = np.sqrt((1 / 0.75 - 1) / _D)  # cosine .75 of two images of one prompt
_OWN = 0.1  # how far the anchors' images differ as their own texts do
_WORDS = 400  # everyday ones, as a reference
_BOTH = (
    "The test about concepts like these rejects if both their place among random sets of words "
    "and the variation of the images reject, and its interval spans both"
)


@dataclass(frozen=True)
class WordWorld:
    """Two anchors whose images differ beyond their texts, and words with loadings on that.

    Attributes:
        task: The task.
        factor: How much larger the squared loadings of concepts are than those of everyday words;
            1 makes them words like all others.
        beyond: How far the anchors' images lie apart beyond what their texts say.
        cosine: Of concepts of a cluster of four.
    """

    task: VibexTask
    factor: float = 1.0
    beyond: float = 0.3
    cosine: float = 0.0

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        frame = np.linalg.qr(rng.normal(size=(_D, 3)))[0].T
        centre, own, further = frame
        signs = np.array([1.0, -1.0])
        middles = centre + np.outer(signs, _OWN * own + self.beyond * further)
        anchors = self.task.anchors
        n = self.task.images_per_prompt
        noise = rng.normal(scale=_SPREAD, size=(len(anchors), n, _D))
        images = unit_rows(middles[:, None, :] + noise)
        m, reference = len(self.task.concepts), self.task.reference.texts
        cosines = np.append(
            np.full(-(-m // 4), self.cosine), rng.uniform(0, 0.9, _WORDS // 4)
        )
        number = np.append(
            np.arange(m) // 4, -(-m // 4) + np.arange(len(reference)) // 4
        )
        of_cluster = (np.sqrt(cosines)[:, None] * rng.normal(size=(len(cosines), _D)))[
            number
        ]
        single = np.sqrt(1 - cosines)[number, None] * rng.normal(size=(len(number), _D))
        words = centre + unit_rows(of_cluster + single)
        words[:m] += np.outer(words[:m] @ further, (np.sqrt(self.factor) - 1) * further)
        texts = [concept.prompt for concept in self.task.concepts] + list(reference)
        vectors = dict(zip(texts, unit_rows(words), strict=True))
        for anchor, sign in zip(anchors, signs, strict=True):
            vectors[anchor.text or anchor.prompt] = unit_rows(centre + sign * own)
        evidence = WorldEvidence(
            {anchor.prompt: part for anchor, part in zip(anchors, images, strict=True)},
            vectors,
        )
        # The mean of unit vectors with noise alike in all directions points along their middle.
        table = np.array([vectors[text] for text in texts])
        leans = (table - table[m:].mean(axis=0)) @ further
        # V is in units of what random sets read, whose leans are nearly normal.
        unit = typical_square(chdtri(m, (np.arange(1000) + 0.5) / 1000) / m)
        fixed_prompts = float(
            excess((leans[:m] ** 2).mean() / unit, (leans[m:] ** 2).mean())
        )
        prompt_population = (self.factor - 1) / (self.factor + 1)
        rows = {}
        if self.factor == 1:
            rows = {concept.name: float("nan") for concept in self.task.concepts}
        if not self.beyond:
            return Sample(evidence, rows=rows)
        if self.cosine:  # random sets are as related, and their median is not known
            return Sample(evidence, {"prompt_population": prompt_population}, rows)
        return Sample(
            evidence,
            {"fixed_prompts": fixed_prompts, "prompt_population": prompt_population},
            rows,
        )


def _task(concepts: int, n: int) -> VibexTask:
    return simulated_task(
        VibexTask,
        method="vibex",
        anchors=[
            {"name": name, "prompt": f"a photo of {name}"} for name in ("left", "right")
        ],
        concepts=[
            {"name": f"concept {number}", "prompt": f"concept {number}"}
            for number in range(concepts)
        ],
        reference=[f"word {number}" for number in range(_WORDS)],
        images_per_prompt=n,
    )


def _name(name: str, concepts: int, n: int) -> str:
    return f"{name}; {concepts} concepts, {n} images an anchor"


def _cell(
    name: str,
    size: tuple[int, int],
    factor: float = 1.0,
    beyond: float = 0.3,
    cosine: float = 0.0,
    **more: Any,
) -> Cell:
    task = _task(*size)
    return Cell(
        _name(name, *size),
        task,
        WordWorld(task, factor, beyond, cosine),
        SETTINGS.model_copy(update={"n_permutations": 2000}),
        row_score="beyond_words",
        conservative=_BOTH,
        **({"share": 0.25} | more),
    )


def cells() -> list[Cell]:
    """Concepts that are words like all others, then concepts that are not."""
    fair, far = (
        "concepts like all words",
        "squares of concepts three times those of words",
    )
    return [
        _cell(fair, (4, 10)),
        _cell(fair, (20, 10), quick=True),
        _cell(fair, (20, 50)),
        _cell(fair, (40, 20)),
        *(
            _cell(
                f"{fair}, in clusters of cosine {cosine}", (20, 10 * n), cosine=cosine
            )
            for cosine in (0.6, 0.9)
            for n in (1, 4)
        ),
        _cell("anchors alike beyond their words", (20, 10), beyond=0.0),
        _cell(
            "weak difference of the anchors, concepts like all words",
            (20, 50),
            beyond=0.1,
        ),
        _cell(far, (8, 20), 3.0),
        _cell(far, (20, 10), 3.0, quick=True),
        _cell(far, (20, 20), 3.0, doubles=_name(far, 20, 10)),
        _cell(far, (20, 50), 3.0),
        repeating(_cell(fair, (20, 10))),
        repeating(_cell(far, (20, 40), 3.0)),
        _cell("squares of concepts nine times those of words", (20, 20), 9.0),
    ]
