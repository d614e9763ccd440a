"""How often a comparison of several runs claims what is not so, and whether slopes are covered.

python -m tools.calibration.several --sets 1000

Each run has several tests of the same images, half of them mean squares of leans and half signed
leans, as in `tools.calibration.pairs`. All go through `compare_runs`. It ends with 1 where runs of
alike models differ, or have a trend, in more than one set in twenty by more than chance.
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
from t2ibench.cli.usage import not_negative, positive
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.pipeline.progress import ConsoleReporter
from t2ibench.results.paired import PairedTask, paired_task
from t2ibench.results.several_runs import compare_runs
from t2ibench.results.task_across_runs import ComparedRun, TaskAcrossRuns
from t2ibench.stats.several import slope_weights
from t2ibench.worker_pool import each_of
from tools.calibration.compare import record_of, run_of
from tools.calibration.pairs import is_square, result_of
from tools.calibration.verdicts import rate_interval

MOST_FALSE = 0.05
_LEVEL = 0.95
_COLUMNS = (
    "runs differ",
    "a lean differs",
    "a square differs",
    "any trend",
    "lean's trend",
    "square's trend",
    "lean's slope covered",
    "square's slope covered",
)
# The columns that a set of alike models may show in one case of twenty.
_CLAIMS = 6


@dataclass(frozen=True)
class SeveralWorld:
    """Several models, each with one run of several tests.

    Attributes:
        name: What is simulated, in a few words.
        leans: Size of every lean of each model; sides alternate over the prompts of a mean square.
        images: Images of a prompt in each run; one number for all.
        tests: Number of tests.
        prompts: Number of prompts, which all tests share.
        shared: Correlation of what one image shows in two runs, as where models draw from the same
            noise.
        paired: Whether the runs have influences; without, their intervals alone are compared.
        leaning: The share of the prompts of a mean square that lean; the others do not.
    """

    name: str
    leans: tuple[float, ...]
    images: tuple[int, ...] = (10,)
    tests: int = 8
    prompts: int = 8
    shared: float = 0.0
    paired: bool = True
    leaning: float = 1.0

    @property
    def alike(self) -> bool:
        """Whether all models lean alike."""
        return len(set(self.leans)) == 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """The images of a prompt in each run."""
        return self.images if len(self.images) > 1 else self.images * len(self.leans)


WORLDS = (
    SeveralWorld("alike: 3 runs, no lean", (0.0,) * 3),
    SeveralWorld("alike: 3 runs, all .5", (0.5,) * 3),
    SeveralWorld("alike: 3 runs, all .9", (0.9,) * 3),
    SeveralWorld("alike: 8 runs, no lean", (0.0,) * 8),
    SeveralWorld("alike: 8 runs, all .5", (0.5,) * 8),
    SeveralWorld("alike: 8 runs, all .5, same noise", (0.5,) * 8, shared=0.8),
    SeveralWorld("alike: 8 runs, no lean, same noise", (0.0,) * 8, shared=0.8),
    SeveralWorld(
        "alike: 5 runs, all .5, 5 to 40 images", (0.5,) * 5, (5, 10, 10, 20, 40)
    ),
    SeveralWorld(
        "alike: 5 runs, no lean, 5 to 40 images", (0.0,) * 5, (5, 10, 10, 20, 40)
    ),
    SeveralWorld("alike: 5 runs, all .8, 4 prompts of 5", (0.8,) * 5, (5,), prompts=4),
    SeveralWorld("alike: 20 runs, all .3", (0.3,) * 20, tests=4),
    SeveralWorld("alike: 5 runs, half of the prompts .9", (0.9,) * 5, leaning=0.5),
    SeveralWorld("alike: 5 runs, no lean, intervals alone", (0.0,) * 5, paired=False),
    SeveralWorld("alike: 5 runs, all .5, intervals alone", (0.5,) * 5, paired=False),
    SeveralWorld("alike: 5 runs, all .9, intervals alone", (0.9,) * 5, paired=False),
    SeveralWorld("rising: 5 runs, .1 to .5", (0.1, 0.2, 0.3, 0.4, 0.5)),
    SeveralWorld(
        "rising: 5 runs, .1 to .5, same noise", (0.1, 0.2, 0.3, 0.4, 0.5), shared=0.8
    ),
    SeveralWorld("rising: 5 runs, .1 to .9", (0.1, 0.3, 0.5, 0.7, 0.9)),
    SeveralWorld(
        "rising: 5 runs, .1 to .9, 5 to 40 images",
        (0.1, 0.3, 0.5, 0.7, 0.9),
        (5, 10, 10, 20, 40),
    ),
    SeveralWorld(
        "rising: 5 runs, .1 to .9, intervals alone",
        (0.1, 0.3, 0.5, 0.7, 0.9),
        paired=False,
    ),
    SeveralWorld("one of 5 runs: 0, 0, .5, 0, 0", (0.0, 0.0, 0.5, 0.0, 0.0)),
)


def runs_of(world: SeveralWorld, seed: int) -> list[ComparedRun]:
    """Draw the runs of a world."""
    rng = np.random.default_rng([seed, len(world.name), len(world.leans)])
    shape = (world.tests, world.prompts, max(world.sizes))
    common = rng.normal(size=shape)
    runs = []
    for number, (lean, size) in enumerate(zip(world.leans, world.sizes, strict=True)):
        noise = rng.normal(size=shape)
        latent = np.sqrt(world.shared) * common + np.sqrt(1 - world.shared) * noise
        shown = _shown(latent[..., :size], lean, world.leaning)
        tasks = {}
        paired: dict[str, PairedTask] = {}
        for test, images in enumerate(shown):
            result: MethodResult = result_of(
                images, square=is_square(test), with_rows=False
            )
            name = f"test {test}"
            tasks[name] = record_of("occupations", name, result, seed=0, level=_LEVEL)
            if world.paired:
                paired[name] = paired_task(result)
        runs.append(ComparedRun(f"run {number}", run_of(tasks), paired, number + 1.0))
    return runs


def _shown(latent: Float64Array, lean: float, leaning: float) -> Float64Array:
    """What images show, 1 or -1, of the same shape as their noise: (tests, prompts, images)."""
    tests, prompts, _ = latent.shape
    sides = np.where(np.arange(prompts) % 2, -1.0, 1.0)
    sides[round(leaning * prompts) :] = 0.0
    squares = np.array([is_square(test) for test in range(tests)])
    signs = np.where(squares[:, None], sides, 1.0)
    shares = (1 + lean * signs) / 2
    shown: Float64Array = np.where(ndtr(latent) < shares[..., None], 1.0, -1.0)
    return shown


def outcome(world: SeveralWorld, seed: int) -> list[float]:
    """Draw and compare the runs of one set; return the columns of the table."""
    comparison = compare_runs(runs_of(world, seed), ordered=True)
    tests = {test.task: test for test in comparison.tasks}
    leans = [tests[f"test {k}"] for k in range(world.tests) if not is_square(k)]
    squares = [tests[f"test {k}"] for k in range(world.tests) if is_square(k)]
    weights = slope_weights(np.arange(len(world.leans)), world.sizes)
    slope = float(weights @ np.array(world.leans))
    slope_of_squares = world.leaning * float(weights @ np.array(world.leans) ** 2)
    overall = comparison.overall
    overall_trend = comparison.overall_trend
    return [
        float(overall is not None and overall.clear),
        _rejected([test.p_differ for test in leans]),
        _rejected([test.p_differ for test in squares]),
        float(overall_trend is not None and overall_trend.clear),
        _rejected([_p_of_trend(test) for test in leans]),
        _rejected([_p_of_trend(test) for test in squares]),
        _covered(leans, slope),
        _covered(squares, slope_of_squares),
    ]


def _p_of_trend(test: TaskAcrossRuns) -> float | None:
    return None if test.trend is None else test.trend.slope.p


def _rejected(p_values: Sequence[float | None]) -> float:
    """The share of tests with p below .05, uncorrected."""
    return float(np.mean([p is not None and p < 1 - _LEVEL for p in p_values]))


def _covered(tests: Sequence[TaskAcrossRuns], slope: float) -> float:
    """The share of tests whose interval has the true slope."""
    inside = []
    for test in tests:
        trend = test.trend
        if trend is None or trend.slope.low is None or trend.slope.high is None:
            inside.append(False)
        else:
            inside.append(trend.slope.low <= slope <= trend.slope.high)
    return float(np.mean(inside))


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate sets of runs of every world, print the table, and say what does not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.calibration.several",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--sets", metavar="N", type=positive, default=200, help="of a world (200)")
    add("--workers", metavar="N", type=positive, help="processes (all cores)")
    add(
        "--seed", metavar="N", type=not_negative, default=0, help="of the first set (0)"
    )
    add("--world", metavar="TEXT", default="", help="worlds whose name has it")
    arguments = parser.parse_args(argv)
    reporter = ConsoleReporter()
    rows = []
    failed = False
    for world in (world for world in WORLDS if arguments.world in world.name):
        with reporter.stage(f"Runs: {world.name}", arguments.sets, "sets") as ticker:
            drawn = each_of(
                range(arguments.seed, arguments.seed + arguments.sets),
                partial(outcome, world),
                arguments.workers,
                lambda *_, advance=ticker.advance: advance(1),
            )
        table = np.array(drawn, np.float64)
        rows.append([world.name, *(f"{share:.3f}" for share in table.mean(axis=0))])
        if world.alike:
            failed |= any(_is_too_often(column) for column in table.T[:_CLAIMS])
    print(tabulate(rows, headers=["world", *_COLUMNS], tablefmt="github"))
    return 1 if failed else 0


def _is_too_often(column: Float64Array) -> bool:
    """Whether a rate is above one in twenty by more than chance."""
    _, low, _ = rate_interval(column)
    return low > MOST_FALSE


if __name__ == "__main__":
    from tools.calibration import (
        several,
    )  # by its name, so that other processes find it

    sys.exit(several.main())
