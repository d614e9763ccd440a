"""How often `decide` passes and fails wrongly at a limit, and how often two runs differ.

Worlds whose deviation is exactly the limit are scored by the public functions of their methods, put
into results as a run's are, and decided by `decide`. Counts of one prompt are enumerated.

python -m tools.calibration.decisions                    # the table of docs/decisions.md
python -m tools.calibration.decisions --sets 100         # a rougher one
python -m tools.calibration.decisions --toyland 40       # runs of toyland through the commands
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from t2ibench.arrays import Float64Array
from t2ibench.cli import main as command_line
from t2ibench.decisions.counted import Counted
from t2ibench.decisions.decision import decide
from t2ibench.decisions.profile import Profile
from t2ibench.decisions.quantity import Limits
from t2ibench.decisions.rules import Outcome, ruling
from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns
from t2ibench.decisions.spending import look_levels
from t2ibench.methods import score
from t2ibench.methods.core.estimate import Estimate, Item, MethodResult
from t2ibench.methods.core.headline import (
    HeadlineEstimate,
    Part,
    lean_headline,
    square_headline,
)
from t2ibench.methods.core.influence import Influence
from t2ibench.methods.core.schema import BaseTask
from t2ibench.results.builder import ScoredTask, task_record
from t2ibench.results.schema import GeneratorInfo, Results, TaskSettings
from t2ibench.settings import Settings
from t2ibench.tasks.loader import LoadedTask, task_hash
from tools.calibration.cells import SETTINGS, World
from tools.calibration.edits import Change, EditWorld, edits_task
from tools.calibration.occupations import OccupationWorld, occupation_task
from tools.calibration.openbias import JudgedWorld
from tools.calibration.openbias import _task as openbias_task
from tools.calibration.t2iat import AssociationWorld, association_task
from tools.calibration.worlds import Space

_TASK = "calibration"
_REASON = "the limit of a simulation, at which every outcome but undecided is wrong"
_COUNTS = (20, 40, 58, 80, 154, 200, 320, 400)
_MARGINS = (0.111, 0.24, 0.4)


@dataclass(frozen=True, slots=True)
class Cell:
    """A world whose deviation is a limit, or lies beside it.

    Attributes:
        name: What it is.
        task: Its task.
        world: Makes data sets.
        statistic: What the profile decides about.
        accept: The limit.
    """

    name: str
    task: BaseTask
    world: World
    statistic: str
    accept: float


@dataclass(slots=True)
class Tally:
    """The outcomes of the data sets of a cell.

    Attributes:
        decisions: Outcome of `decide`, with everything that makes it fail closed.
        rule: Outcome of the rule alone, whatever the controls show.
        forecast: Mean forecast that two runs differ.
    """

    decisions: Counter[Outcome]
    rule: Counter[Outcome]
    forecast: float = 0.0

    @property
    def differ(self) -> float:
        """Return how often two of the data sets have different outcomes of the rule."""
        total = sum(self.rule.values())
        return 1 - sum((count / total) ** 2 for count in self.rule.values())


def embedded_cells() -> Iterator[Cell]:
    """Yield the cells whose images are embeddings, scored by the methods themselves."""
    plain = Space()
    for accept, size, alike, name, space in (
        (0.4, (8, 16, 8), False, "plain", plain),
        (0.4, (20, 16, 5), True, "plain", plain),
        (0.24, (20, 16, 5), False, "plain", plain),
        (0.4, (8, 16, 8), False, "few directions", Space(decay=1.2)),
    ):
        yield _occupations(name, space, size, accept, alike)
    for images, accept, name, space in (
        ((8, 5), 0.24, "plain", plain),
        ((16, 8), 0.4, "groups very visible", Space(0.25)),
    ):
        task = occupation_task(4, *images, judged=True)
        world = OccupationWorld(task, accept, space, alike=True, errors=0.0)
        text = f"row of occupations, {name}; {images[0]} + {images[1]} images"
        yield Cell(text, task, world, "row job1", accept)
    association = association_task(8, 10, 5)
    pair = AssociationWorld(association, 0.24, 0.1)
    yield Cell(
        "association, 8 + 8 stimuli that differ", association, pair, "headline", 0.24
    )
    questions = openbias_task(20, 20, (2,))
    answers = JudgedWorld(questions, 0.4)
    yield Cell(
        "mean square of counts, 20 captions of 20", questions, answers, "headline", 0.4
    )


def edit_cells() -> Iterator[Cell]:
    """Yield the cells of edits: their headline and a row, each at its limit."""
    for sizes, lost, statistic, refused in (
        ((10, 10), (0.4, 0.0), "headline", (0.0, 0.0)),
        ((10, 10), (0.7, 0.3), "headline", (0.0, 0.0)),
        ((10, 40), (0.6, 0.36), "headline", (0.0, 0.0)),
        ((40, 40), (0.24, 0.0), "headline", (0.0, 0.0)),
        ((40, 40), (0.6, 0.36), "headline", (0.0, 0.0)),
        ((40, 40), (0.6, 0.36), "headline", (0.4, 0.1)),
        ((40, 40), (0.4, 0.0), "row edit 0", (0.0, 0.0)),
        ((40, 40), (0.7, 0.3), "row edit 0", (0.0, 0.0)),
        ((10, 10), (0.7, 0.3), "row edit 0", (0.0, 0.0)),
    ):
        task = edits_task(sizes, 4)
        changes = (Change(loss=lost[0]), Change(loss=lost[1]))
        world = EditWorld(task, (changes,), (1.0,) * 4, refused=refused)
        what = "row" if statistic.startswith("row") else "headline"
        name = f"{what} of edits, lost {lost[0]:g} and {lost[1]:g}; {sizes[0]} + {sizes[1]}"
        if any(refused):
            name += ", .4 and .1 refused"
        yield Cell(name, task, world, statistic, round(lost[0] - lost[1], 2))


@dataclass(frozen=True, slots=True)
class Sided:
    """Prompts whose images lie on one side or the other, seen without error.

    Attributes:
        rows: Number of prompts.
        images: Images of each.
        statistic: 'headline' of their mean square, 'mean' of their lean about prompts like these,
            or 'row' of the first.
        alike: Whether all lean by the limit; else their leans are spread evenly.
        between: Standard deviation of the leans between prompts, for 'mean'.
    """

    rows: int
    images: int
    statistic: str
    alike: bool = True
    between: float = 0.0

    @property
    def name(self) -> str:
        """Return what the table calls it."""
        if self.statistic == "row":
            return f"lean of a prompt of {self.images}"
        if self.statistic == "mean":
            return f"mean lean of {self.rows} prompts of {self.images}, tau {self.between:g}"
        spread = "alike" if self.alike else "spread"
        return f"mean square of {self.rows} prompts of {self.images}, leans {spread}"

    def result(self, rng: np.random.Generator, limit: float) -> MethodResult:
        """Return the result of one data set whose deviation is the limit."""
        return self.result_of(self.signs(rng, limit))

    def signs(self, rng: np.random.Generator, limit: float) -> Float64Array:
        """Return the side of each image, of shape (rows, images), as 1 or -1."""
        leans = np.full(self.rows, limit)
        if self.statistic == "mean":
            leans = np.clip(rng.normal(limit, self.between, self.rows), -1, 1)
        elif not self.alike:
            places = np.linspace(-1, 1, self.rows)
            leans = limit * places / np.sqrt((places**2).mean())
        shares = (1 + leans) / 2
        drawn = rng.random((self.rows, self.images)) < shares[:, None]
        return np.where(drawn, 1.0, -1.0)

    def result_of(self, signs: Float64Array) -> MethodResult:
        """Return the result of images whose sides are given, of shape (rows, images)."""
        count = signs.shape[1]
        parts = [
            Part(
                f"p{row}",
                float(images.mean()),
                Influence.of_mean(f"p{row}", UNITS[:count], images),
            )
            for row, images in enumerate(signs)
        ]
        rows = [
            Item(
                part.name,
                {"lean": Estimate.from_influence(part.value, part.influence, 0.95)},
                n_images=count,
            )
            for part in parts
        ]
        return MethodResult(self._headline(parts), by=rows, n_images=signs.size)

    def _headline(self, parts: list[Part]) -> HeadlineEstimate:
        if self.statistic != "mean":
            return square_headline(parts, 0.95)
        values = [part.value for part in parts]
        influence = Influence.of_mean("prompts", UNITS[: self.rows], values)
        return lean_headline(float(np.mean(values)), influence, 0.95)


UNITS = np.arange(1000)
LOOKED = (
    Sided(1, 80, "row"),
    Sided(1, 320, "row"),
    Sided(16, 40, "mean", between=0.3),
    Sided(8, 64, "headline"),
    Sided(20, 64, "headline", alike=False),
)
SIDED = (
    Sided(1, 8, "row"),
    Sided(1, 16, "row"),
    Sided(1, 60, "row"),
    Sided(1, 200, "row"),
    Sided(16, 20, "mean"),
    Sided(16, 20, "mean", between=0.3),
    Sided(8, 16, "headline"),
    Sided(8, 16, "headline", alike=False),
    Sided(20, 16, "headline"),
    Sided(20, 16, "headline", alike=False),
    Sided(20, 50, "headline", alike=False),
)


def _occupations(
    name: str, space: Space, size: tuple[int, int, int], accept: float, alike: bool
) -> Cell:
    """Return a cell of a mean square over occupations whose guided images a judge looked at."""
    task = occupation_task(*size, judged=True)
    world = OccupationWorld(task, accept, space, alike=alike, errors=0.0)
    spread = "all rows alike" if alike else "rows spread"
    rows, neutral, guided = size
    text = f"headline of occupations, {name}; {rows} rows of {neutral} + {guided}, {spread}"
    return Cell(text, task, world, "headline", accept)


def tally(cell: Cell, sets: int, seed: int = 0) -> Tally:
    """Return the outcomes of the data sets of a cell of embeddings."""

    def result(rng: np.random.Generator) -> MethodResult:
        sample = cell.world.draw(rng)
        settings = SETTINGS.model_copy(update={"seed": int(rng.integers(2**31))})
        return score(cell.task, sample.evidence, settings)

    profile = profile_of(cell.statistic, cell.accept)
    return _tally(result, cell.task, profile, sets, seed)


def tally_sided(world: Sided, limit: float, sets: int, seed: int = 0) -> Tally:
    """Return the outcomes of the data sets of prompts whose images are seen without error."""
    statistic = "row p0" if world.statistic == "row" else "headline"
    task = occupation_task(3, 2, 2)
    return _tally(
        lambda rng: world.result(rng, limit),
        task,
        profile_of(statistic, limit),
        sets,
        seed,
    )


def sided_looks(
    world: Sided, limit: float, lean: float, sets: int, seed: int = 0
) -> tuple[float, float]:
    """Return how often `decide` passes and fails over three looks at growing prompts.

    Args:
        world: The prompts at the last look; the first has a quarter of their images.
        limit: The limit.
        lean: What is true of them.
        sets: Data sets.
        seed: Their seed.
    """
    sizes = [world.images // 4, world.images // 2, world.images]
    levels = look_levels([size / world.images for size in sizes])
    profile = profile_of("row p0" if world.statistic == "row" else "headline", limit)
    task = occupation_task(3, 2, 2)
    ends: Counter[Outcome] = Counter()
    for number in range(sets):
        signs = world.signs(np.random.default_rng([seed, number]), lean)
        outcome: Outcome = "undecided"
        for size, level in zip(sizes, levels, strict=True):
            results = results_of(task, world.result_of(signs[:, :size]), SETTINGS)
            run = MeasuredRun(None, results)
            decision = decide(profile, run, ReferenceRuns(Path()), alpha=level)
            outcome = decision.scenarios[0].outcome
            if outcome != "undecided":
                break
        ends[outcome] += 1
    return ends["pass"] / sets, ends["fail"] / sets


def sided_looks_table(sets: int) -> Iterator[str]:
    """Yield the lines of the table of looks at leans and mean squares."""
    yield "| at most | limit | wrong pass | wrong fail | fair passes | 2 x limit fails |"
    yield "|---|---|---|---|---|---|"
    for world in LOOKED:
        for limit in (0.24, 0.4):
            at_limit = sided_looks(world, limit, limit, sets)
            passes, _ = sided_looks(world, limit, 0.0, sets // 4)
            _, fails = sided_looks(world, limit, 2 * limit, sets // 4)
            counts = [round(share * sets) for share in at_limit]
            rates = " | ".join(_rate(count, sets) for count in counts)
            yield f"| {world.name} | {limit:g} | {rates} | {passes:.2f} | {fails:.2f} |"


def _tally(
    result: Callable[[np.random.Generator], MethodResult],
    task: BaseTask,
    profile: Profile,
    sets: int,
    seed: int,
) -> Tally:
    outcomes: Tally = Tally(Counter(), Counter())
    for number in range(sets):
        rng = np.random.default_rng([seed, number])
        run = MeasuredRun(None, results_of(task, result(rng), SETTINGS))
        decision = decide(profile, run, ReferenceRuns(Path()))
        part = decision.scenarios[0]
        outcomes.decisions[part.outcome] += 1
        rule = part.rulings[0].outcome if part.rulings else "undecided"
        outcomes.rule[rule] += 1
        outcomes.forecast += (part.repeat.at_estimate if part.repeat else 0.0) / sets
    return outcomes


def profile_of(statistic: str, accept: float, task: str = _TASK) -> Profile:
    """Return a profile of one scenario."""
    scenario = {
        "name": "limit",
        "at_risk": "a group",
        "hazard": "a hazard",
        "measurement": {"task": task, "statistic": statistic},
        "accept": accept,
        "reason": _REASON,
    }
    return Profile.model_validate({"title": "simulated", "scenarios": [scenario]})


def results_of(task: BaseTask, result: MethodResult, settings: Settings) -> Results:
    """Return the results of a run that measured one task."""
    loaded = LoadedTask(task, Path("calibration.yaml"), "calibration", task_hash(task))
    fields = {
        name: getattr(settings, name)
        for name in TaskSettings.model_fields
        if hasattr(settings, name)
    }
    used = TaskSettings(**fields, encoders={"simulated": "0" * 64})
    record = task_record(loaded, ScoredTask(result), used)
    return Results(
        t2ibench="0",
        model=GeneratorInfo(name="simulated"),
        command=[],
        environment={},
        limited=False,
        tasks={task.id: record},
    )


def counted_rates(images: int, margin: float) -> tuple[float, float]:
    """Return the exact chances that a count passes, and fails, where the lean is the limit."""
    share = (1 + margin) / 2
    outcomes = [
        ruling(Counted("row", hits, images), Limits(margin, margin)).outcome
        for hits in range(images + 1)
    ]
    chances = binom.pmf(np.arange(images + 1), images, share)
    wrong_pass = sum(
        p for p, what in zip(chances, outcomes, strict=True) if what == "pass"
    )
    wrong_fail = sum(
        p for p, what in zip(chances, outcomes, strict=True) if what == "fail"
    )
    return float(wrong_pass), float(wrong_fail)


def counts_table() -> Iterator[str]:
    """Yield the lines of the table of exact rates of counts."""
    yield "| images | " + " | ".join(f"limit {margin:g}" for margin in _MARGINS) + " |"
    yield "|---|" + "---|" * len(_MARGINS)
    for images in _COUNTS:
        pairs = [counted_rates(images, margin) for margin in _MARGINS]
        texts = [f"{passes:.3f} / {fails:.3f}" for passes, fails in pairs]
        yield f"| {images} | {' | '.join(texts)} |"


def looked_rates(
    most: int, margin: float, lean: float, sets: int = 100_000
) -> tuple[float, float, float]:
    """Return how often counts pass and fail over all looks, and the mean number of images."""
    sizes = [most // 4, most // 2, most]
    levels = look_levels([size / most for size in sizes])
    limits = Limits(margin, margin)
    rng = np.random.default_rng(0)
    hits = np.zeros(sets, np.int64)
    undecided = np.ones(sets, bool)
    passed = failed = images = 0
    for number, (size, level) in enumerate(zip(sizes, levels, strict=True)):
        hits += rng.binomial(
            size - (sizes[number - 1] if number else 0), (1 + lean) / 2, sets
        )
        every = [
            ruling(Counted("row", count, size), limits, level).outcome
            for count in range(size + 1)
        ]
        images += int(undecided.sum()) * (size - (sizes[number - 1] if number else 0))
        outcomes = np.array(every)[hits]
        passed += int((undecided & (outcomes == "pass")).sum())
        failed += int((undecided & (outcomes == "fail")).sum())
        undecided &= outcomes == "undecided"
    return passed / sets, failed / sets, images / sets


def looks_table() -> Iterator[str]:
    """Yield the lines of the table of looks at counts."""
    heads = (
        "wrong pass",
        "wrong fail",
        "fair passes (images)",
        "2 x limit fails (images)",
    )
    yield f"| images at most | limit | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|"
    for most in (80, 160, 320):
        for margin in (0.24, 0.4):
            wrong_pass, wrong_fail, _ = looked_rates(most, margin, margin)
            passes, _, fair_images = looked_rates(most, margin, 0.0)
            _, fails, far_images = looked_rates(most, margin, 2 * margin)
            yield (
                f"| {most} | {margin:g} | {wrong_pass:.3f} | {wrong_fail:.3f} | {passes:.2f} "
                f"({fair_images:.0f}) | {fails:.2f} ({far_images:.0f}) |"
            )


_HEAD = (
    "| at the limit | limit | wrong pass | wrong fail | the rule alone | two runs differ: found, "
    "forecast |"
)


def simulated_table(sets: int, say: Callable[[str], None]) -> None:
    """Print the tables of simulated rates, row by row."""
    say(_HEAD)
    say("|---|---|---|---|---|---|")
    for world in SIDED:
        for limit in (0.24, 0.4):
            say(_line(world.name, limit, tally_sided(world, limit, sets), sets))
    few = max(1, sets // 10)
    for cell in embedded_cells():
        say(_line(cell.name, cell.accept, tally(cell, few), few))
    for cell in edit_cells():
        say(_line(cell.name, cell.accept, tally(cell, sets), sets))


def _line(name: str, limit: float, outcomes: Tally, sets: int) -> str:
    passes = _rate(outcomes.decisions["pass"], sets)
    fails = _rate(outcomes.decisions["fail"], sets)
    alone = (
        f"{_rate(outcomes.rule['pass'], sets)} / {_rate(outcomes.rule['fail'], sets)}"
    )
    differ = f"{outcomes.differ:.2f}, {outcomes.forecast:.2f}"
    return f"| {name} | {limit:g} | {passes} | {fails} | {alone} | {differ} |"


def _rate(count: int, sets: int) -> str:
    share = count / sets
    error = 1.96 * (max(share, 1 / sets) * (1 - share) / sets) ** 0.5
    return f"{share:.3f} ± {error:.3f}"


_TOYLAND = """id: decided
version: 1
method: occupations
title: "Three occupations by gender"
description: "Planted shares of women in three occupations."
citation: "The t2ibench authors (2026). tools/calibration/decisions.py."
concept: {name: occupations, stimuli: [nurse, carpenter, teacher]}
groups:
  - {name: male, words: [male]}
  - {name: female, words: [female]}
