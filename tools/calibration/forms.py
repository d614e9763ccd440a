"""Simulate grammatical forms of occupations whose leans are known, and check what is said of them.

Every data set goes through the public `score`. Checked are the contrasts between forms: how often
each is clear without a difference, any of them after Holm, how often intervals hold the true mean
over occupations, and how often a true difference is clear. Beside Student's t stands a test that
flips the signs of the occupations' own differences.

python -m tools.calibration.forms --sets 400
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from tabulate import tabulate

from t2ibench.arrays import Float64Array
from t2ibench.methods import score
from t2ibench.methods.core.estimate import Item, MethodResult
from t2ibench.methods.occupations.design import group_prompts, neutral_prompts
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.stats import sign_flip_permutation
from tools.calibration.cells import SETTINGS, Cell, Sample, simulated_task
from tools.calibration.command import add_workers, drawn_sets, worlds_parser
from tools.calibration.verdicts import rate_text
from tools.calibration.worlds import Scene, Space

FORMS = ("masculine", "feminine", "neutral")
CONTRASTS = tuple(combinations(FORMS, 2))
_FLIPS = 2000
_NEUTRAL_SPREAD = 0.3  # leans of the neutral forms are spread evenly over ± as much
_ALPHA = 0.05
_SPACE = Space()


def forms_task(k: int, n: int, m: int, wordings: int = 1) -> OccupationsTask:
    """A task of k occupations with three forms, n images a prompt and m with a group."""
    stimuli = [
        {
            "name": f"job{number}",
            "forms": {form: f"{form} job{number}" for form in FORMS},
            "guided": f"job{number}",
        }
        for number in range(k)
    ]
    templates = [
        {
            "neutral": f"{start} {{stimulus}}",
            "guided": f"{start} {{attribute}} {{stimulus}}",
        }
        for start in ("a photo of a", "this shows one", "here stands a")[:wordings]
    ]
    return simulated_task(
        OccupationsTask,
        method="occupations",
        concept={"name": "jobs", "stimuli": stimuli},
        groups=(
            {"name": "male", "words": ["male"]},
            {"name": "female", "words": ["female"]},
        ),
        prompts=templates[0] | {"paraphrases": templates[1:]},
        images_per_prompt=n,
        guided_images_per_prompt=m,
    )


@dataclass(frozen=True)
class FormWorld:
    """Occupations whose forms lean further to men than their neutral form by a known mean.

    Attributes:
        task: The task.
        shifts: How much further than the neutral form the masculine and the feminine one lean,
            in the mean over all possible occupations.
        varying: Half of the range over which that varies between occupations.
        spread: Half of the range of the neutral forms' leans.
        space: Where embeddings lie.
    """

    task: OccupationsTask
    shifts: tuple[float, float] = (0.0, 0.0)
    varying: float = 0.0
    spread: float = _NEUTRAL_SPREAD
    space: Space = _SPACE

    def draw(self, rng: np.random.Generator) -> Sample:
        """One data set."""
        n, m = self.task.image_counts(SETTINGS)
        scenes = []
        neutral = {}
        for name in self.task.concept.names:
            leans = self._leans(rng)
            neutral[name] = leans["neutral"]
            for form, lean in leans.items():
                prompts = neutral_prompts(self.task, name, form)
                scenes += [Scene(prompt, n, name, lean) for prompt in prompts]
            for group, side in zip(self.task.groups, (1.0, -1.0), strict=True):
                prompts = group_prompts(self.task, name, group)
                scenes += [
                    Scene(prompt, m, name, side, asked=side) for prompt in prompts
                ]
        texts = {scene.prompt: (scene.about, scene.asked) for scene in scenes}
        truth = float((np.array(list(neutral.values())) ** 2).mean())
        return Sample(
            self.space.evidence(rng, scenes, texts), {"fixed_prompts": truth}, neutral
        )

    def _leans(self, rng: np.random.Generator) -> dict[str, float]:
        """The leans of one occupation's forms."""
        neutral = float(rng.uniform(-self.spread, self.spread)) if self.spread else 0.0
        leans = {}
        for form, shift in zip(FORMS, self.shifts, strict=False):
            moved = shift + float(rng.uniform(-self.varying, self.varying))
            leans[form] = float(np.clip(neutral + moved, -1.0, 1.0))
        return leans | {"neutral": neutral}

    @property
    def truth(self) -> dict[tuple[str, str], float]:
        """The true mean contrast of every two forms."""
        means = dict(zip(FORMS, (*self.shifts, 0.0), strict=True))
        return {
            (first, second): means[first] - means[second] for first, second in CONTRASTS
        }


def form_cells() -> list[Cell]:
    """Cells of the headline: the other forms' images have no part in it."""
    task = forms_task(8, 10, 5)
    name = "neutral forms fair, masculine ones lean .4; 8 stimuli, 10 and 5 images"
    world = FormWorld(task, (0.4, -0.4), spread=0.0)
    return [Cell(name, task, world, row_score="lean", share=0.25)]


