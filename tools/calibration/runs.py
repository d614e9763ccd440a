"""How often a whole run cries wolf: `--tasks core` in fair worlds and in a world of known bias.

python -m tools.calibration.runs --runs 400
python -m tools.calibration.runs --tasks all --world judged   # all tasks, with a judge

A run cries wolf where any test is clear of which nothing was planted and that is no positive
control. A few tests lean in fair worlds, too: they ask for classes that toyland does not draw
evenly. A run is wrong where a test, or a row, is clearly on the side that was not planted. It ends
with 1 where more than one run in twenty cries wolf, or more than one in two hundred is wrong, by
more than chance.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
from PIL.Image import Image
from tabulate import tabulate

from t2ibench.arrays import Float64Array
from t2ibench.cli.usage import positive
from t2ibench.methods import combine, needs, score
from t2ibench.methods.core.evidence import ImageEvidence, Needs
from t2ibench.models.encoders import create_encoder
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.judges.toyland import unreachable
from t2ibench.models.protocols import Encoder, ImageRequest
from t2ibench.pipeline.progress import ConsoleReporter
from t2ibench.results.builder import ScoredTask, adjusted_run, task_record
from t2ibench.results.display import row_state, side_of, state_of
from t2ibench.results.schema import TaskResult, TaskSettings
from t2ibench.settings import Measurement, Settings
from t2ibench.store.images import image_seed
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.loader import LoadedTask
from t2ibench.toyland.world import thing_name
from t2ibench.toyland.world import world as toyland
from t2ibench.worker_pool import each_of
from tools.calibration.toyland import judged
from tools.calibration.verdicts import rate_interval
from tools.calibration.worlds import WorldEvidence

_FAIR = {"all.gender.female": 0.5, "all.skin.dark": 0.5, "all.age.old": 0.5}
# Toyland shows nobody as nonbinary, and of three ages some more often than others.
_NEVER_FAIR = frozenset({"openbias_examples", "tibet_prompts"})
_SETTINGS = Settings(n_permutations=2000, n_bootstrap=50)
_IGNORED = 0.3  # of the images whose prompt has a word that is ignored
MOST_FALSE, MOST_WRONG = 0.05, 0.005


@dataclass(frozen=True)
class RunWorld:
    """A model whose bias is known, and what an encoder sees of it.

    Attributes:
        name: What is simulated, in a few words.
        encoder: Name of the encoder.
        args: The planted shares of toyland.
        distinct: Distinct images that a prompt has at most; None for all.
        ignored: Words of a prompt that three images in ten ignore.
        varied: Words of a prompt whose images vary twice as much.
        fair: Whether nothing is planted, so that only the positive controls may be clear.
        judged: Whether toyland's judge answers the questions of the tasks.
    """

    name: str
    encoder: str = "toyland"
    args: Mapping[str, float] = field(default_factory=lambda: _FAIR)
    distinct: int | None = None
    ignored: tuple[str, ...] = ()
    varied: tuple[str, ...] = ()
    fair: bool = True
    judged: bool = False


WORLDS = (
    RunWorld("fair"),
    RunWorld("fair, and judged", judged=True),
    RunWorld("fair, read by toy-clip", encoder="toy-clip"),
    RunWorld("fair; seeds ignored, 5 distinct images", distinct=5),
    RunWorld(
        "fair; 'male', 'young', 'light-skinned' ignored in 30 %",
        ignored=("male", "young", "light-skinned"),
    ),
    RunWorld(
        "fair; images of the same vary twice as much",
        varied=("male", "young", "light-skinned"),
    ),
    RunWorld("planted", args={}, fair=False),
    RunWorld("planted, read by toy-clip", encoder="toy-clip", args={}, fair=False),
)


@lru_cache
def _encoder(name: str) -> Encoder:
    return create_encoder(name)


def run(world: RunWorld, seed: int, tasks: str = "core") -> tuple[int, int, int, int]:
    """Draw and score one run.

    Args:
        world: The model, and what is seen of it.
        seed: Seed of its images and statistics.
        tasks: The tasks, as given to --tasks.

    Returns:
        Clear tests of which nothing was planted, tests and rows that are clear on the side that was
        not planted, clear tests, and tests that cannot tell; positive controls are not counted.
    """
    results = {task.id: measured(world, task, seed) for task in load_tasks(tasks)}
    tests = {
        name: task
        for name, task in adjusted_run(results).items()
        if not task.positive_control
    }
    states = {name: state_of(task) for name, task in tests.items()}
    false = wrong = 0
    for name, result in tests.items():
        side = None if world.fair else _planted(name)
        is_fair = side is None and name not in _NEVER_FAIR
        false += is_fair and states[name] == "clear"
        if side is None:
            continue
        if states[name] == "clear" and result.headline.scale == "lean":
            wrong += side_of(result.headline.value) != side("")
        for row in result.by:
            lean, planted = row.scores.get("lean"), side(row.name)
            if planted and lean is not None and row_state(lean) == "clear":
                wrong += side_of(lean.value) != planted
    shown = list(states.values())
    return false, wrong, shown.count("clear"), shown.count("cannot_tell")


def measured(world: RunWorld, task: LoadedTask, seed: int) -> TaskResult:
    """Draw what a task needs, and score it; p-values are those of the task alone."""
    settings = _SETTINGS.model_copy(update={"seed": seed})
    evidence = _evidence(world, needs(task.spec, settings), seed)
    scored = combine(task.spec, [score(task.spec, evidence, settings)], settings)
    measurement = Measurement.of(settings).model_dump()
    return task_record(
        task,
        ScoredTask(scored),
        TaskSettings(encoders={world.encoder: ""}, **measurement),
    )


def _planted(task: str) -> Callable[[str], str | None] | None:
    """From a row's name to the side that toyland plants; of the headline from ''."""
    shares = toyland().shares

    def gender_side(row: str) -> str | None:
        return side_of(0.5 - shares[thing_name(row)]["gender"])

    return {
        "core_occupations_gender": gender_side,
        "core_occupations_same_form": gender_side,
        "core_science_arts": lambda row: (
            side_of(0.5 - _group_share(row)) if row else "high"
        ),
        "core_occupations_age": lambda _: "high",
        "core_occupations_skin": lambda _: "high",
    }.get(task)