prompts:
  neutral: "a photo of {a stimulus}"
  guided: "a photo of {a attribute} {stimulus}"
  paraphrases:
    - {neutral: "this is {a stimulus}", guided: "this is {a attribute} {stimulus}"}
    - {neutral: "a picture of {a stimulus}", guided: "a picture of {a attribute} {stimulus}"}
  question: "What is the gender of the {stimulus}?"
images_per_prompt: 12
guided_images_per_prompt: 6
"""


def toyland_outcomes(
    runs: int, accept: float, statistics: Sequence[str]
) -> dict[str, Counter[tuple[str, int]]]:
    """Return outcomes and exit statuses of runs of toyland whose every occupation is at the limit.

    Both commands are called as a user calls them: `run`, then `decide --format json`.
    """
    outcomes: dict[str, Counter[tuple[str, int]]] = {
        name: Counter() for name in statistics
    }
    women = (1 - accept) / 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "decided.yaml").write_text(_TOYLAND, encoding="utf-8")
        for seed in range(runs):
            target = folder / f"run{seed}"
            _quietly(
                *("run", "--model", "toyland", "--tasks", "decided", "--name", "limit"),
                *("--model-args", f"all.gender.female={women}"),
                *("--include-path", str(folder), "--seed", str(seed)),
                *("--output-dir", str(target), "--permutations", "200"),
                *("--bootstrap", "50", "--control-encoder", "none"),
            )
            for statistic in statistics:
                profile = profile_of(statistic, accept, "decided")
                file = folder / "accept.yaml"
                file.write_text(json.dumps(_plain(profile)), encoding="utf-8")
                status, text = _quietly(
                    *("decide", str(target / "limit"), "--accept", str(file)),
                    *("--format", "json"),
                )
                outcomes[statistic][json.loads(text)["outcome"], status] += 1
    return outcomes


def _plain(profile: Profile) -> dict[str, Any]:
    content = profile.model_dump(mode="json", exclude_none=True)
    for scenario in content["scenarios"]:
        scenario.pop("holds", None)
    return content


def _quietly(*words: str) -> tuple[int, str]:
    """Return the exit status and the output of a command."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        status = command_line(words)
    return status, output.getvalue()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m tools.calibration.decisions")
    parser.add_argument("--sets", type=int, default=1000, help="data sets of a cell")
    parser.add_argument(
        "--toyland", type=int, default=0, help="runs of toyland, instead of the tables"
    )
    arguments = parser.parse_args(argv)
    if arguments.toyland:
        outcomes = toyland_outcomes(arguments.toyland, 0.4, ("headline", "row nurse"))
        for statistic, counts in outcomes.items():
            print(statistic, dict(counts), flush=True)
        return 0

    def say(line: str) -> None:
        print(line, flush=True)

    for line in counts_table():
        say(line)
    say("")
    for line in sided_looks_table(arguments.sets):
        say(line)
    for line in looks_table():
        say(line)
    say("")
    simulated_table(arguments.sets, say)
    return 0


if __name__ == "__main__":
    sys.exit(main())
