"""Simulate occupations that lean otherwise in longer prompts, and check what is said of the slope.

Every data set goes through the functions behind `score`, with the shipped task's wordings. Checked
is the slope of leans over the number of words: how often it is clear where there is none, how often
its interval holds the true one, and how often a true one is clear.

python -m tools.calibration.lengths --sets 400
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
from t2ibench.methods.core.estimate import Estimate
from t2ibench.methods.core.image_collector import ImageCollector
from t2ibench.methods.occupations.design import collect, group_pairs, group_prompts
from t2ibench.methods.occupations.leans import pair_leans
from t2ibench.methods.occupations.lengths import (
    MEAN_LEAN,
    SLOPE,
    length_scores,
    words_of_kinds,
)
from t2ibench.methods.occupations.schema import OccupationsTask, Stimulus
from t2ibench.tasks.index import load_tasks
from tools.calibration.cells import SETTINGS
from tools.calibration.command import add_workers, drawn_sets, worlds_parser
from tools.calibration.verdicts import rate_text
from tools.calibration.worlds import SHARED_FRAMING, Scene, Space, WorldEvidence

_TASK = "occupations_lengths_gender"
_ALPHA = 0.05
_LEVEL = 0.95
_LONG = {"sentence", "paragraph"}
_SPACE = Space()


@dataclass(frozen=True)
class LengthWorld:
    """Occupations whose lean changes with the length of the prompt by a known mean.

    Attributes:
        name: What it is.
        stimuli: How many.
        neutral: Images of an occupation without a group, over all wordings.
        guided: Images of each group, over all wordings.
        mean: Lean of prompts of middling length, in the mean over occupations.
        spread: Half of the range of that over occupations.
        slope: Change of the lean where a prompt has twice as many words, in the mean.
        varying: Half of the range of that over occupations.
        frames_long: Whether the images of sentences and paragraphs are framed otherwise.
        space: Where embeddings lie.
    """

    name: str
    stimuli: int = 20
    neutral: int = 32
    guided: int = 16
    mean: float = 0.0
    spread: float = 0.3
    slope: float = 0.0
    varying: float = 0.0
    frames_long: bool = False
    space: Space = _SPACE

    @property
    def task(self) -> OccupationsTask:
        """The shipped task with so many occupations and images."""
        (loaded,) = load_tasks([_TASK])
        spec = loaded.spec
        assert isinstance(spec, OccupationsTask)
        stimuli = [Stimulus(name=f"job{number}") for number in range(self.stimuli)]
        concept = spec.concept.model_copy(update={"stimuli": tuple(stimuli)})
        sizes = {
            "images_per_prompt": self.neutral,
            "guided_images_per_prompt": self.guided,
        }
        return spec.model_copy(update={"concept": concept, "reference": None, **sizes})


_OFFSETS = Space(wording=0.1)
WORLDS = (
    LengthWorld("fair"),
    LengthWorld("all lean .5", mean=0.5),
    LengthWorld("a mean slope of 0, ± .1", varying=0.1),
    LengthWorld("the same; 8 occupations", 8, varying=0.1),
    LengthWorld("the same; 20 of 80 + 40 images", 20, 80, 40, varying=0.1),
    LengthWorld("all lean .5, wording offsets of .1", mean=0.5, space=_OFFSETS),
    LengthWorld(
        "all lean .3, long prompts framed otherwise",
        mean=0.3,
        frames_long=True,
        space=SHARED_FRAMING,
    ),
    LengthWorld("slope .05, ± .05", slope=0.05, varying=0.05),
    LengthWorld("slope .1, ± .1", slope=0.1, varying=0.1),
    LengthWorld("slope .1, ± .1; 8 occupations", 8, slope=0.1, varying=0.1),
    LengthWorld(
        "slope −.1 from a lean of .5, ± .05",
        mean=0.5,
        spread=0.2,
        slope=-0.1,
        varying=0.05,
    ),
)


def simulated(world: LengthWorld, seed: int, number: int) -> list[float]:
    """Return what one data set gives.

    Returns:
        The slope, its p-value, and whether its interval holds the truth; the mean error of the
        lengths' mean leans, and the share of their intervals that hold the truth.
    """
    rng = np.random.default_rng([seed, zlib.crc32(world.name.encode()), number])
    task = world.task
    evidence = _evidence(world, task, rng)
    images = collect(task, ImageCollector(evidence), SETTINGS)
    pairs = [pair_leans(task, pair, images, evidence) for pair in group_pairs(task)]
    scores = length_scores(task, pairs, _LEVEL).scores
    slope = scores[SLOPE]
    truths = {
        f"{MEAN_LEAN}:{kind}": world.mean + world.slope * longer
        for kind, longer in _doublings(task).items()
    }
    errors = []
    holds = []
    for name, truth in truths.items():
        value = scores[name].value
        if value is not None:
            errors.append(value - truth)
            holds.append(_holds(scores[name], truth))
    if slope.value is None or slope.p is None or not errors:
        return [np.nan] * 5
    of_slope = [slope.value, slope.p, float(_holds(slope, world.slope))]
    return [*of_slope, float(np.mean(errors)), float(np.mean(holds))]


def _holds(estimate: Estimate, truth: float) -> bool:
    """Return whether an interval holds the truth."""
    low, high = estimate.interval or (np.nan, np.nan)
    return bool(low <= truth <= high)


def _doublings(task: OccupationsTask) -> dict[str, float]:
    """Return the binary logarithm of each kind's number of words, less their mean."""
    doublings = {
        kind: float(np.log2(number)) for kind, number in words_of_kinds(task).items()
    }
    middle = float(np.mean(list(doublings.values())))
    return {kind: doubling - middle for kind, doubling in doublings.items()}