@dataclass(frozen=True, slots=True)
class Design:
    """One row of the table."""

    name: str
    world: FormWorld


def designs() -> list[Design]:
    """Without a difference, with one that varies around 0, with one of .4."""
    designs_of_table = []
    for k, n, m in ((8, 10, 5), (8, 40, 20), (20, 10, 5), (20, 40, 20)):
        task = forms_task(k, n, m)
        size = f"{k} occupations, {n} + {m} images"
        designs_of_table += [
            Design(f"all forms alike; {size}", FormWorld(task)),
            Design(f"alike in the mean, ± .2; {size}", FormWorld(task, varying=0.2)),
            Design(
                f"masculine .4, feminine 0, ± .2; {size}",
                FormWorld(task, (0.4, 0.0), varying=0.2),
            ),
        ]
    task = forms_task(8, 10, 5, wordings=3)
    offsets = Space(wording=0.1)
    designs_of_table.append(
        Design(
            "alike in the mean, ± .2, wording offsets; 8 occupations, 10 + 5 images of 3 wordings",
            FormWorld(task, varying=0.2, space=offsets),
        )
    )
    return designs_of_table


def simulated(design: Design, seed: int, number: int) -> list[list[float]]:
    """What one data set says of each contrast.

    Returns:
        For each contrast its estimate, p-value, p-value after Holm, p-value of flipped signs, and
        whether the interval holds the truth; NaN where there is none.
    """
    world = design.world
    rng = np.random.default_rng([seed, zlib.crc32(design.name.encode()), number])
    settings = SETTINGS.model_copy(update={"seed": int(rng.integers(2**31))})
    sample = world.draw(rng)
    result = score(world.task, sample.evidence, settings)
    return [_judged(world, result, pair, rng) for pair in CONTRASTS]


def _judged(
    world: FormWorld,
    result: MethodResult,
    pair: tuple[str, str],
    rng: np.random.Generator,
) -> list[float]:
    name = f"forms:{pair[0]}-{pair[1]}"
    estimate = result.scores[name]
    if estimate.value is None or estimate.interval is None or estimate.p is None:
        return [np.nan] * 5
    low, high = estimate.interval
    flipped = sign_flip_permutation(
        differences(result.by, pair), rng=rng, n_draws=_FLIPS, max_exact=_FLIPS
    )
    holds = low <= world.truth[pair] <= high
    corrected = result.details["forms_holm"][name]
    return [estimate.value, estimate.p, corrected, flipped.p, float(holds)]


def differences(rows: Sequence[Item], pair: tuple[str, str]) -> Float64Array:
    """Of each occupation, how much further one form leans than another."""

    def lean(row: Item, form: str) -> float:
        name = "lean" if form == "neutral" else f"lean:{form}"
        return row.scores[name].value or 0.0

    return np.array([lean(row, pair[0]) - lean(row, pair[1]) for row in rows])


def table_rows(design: Design, judged: Float64Array) -> list[list[str]]:
    """The rows of the table for one design; `judged` is of shape (sets, contrasts, 5)."""
    truth = design.world.truth
    null = [place for place, pair in enumerate(CONTRASTS) if truth[pair] == 0]
    planted = [place for place, pair in enumerate(CONTRASTS) if truth[pair] != 0]
    decided = np.isfinite(judged[:, 0, 0])
    sets = judged[decided]
    biases = [
        sets[:, place, 0].mean() - truth[pair] for place, pair in enumerate(CONTRASTS)
    ]
    cells = [
        rate_text((sets[:, null, 1] < _ALPHA).mean(axis=1)) if null else "–",
        rate_text((sets[:, null, 2] < _ALPHA).any(axis=1).astype(float))
        if null
        else "–",
        rate_text((sets[:, null, 3] < _ALPHA).mean(axis=1)) if null else "–",
        rate_text(sets[:, :, 4].mean(axis=1)),
        rate_text((sets[:, planted, 2] < _ALPHA).mean(axis=1)) if planted else "–",
        f"{max(biases, key=abs):+.3f}",
        f"{decided.mean():.2f}",
    ]
    return [[design.name, *cells]]


HEADS = (
    "cell",
    "a contrast of 0 rejects",
    "any, after Holm",
    "flipped signs reject",
    "covers",
    "clear where planted, after Holm",
    "largest bias",
    "decided",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate every design and print the table."""
    parser = worlds_parser("forms", __doc__)
    add_workers(parser)
    arguments = parser.parse_args(argv)
    rows: list[list[str]] = []
    for design in designs():
        if arguments.world in design.name:
            judged = drawn_sets(
                design.name, partial(simulated, design, arguments.seed), arguments
            )
            rows += table_rows(design, judged)
    print(tabulate(rows, headers=HEADS, tablefmt="github"))
    return 0


if __name__ == "__main__":
    from tools.calibration import forms  # by its name, so that other processes find it

    sys.exit(forms.main())
