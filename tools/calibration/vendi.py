"""How diversity depends on the number of images, and how rightly its change is said.

Embeddings with few directions, whose images of a prompt differ as much as is planted, go through
the functions that a run and `frontier` use: the Vendi score and the unbiased mean cosine of each
prompt, and their changes over prompts.

python -m tools.calibration.vendi --sets 400
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from tabulate import tabulate

from t2ibench.arrays import Float64Array
from t2ibench.methods.core.diversity import diversity_of, vendi_score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.evidence import Needs, PromptNeed
from t2ibench.methods.core.text_image_alignment import measure_prompts
from t2ibench.results.contrast import Contrast
from t2ibench.results.group_diversity import group_diversity, group_vendi
from t2ibench.results.paired import PairedTask, paired_task
from t2ibench.results.schema import Score
from tools.calibration.command import add_workers, drawn_sets, worlds_parser
from tools.calibration.compare import record_of
from tools.calibration.verdicts import rate_text
from tools.calibration.worlds import WorldEvidence

_ALPHA = 0.05
_LEVEL = 0.95
_GROUP = "female"
_ENCODER = {"simulated": "0" * 64}
_DIMENSIONS = 64
# The variance along direction k falls as k to this power: few directions carry most of it.
_FALL = -1.2
_COSINE = 0.75
_NUMBERS = (3, 4, 5, 10, 20, 40, 160)
_TRUTH_SETS = 2000
_FEWEST_SETS = 2
# Images of a prompt from which its expected diversity is estimated.
_MANY = 40


@dataclass(frozen=True)
class VendiWorld:
    """Two runs, whose images of a prompt differ by a planted amount.

    Attributes:
        prompts: How many prompts of the one group.
        images: Images of each prompt.
        cosine_after: About the mean cosine of two images of a prompt in the second run; in the
            first it is .75.
    """

    prompts: int
    images: int
    cosine_after: float = _COSINE

    @property
    def name(self) -> str:
        """What it is."""
        change = "no change" if self.cosine_after == _COSINE else "more alike"
        return f"{self.prompts} prompts of {self.images}, {change}"


WORLDS = tuple(
    VendiWorld(prompts, images, cosine)
    for prompts in (6, 12)
    for images in (4, 10, 40)
    for cosine in (_COSINE, 0.8)
)
# What is looked at in a data set: the change of the Vendi score, that of diversity (1 less the
# mean cosine of two images), and diversity in the first run.
MEASURES = ("Vendi score, change", "diversity, change", "diversity, before")


def drawn(rng: np.random.Generator, count: int, cosine: float) -> Float64Array:
    """Return embeddings of one prompt's images, shape (count, 64), of unit length.

    Prompts differ in the signs of their centre alone, so that all are as diverse.
    """
    centre = rng.choice([-1.0, 1.0], size=_DIMENSIONS) / np.sqrt(_DIMENSIONS)
    fall = np.arange(1, _DIMENSIONS + 1) ** _FALL
    spread = np.sqrt((1 / cosine - 1) / _DIMENSIONS * fall / fall.mean())
    rows = centre + spread * rng.normal(size=(count, _DIMENSIONS))
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / lengths, dtype=np.float64)


def mean_score(count: int, cosine: float, sets: int, seed: int) -> tuple[float, float]:
    """Return the mean Vendi score of so many images, and its standard error."""
    rng = np.random.default_rng([seed, count, round(1000 * cosine)])
    scores = [vendi_score(drawn(rng, count, cosine)) for _ in range(sets)]
    return float(np.mean(scores)), float(np.std(scores, ddof=1) / np.sqrt(sets))


def mean_diversity(cosine: float, sets: int, seed: int) -> float:
    """Return the expected diversity of a prompt's images, whatever their number."""
    rng = np.random.default_rng([seed, round(1000 * cosine)])
    values = [diversity_of(drawn(rng, _MANY, cosine))[0] for _ in range(sets)]
    return float(np.mean(values))


def truths_of(world: VendiWorld, seed: int) -> tuple[float, float, float]:
    """Return the true values of the measures, of so many images a prompt."""
    scores = []
    diversities = []
    for cosine in (_COSINE, world.cosine_after):
        scores.append(mean_score(world.images, cosine, _TRUTH_SETS, seed)[0])
        diversities.append(mean_diversity(cosine, _TRUTH_SETS, seed))
    return scores[1] - scores[0], diversities[1] - diversities[0], diversities[0]


