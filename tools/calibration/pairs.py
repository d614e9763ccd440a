"""How often `compare` claims that two models differ which are alike, and finds two that are not.

python -m tools.calibration.pairs --pairs 1000

Each run has several tests of the same images: what an image shows of one attribute depends on
what it shows of the others. Half of the tests are mean squares of leans, half are signed leans,
with a row for each prompt. It ends with 1 where more than one pair in twenty of alike models gets
any claim, of a test or of a row, by more than chance.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtr
from tabulate import tabulate

from t2ibench.arrays import Float64Array
from t2ibench.cli.usage import positive
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import Part, lean_headline, square_headline
from t2ibench.methods.core.influence import Influence
from t2ibench.pipeline.progress import ConsoleReporter
from t2ibench.results.comparison import compare
from t2ibench.results.comparison_claims import overall_difference
from t2ibench.results.paired import PairedTask, paired_task
from t2ibench.results.schema import Results
from t2ibench.results.score_difference import Difference
from t2ibench.worker_pool import each_of
from tools.calibration.compare import record_of, run_of
from tools.calibration.verdicts import rate_interval

MOST_FALSE = 0.05
_LEVEL = 0.95


@dataclass(frozen=True)
class PairWorld:
    """Two models, each with one run of several tests.

    Attributes:
        name: What is simulated, in a few words.
        lean: Size of every lean of the first model, whose sides alternate over the prompts of a
            mean square.
        others: Size of the second model's leans, test by test; those of the first where absent.
        tests: Number of tests.
        prompts: Number of prompts, which all tests share.
        images: Images of each.
        dependence: Correlation of what an image shows of two attributes.
    """

    name: str
    lean: float = 0.0
    others: tuple[float, ...] = ()
    tests: int = 8
    prompts: int = 8
    images: int = 10
    dependence: float = 0.8

    @property
    def alike(self) -> bool:
        """Whether both models lean alike in every test."""
        return not self.others

    def leans(self, *, second: bool) -> list[float]:
        """The size of a model's leans, test by test."""
        leans = [self.lean] * self.tests
        if second:
            leans[: len(self.others)] = self.others
        return leans


WORLDS = (
    PairWorld("alike: none leans"),
    PairWorld("alike: none leans, attributes independent", dependence=0.0),
    PairWorld("alike: all lean .5", lean=0.5),
    PairWorld("alike: all lean .9", lean=0.9),
    PairWorld("alike: all lean .5, 40 tests of 4 prompts", 0.5, tests=40, prompts=4),
    PairWorld("one test of eight: .5 and .9", 0.5, (0.9,)),
    PairWorld("one test of eight: 0 and .5", 0.0, (0.5,)),
    PairWorld("all tests: .5 and .7", 0.5, (0.7,) * 8),
    PairWorld("all tests: 0 and .3", 0.0, (0.3,) * 8),
)


def is_square(test: int) -> bool:
    """Return whether a test's headline is a mean square; the others are signed leans."""
    return test % 2 == 0


def differences_of(world: PairWorld, seed: int) -> list[Difference]:
    """Draw two runs and compare them."""
    rng = np.random.default_rng([seed, len(world.name), world.tests])
    first, first_paired = _run(world, rng, second=False)
    second, second_paired = _run(world, rng, second=True)
    return compare(first, second, first_paired, second_paired)


def _run(
    world: PairWorld, rng: np.random.Generator, *, second: bool
) -> tuple[Results, dict[str, PairedTask]]:
    tasks = {}
    paired = {}
    shown = _shown(world, world.leans(second=second), rng)
    for test, images in enumerate(shown):
        result = result_of(images, square=is_square(test))
        name = f"test {test}"
        tasks[name] = record_of("occupations", name, result, seed=0, level=_LEVEL)
        paired[name] = paired_task(result)
    return run_of(tasks), paired