def _group_share(row: str) -> float:
    here = toyland()
    _, group, _ = here.things[tuple(row.lower().split())]
    return here.shares[group or "all"].get("gender", 0.5)


@dataclass(frozen=True)
class _Distinct(WorldEvidence):
    """What is left where images that show the same count once."""

    def images(self, prompt: str, n: int) -> ImageEvidence:
        return super().images(prompt, min(n, len(self.embeddings[prompt])))


def _evidence(world: RunWorld, needed: Needs, seed: int) -> WorldEvidence:
    encoder = _encoder(world.encoder)
    generator = ToylandGenerator(dict(world.args), seed)
    rng = np.random.default_rng(seed)
    requests = []
    for prompt, n in needed.images_by_prompt.items():
        for index in range(min(n, world.distinct or n)):
            asked = prompt
            if rng.random() < _IGNORED:
                for word in world.ignored:
                    asked = asked.replace(f" {word} ", " ")
            requests.append(
                (prompt, ImageRequest(asked, index, image_seed(seed, prompt, index)))
            )
    drawn = generator.generate([request for _, request in requests])
    images = [result.image for result in drawn if result.image is not None]
    rows = encoder.encode_images([encoder.prepare(image) for image in images]).astype(
        "float64"
    )
    by_prompt: dict[str, list[Image]] = {}
    for (prompt, _), image in zip(requests, images, strict=True):
        by_prompt.setdefault(prompt, []).append(image)
    replies = judged(needed, by_prompt) if world.judged else {}
    own: dict[str, list[Float64Array]] = {}
    for (prompt, _), row in zip(requests, rows, strict=True):
        own.setdefault(prompt, []).append(row)
    embeddings = {
        prompt: _varied(
            np.array(found), any(f" {word} " in prompt for word in world.varied)
        )
        for prompt, found in own.items()
    }
    texts = dict(zip(needed.texts, encoder.encode_texts(needed.texts), strict=True))
    return _Distinct(
        embeddings,
        {text: row.astype("float64") for text, row in texts.items()},
        replies,
        frozenset().union(*(unreachable(need.classes) for need in needed.questions)),
    )


def _varied(rows: Float64Array, twice: bool) -> Float64Array:
    if twice:
        rows = 2 * rows - rows.mean(axis=0)
    unit: Float64Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate runs of every world, print the table, and say what does not hold."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.calibration.runs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--runs", metavar="N", type=positive, default=60, help="of a world (60)"
    )
    parser.add_argument(
        "--workers", metavar="N", type=positive, help="processes (all cores)"
    )
    parser.add_argument(
        "--world", metavar="TEXT", default="", help="worlds whose name has it"
    )
    parser.add_argument(
        "--tasks", metavar="T,…", default="core", help="tasks of a run (core)"
    )
    arguments = parser.parse_args(argv)
    reporter = ConsoleReporter()
    rows, failed = [], False
    for world in (one for one in WORLDS if arguments.world in one.name):
        with reporter.stage(f"Runs: {world.name}", arguments.runs, "runs") as ticker:
            found = each_of(
                range(arguments.runs),
                partial(run, world, tasks=arguments.tasks),
                arguments.workers,
                lambda *_, advance=ticker.advance: advance(1),
            )
        false, wrong, clear, unsure = np.array(found, dtype=np.float64).T
        cells = []
        for counts, most in ((false, MOST_FALSE), (wrong, MOST_WRONG)):
            share, low, high = rate_interval((counts > 0).astype(np.float64))
            failed |= low > most
            cells.append(
                f"{share:.3f} [{low:.3f}, {high:.3f}]{' !' if low > most else ''}"
            )
        row = [world.name, *cells, f"{clear.mean():.2f}", f"{unsure.mean():.2f}"]
        # A world takes many minutes: what was simulated stays on the screen of a run that ends.
        reporter.say("; ".join(row))
        rows.append(row)
    heads = [
        "world",
        "runs with a false claim",
        "a wrong side",
        "clear tests a run",
        "cannot tell",
    ]
    print(tabulate(rows, headers=heads, tablefmt="github"))
    return 1 if failed else 0


if __name__ == "__main__":
    from tools.calibration import runs  # by its name, so that other processes find it

    sys.exit(runs.main())
