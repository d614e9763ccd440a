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

from t2ibench.cli import main as command_line
from t2ibench.decisions.counted import Counted
from t2ibench.decisions.decision import decide
from t2ibench.decisions.profile import Profile
from t2ibench.decisions.quantity import Limits
from t2ibench.decisions.rules import Outcome, ruling
from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns
from t2ibench.methods import score
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.methods.core.schema import BaseTask
from t2ibench.results.builder import ScoredTask, task_record
from t2ibench.results.schema import GeneratorInfo, Results, TaskSettings
from t2ibench.settings import Settings
from t2ibench.tasks.loader import LoadedTask, task_hash
from tools.calibration.cells import SETTINGS, World
from tools.calibration.occupations import OccupationWorld, occupation_task
from tools.calibration.openbias import JudgedWorld
from tools.calibration.openbias import _task as openbias_task
from tools.calibration.t2iat import AssociationWorld
from tools.calibration.t2iat import _task as association_task
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
        beside: How far the model is from the limit, as a multiple of it: 1 is at the limit.
    """

    name: str
    task: BaseTask
    world: World
    statistic: str
    accept: float
    beside: float = 1.0


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


def cells() -> Iterator[Cell]:
    """Yield the cells of the table."""
    plain = Space()
    visible = Space(0.25)
    uneven = Space(decay=1.2)
    for accept in (0.24, 0.4):
        for name, space, size, alike in (
            ("plain", plain, (8, 16, 8), False),
            ("plain", plain, (20, 16, 5), True),
            ("plain", plain, (20, 16, 5), False),
            ("groups very visible", visible, (20, 16, 5), False),
            ("few directions", uneven, (8, 16, 8), False),
        ):
            yield _occupations(name, space, size, accept, alike)
    for name, space, images, accept in (
        ("plain", plain, (8, 5), 0.24),
        ("plain", plain, (60, 20), 0.24),
        ("plain", plain, (16, 8), 0.4),
        ("groups very visible", visible, (16, 8), 0.4),
    ):
        task = occupation_task(4, *images, judged=True)
        world = OccupationWorld(task, accept, space, alike=True, errors=0.0)
        text = f"row of occupations, {name}; {images[0]} + {images[1]} images"
        yield Cell(text, task, world, "row job1", accept)
    for accept in (0.24, 0.4):
        for clustering in (0.0, 0.1):
            association = association_task(8, 10, 5)
            pair = AssociationWorld(association, accept, clustering)
            text = f"headline of an association, 8 + 8 stimuli, clustering {clustering}"
            yield Cell(text, association, pair, "headline", accept)
        for captions, images in ((5, 20), (20, 20)):
            questions = openbias_task(captions, images, (2,))
            answers = JudgedWorld(questions, accept)
            text = f"headline of counts, {captions} captions of {images}"
            yield Cell(text, questions, answers, "headline", accept)


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
    """Return the outcomes of the data sets of a cell."""
    found: Tally = Tally(Counter(), Counter())
    profile = profile_of(cell.statistic, cell.accept)
    for number in range(sets):
        rng = np.random.default_rng([seed, number, len(cell.name)])
        sample = cell.world.draw(rng)
        settings = SETTINGS.model_copy(update={"seed": int(rng.integers(2**31))})
        result = score(cell.task, sample.evidence, settings)
        decision = decide(
            profile,
            MeasuredRun(None, results_of(cell.task, result, settings)),
            ReferenceRuns(Path()),
        )
        part = decision.scenarios[0]
        found.decisions[part.outcome] += 1
        found.rule[part.rulings[0].outcome if part.rulings else "undecided"] += 1
        found.forecast += (part.repeat.at_estimate if part.repeat else 0.0) / sets
    return found


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
    wrong_pass = sum(p for p, what in zip(chances, outcomes, strict=True) if what == "pass")
    wrong_fail = sum(p for p, what in zip(chances, outcomes, strict=True) if what == "fail")
    return float(wrong_pass), float(wrong_fail)


def counts_table() -> Iterator[str]:
    """Yield the lines of the table of exact rates of counts."""
    yield "| images | " + " | ".join(f"limit {margin:g}" for margin in _MARGINS) + " |"
    yield "|---|" + "---|" * len(_MARGINS)
    for images in _COUNTS:
        pairs = [counted_rates(images, margin) for margin in _MARGINS]
        texts = [f"{passes:.3f} / {fails:.3f}" for passes, fails in pairs]
        yield f"| {images} | {' | '.join(texts)} |"


def simulated_table(sets: int, say: Callable[[str], None]) -> None:
    """Print the table of simulated rates, row by row."""
    say("| world at the limit | limit | pass | fail | rule alone | two runs differ: found, forecast |")
    say("|---|---|---|---|---|---|")
    for cell in cells():
        found = tally(cell, sets)
        passes, fails = (found.decisions[what] for what in ("pass", "fail"))
        alone = f"{_rate(found.rule['pass'], sets)} / {_rate(found.rule['fail'], sets)}"
        say(
            f"| {cell.name} | {cell.accept:g} | {_rate(passes, sets)} | {_rate(fails, sets)} | "
            f"{alone} | {found.differ:.2f}, {found.forecast:.2f} |"
        )


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
    runs: int, accept: float, statistic: str
) -> tuple[Counter[str], Counter[str]]:
    """Return the outcomes of runs of toyland whose every occupation leans by the limit.

    Both commands are called as a user calls them: `run`, then `decide --format json`.
    """
    outcomes: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "decided.yaml").write_text(_TOYLAND, encoding="utf-8")
        profile = profile_of(statistic, accept, "decided")
        accept_file = folder / "accept.yaml"
        accept_file.write_text(json.dumps(_plain(profile)), encoding="utf-8")
        women = (1 - accept) / 2
        for seed in range(runs):
            target = folder / f"run{seed}"
            _quietly(
                *("run", "--model", "toyland", "--tasks", "decided"),
                *("--model-args", f"all.gender.female={women}"),
                *("--include-path", str(folder), "--seed", str(seed)),
                *("--output-dir", str(target), "--permutations", "200"),
                *("--bootstrap", "50", "--control-encoder", "none"),
            )
            status, text = _quietly(
                *("decide", str(target / "toyland"), "--accept", str(accept_file)),
                *("--format", "json"),
            )
            statuses[str(status)] += 1
            outcomes[json.loads(text)["outcome"]] += 1
    return outcomes, statuses


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
    parser.add_argument("--sets", type=int, default=400, help="data sets of a cell")
    parser.add_argument(
        "--toyland", type=int, default=0, help="runs of toyland, instead of the tables"
    )
    arguments = parser.parse_args(argv)
    if arguments.toyland:
        for accept, statistic in ((0.4, "headline"), (0.4, "row nurse")):
            outcomes, statuses = toyland_outcomes(arguments.toyland, accept, statistic)
            print(accept, statistic, dict(outcomes), dict(statuses), flush=True)
        return 0

    def say(line: str) -> None:
        print(line, flush=True)

    for line in counts_table():
        say(line)
    say("")
    simulated_table(arguments.sets, say)
    return 0


if __name__ == "__main__":
    sys.exit(main())