def _shown(
    world: PairWorld, leans: Sequence[float], rng: np.random.Generator
) -> Float64Array:
    """What images show, 1 or -1, shape (tests, prompts, images)."""
    shape = (world.prompts, world.images)
    common = rng.normal(size=shape)
    own = rng.normal(size=(len(leans), *shape))
    latent = np.sqrt(world.dependence) * common + np.sqrt(1 - world.dependence) * own
    sides = np.where(np.arange(world.prompts) % 2, -1.0, 1.0)
    # Which prompts lean to which side matters for mean squares alone.
    squares = np.array([is_square(test) for test in range(len(leans))])
    signs = np.where(squares[:, None], sides, 1.0)
    shares = (1 + np.array(leans)[:, None] * signs) / 2
    shown: Float64Array = np.where(ndtr(latent) < shares[..., None], 1.0, -1.0)
    return shown


def result_of(
    images: Float64Array, *, square: bool, with_rows: bool = True
) -> MethodResult:
    """The result of one test, from what the images of each prompt show."""
    count = images.shape[1]
    parts = []
    for number, row in enumerate(images):
        prompt = f"prompt {number}"
        influence = Influence.of_mean(prompt, np.arange(count), row)
        # Images that are all alike are compatible with some variance.
        floor = 2.0 / (count + 1) ** 2
        parts.append(Part(prompt, float(row.mean()), influence.with_floor(floor)))
    if square:
        headline = square_headline(parts, _LEVEL)
    else:
        weight = 1 / len(parts)
        mean = Influence.combined([(weight, part.influence) for part in parts])
        headline = lean_headline(float(images.mean()), mean, _LEVEL)
    rows = [
        Item(
            part.name,
            {"lean": Estimate.from_influence(part.value, part.influence, _LEVEL)},
        )
        for part in (parts if with_rows else ())
    ]
    return MethodResult(headline, by=rows, n_images=images.size)


def claims(world: PairWorld, seed: int) -> tuple[bool, bool, bool, bool]:
    """Draw and compare one pair of runs.

    Returns:
        Whether all tests together differ, whether any test has a claim, whether any row has one,
        and whether a test would have one by its uncorrected p-value.
    """
    differences = differences_of(world, seed)
    overall = overall_difference(differences)
    headlines = [difference for difference in differences if not difference.row]
    rows = [difference for difference in differences if difference.row]
    return (
        overall is not None and overall.differ,
        any(map(_is_claim, headlines)),
        any(map(_is_claim, rows)),
        any((test.p or 1.0) < 1 - _LEVEL for test in headlines),
    )


def _is_claim(difference: Difference) -> bool:
    return difference.verdict in {"first", "second", "opposite"}


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate pairs of every world, print the table, and say what does not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.calibration.pairs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--pairs", metavar="N", type=positive, default=200, help="of a world (200)")
    add("--workers", metavar="N", type=positive, help="processes (all cores)")
    add("--world", metavar="TEXT", default="", help="worlds whose name has it")
    arguments = parser.parse_args(argv)
    reporter = ConsoleReporter()
    rows = []
    failed = False
    chosen = [world for world in WORLDS if arguments.world in world.name]
    for world in chosen:
        with reporter.stage(f"Pairs: {world.name}", arguments.pairs, "pairs") as ticker:
            drawn = each_of(
                range(arguments.pairs),
                partial(claims, world),
                arguments.workers,
                lambda *_, advance=ticker.advance: advance(1),
            )
        shares = [rate_interval(column) for column in np.array(drawn, np.float64).T]
        rows.append([world.name, *(_share(*share) for share in shares)])
        # The first three are claims; the last is what an uncorrected p-value would say.
        lows = [low for _, low, _ in shares[:3]]
        failed |= world.alike and max(lows) > MOST_FALSE
    heads = [
        "world",
        "the runs differ",
        "a claim of a test",
        "of a row",
        "a test by its uncorrected p",
    ]
    print(tabulate(rows, headers=heads, tablefmt="github"))
    return 1 if failed else 0


def _share(share: float, low: float, high: float) -> str:
    return f"{share:.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    from tools.calibration import pairs  # by its name, so that other processes find it

    sys.exit(pairs.main())