def _evidence(
    world: LengthWorld, task: OccupationsTask, rng: np.random.Generator
) -> WorldEvidence:
    doublings = _doublings(task)
    n_neutral, n_guided = task.image_counts(SETTINGS)
    scenes = []
    for name in task.concept.names:
        middle = world.mean + world.spread * float(rng.uniform(-1.0, 1.0))
        slope = world.slope + world.varying * float(rng.uniform(-1.0, 1.0))
        for wording in task.prompts.wordings:
            longer = doublings[wording.asked_as or ""]
            framed = float(world.frames_long and wording.asked_as in _LONG)
            lean = float(np.clip(middle + slope * longer, -1.0, 1.0))
            for prompt in wording.without_attribute(name):
                scenes.append(Scene(prompt, n_neutral, name, lean, framed=framed))
            for group, side in zip(task.groups, (1.0, -1.0), strict=True):
                for prompt in group_prompts(task, name, group, wording):
                    scenes.append(
                        Scene(prompt, n_guided, name, side, asked=side, framed=framed)
                    )
    texts = {scene.prompt: (scene.about, scene.asked) for scene in scenes}
    return world.space.evidence(rng, scenes, texts)


def table_row(world: LengthWorld, judged: Float64Array) -> list[str]:
    """Return the row of one world; `judged` has the shape (sets, 5)."""
    decided = np.isfinite(judged[:, 0])
    values, p, holds, errors_of_lengths, holding_lengths = judged[decided].T
    return [
        world.name,
        f"{world.slope:+.2f}",
        f"{values.mean() - world.slope:+.4f}",
        f"{values.std(ddof=1):.3f}",
        rate_text(holds),
        rate_text((p < _ALPHA).astype(float)),
        f"{decided.mean():.2f}",
        f"{errors_of_lengths.mean():+.4f}",
        f"{holding_lengths.mean():.3f}",
    ]


HEADS = (
    "world",
    "truth",
    "bias",
    "standard deviation",
    "covers",
    "p < .05",
    "decided",
    "bias of lengths",
    "lengths covered",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate every world and print the table."""
    parser = worlds_parser("lengths", __doc__)
    add_workers(parser)
    arguments = parser.parse_args(argv)
    rows = []
    for world in WORLDS:
        if arguments.world in world.name:
            judged = drawn_sets(
                world.name, partial(simulated, world, arguments.seed), arguments
            )
            rows.append(table_row(world, judged))
    print(tabulate(rows, headers=HEADS, tablefmt="github"))
    return 0


if __name__ == "__main__":
    from tools.calibration import lengths  # so that other processes find it

    sys.exit(lengths.main())