def simulated(
    world: VendiWorld, truths: Sequence[float], seed: int, number: int
) -> list[tuple[float, float, float]]:
    """Return of each measure its value, whether its interval holds the truth, and its p-value."""
    rng = np.random.default_rng([seed, zlib.crc32(world.name.encode()), number])
    before = _run(world, rng, _COSINE)
    after = _run(world, rng, world.cosine_after)
    undefined = MethodResult.undefined("simulated")
    record = record_of("occupations", "vendi", undefined, seed=0, level=_LEVEL)
    settings = record.settings.model_copy(update={"encoders": _ENCODER})
    scores = {f"obedience:{_GROUP}": Score(value=1.0)}
    record = record.model_copy(update={"settings": settings, "scores": scores})
    (vendi_change,) = group_vendi((record, record), (before, after))
    _, (diversity_change,) = group_diversity((record, record), (before, after))
    level = diversity_change.before
    assert level.value is not None
    estimates = (
        vendi_change.change,
        diversity_change.change,
        Contrast(level.value, level.ci_low, level.ci_high),
    )
    return [
        _judged(estimate, truth)
        for estimate, truth in zip(estimates, truths, strict=True)
    ]


def _judged(estimate: Contrast, truth: float) -> tuple[float, float, float]:
    assert estimate.low is not None and estimate.high is not None
    holds = float(estimate.low <= truth <= estimate.high)
    return estimate.value, holds, np.nan if estimate.p is None else estimate.p


def _run(world: VendiWorld, rng: np.random.Generator, cosine: float) -> PairedTask:
    names = [f"a photo of a woman at place {number}" for number in range(world.prompts)]
    prompts = tuple(PromptNeed(name, world.images, _GROUP, name) for name in names)
    embeddings = {name: drawn(rng, world.images, cosine) for name in names}
    asked = Needs(prompts=prompts, guided_groups=(_GROUP,))
    _, diversities = measure_prompts(asked, WorldEvidence(embeddings))
    encoder = "simulated"
    return paired_task(
        MethodResult.undefined(encoder),
        diversity={encoder: tuple(each.images for each in diversities if each.images)},
        vendi={encoder: tuple(each.vendi for each in diversities if each.vendi)},
    )


def table_rows(
    world: VendiWorld, truths: Sequence[float], judged: Float64Array
) -> list[list[str]]:
    """Return a row for each measure in a world; `judged` has the shape (sets, measures, 3)."""
    rows = []
    for place, (measure, truth) in enumerate(zip(MEASURES, truths, strict=True)):
        values, holds, p = judged[:, place].T
        rows.append(
            [
                world.name if place == 0 else "",
                measure,
                f"{truth:+.4f}",
                f"{values.mean() - truth:+.4f}",
                rate_text(holds),
                rate_text(np.where(np.isnan(p), np.nan, p < _ALPHA)),
            ]
        )
    return rows


def _level_table(sets: int, seed: int) -> str:
    rows = []
    for cosine in (_COSINE, 0.85):
        means = [mean_score(count, cosine, sets, seed) for count in _NUMBERS]
        cells = [f"{mean:.2f} ± {2 * error:.2f}" for mean, error in means]
        rows.append([f"{cosine:.2f}", *cells])
    heads = ["cosine", *(f"{count} images" for count in _NUMBERS)]
    return tabulate(rows, headers=heads, tablefmt="github", disable_numparse=True)


HEADS = ("world", "measure", "truth", "bias", "covers", "p < .05")


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate, and print the scores by the number of images and the table of worlds."""
    parser = worlds_parser("vendi", __doc__)
    add_workers(parser)
    arguments = parser.parse_args(argv)
    print(_level_table(max(arguments.sets, _FEWEST_SETS), arguments.seed))
    print()
    rows = []
    for world in WORLDS:
        if arguments.world not in world.name:
            continue
        truths = truths_of(world, arguments.seed)
        judged = drawn_sets(
            world.name, partial(simulated, world, truths, arguments.seed), arguments
        )
        rows += table_rows(world, truths, judged)
    print(tabulate(rows, headers=HEADS, tablefmt="github", disable_numparse=True))
    return 0


if __name__ == "__main__":
    from tools.calibration import vendi  # so that other processes find it

    sys.exit(vendi.main())
