"""Pilots: what is known of a task's variance before a larger run, from a run or from a world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from t2ibench.calibration.cells import cells_of
from t2ibench.errors import T2IBenchError
from t2ibench.methods import METHODS, needs
from t2ibench.methods.core.cells import Cell, ToylandWorld
from t2ibench.methods.core.headline import Headline, Inference, Part, Question
from t2ibench.methods.core.needs import Needs
from t2ibench.methods.core.schema import BaseTask
from t2ibench.results.paired import FILE, read_paired
from t2ibench.results.reading import read_results
from t2ibench.results.run import open_run
from t2ibench.results.schema import Inference as StoredInference
from t2ibench.results.schema import TaskResult
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.kept import with_kept
from t2ibench.tasks.loader import LoadedTask

_DATA_SETS = 25  # of a world; the one with the median variance is the pilot


@dataclass(frozen=True, slots=True)
class Size:
    """How large a design is.

    Attributes:
        images: Images of the prompts that have most.
        prompts: Distinct prompts.
        total: Images in all.
    """

    images: int
    prompts: int
    total: int

    @classmethod
    def of(cls, needed: Needs) -> Size:
        """The size of a task."""
        counts = needed.images_by_prompt
        return cls(max(counts.values(), default=0), len(counts), sum(counts.values()))


@dataclass(frozen=True, slots=True)
class Pilot:
    """What is known of a task's variance.

    Attributes:
        task: Id of the task.
        headline: A headline with its intervals.
        size: Of the design that the headline comes from.
        design: Size of the task as it is shipped, or was run.
        strata: The task's prompts.
        level: Level of the intervals.
        source: Where it comes from, in words.
        speed: Images a second; None where it was not measured.
    """

    task: str
    headline: Headline
    size: Size
    design: Size
    strata: frozenset[str]
    level: float
    source: str
    speed: float | None = None


def run_pilots(path: Path, tasks: Sequence[str]) -> list[Pilot]:
    """Pilots from a run."""
    folder = open_run(path)
    results = read_results(path)
    paired = read_paired(path / FILE)
    existing = [item for item in folder.record.include_path if Path(item).is_dir()]
    loaded = load_tasks(tasks or list(results.tasks), existing, on_left_out=lambda _: None)
    found = []
    for task in with_kept(loaded, folder.path):
        result = results.tasks.get(task.id)
        if result is None:
            continue
        parts = paired[task.id].headline if task.id in paired else ()
        pilot = pilot_of(task.spec, result, parts, str(path), folder.record.speed())
        if pilot is not None:
            found.append(pilot)
    if not found:
        raise T2IBenchError(
            f"{path} has results of none of these tasks.",
            f"It has {', '.join(results.tasks) or 'none'}.",
        )
    return found


def pilot_of(
    task: BaseTask,
    result: TaskResult,
    parts: tuple[Part, ...],
    where: str,
    speed: float | None = None,
) -> Pilot | None:
    """What a run says of one task's variance."""
    needed = needs(task, Settings.of(result.settings))
    if not needed.prompts:
        return None
    size = Size.of(needed)
    return Pilot(
        task.id,
        stored_headline(result, parts),
        size,
        size,
        frozenset(needed.images_by_prompt),
        result.settings.level,
        f"a pilot of {result.n_images} images in {where}",
        speed,
    )


def stored_headline(result: TaskResult, parts: tuple[Part, ...]) -> Headline:
    """The headline as its method gave it, as far as it is stored."""
    stored = result.headline
    stored_inference: dict[Question, StoredInference | None] = {
        "these": stored.these,
        "like_these": stored.like_these,
    }
    inference = {
        question: Inference(found.ci_low, found.ci_high, found.p, found.df, found.reason)
        for question, found in stored_inference.items()
        if found is not None
    }
    if stored.scale is None:
        raise T2IBenchError("The run was scored by an older t2ibench.", "Score it again first.")
    fair = (
        None
        if stored.fair_low is None or stored.fair_high is None
        else (stored.fair_low, stored.fair_high)
    )
    reason = stored.reason or result.inconclusive or result.reason
    return Headline(
        stored.value, stored.scale, stored.question or "these", inference, fair, parts,
        reason=reason,
    )  # fmt: skip


def world_pilots(tasks: Sequence[str], settings: Settings) -> list[Pilot]:
    """Pilots from the worlds that calibration simulates, for a task that was never run."""
    found = []
    for task in load_tasks(tasks):
        if task.spec.awaits is not None and task.id in tasks:
            raise T2IBenchError(
                f"How large {task.id} is depends on its captions.",
                "Run it, and give the run folder: t2ibench power RUN.",
            )
        needed = needs(task.spec, settings)
        if needed.prompts:
            found.append(_world_pilot(task, needed, settings.level))
    if not found:
        raise T2IBenchError("These tasks need no images.")
    return found


def _world_pilot(task: LoadedTask, needed: Needs, level: float) -> Pilot:
    method = METHODS.get(task.spec.method)
    cell = next((cell for cell in cells_of(method.name).values() if cell.typical), None)
    if cell is None or isinstance(cell.world, ToylandWorld):
        raise T2IBenchError(
            f"Nothing is known of the variance of '{method.name}' tasks.",
            "Give a run folder: t2ibench power RUN.",
        )
    headline = _typical(cell, level)
    size = Size.of(method.needs(cell.task, cell.settings))
    strata = frozenset(method.needs(cell.task, cell.settings).images_by_prompt)
    source = f"a simulated world ({cell.name}), not any model"
    return Pilot(task.id, headline, size, Size.of(needed), strata, level, source)


def _typical(cell: Cell, level: float) -> Headline:
    """The headline of the data set with the median width."""
    method = METHODS.get(cell.task.method)
    headlines = []
    for number in range(_DATA_SETS):
        sample = cell.world.draw(np.random.default_rng(number))  # type: ignore[union-attr]
        settings = cell.settings.model_copy(update={"seed": number, "level": level})
        scored = method.score(cell.task, sample.evidence, settings)
        headline = method.combine(cell.task, [scored], settings).headline
        chosen = headline.chosen
        if headline.value is not None and chosen.low is not None and chosen.high is not None:
            headlines.append((chosen.high - chosen.low, number, headline))
    if not headlines:
        raise T2IBenchError(f"No data set of '{cell.name}' has an interval.")
    return sorted(headlines)[len(headlines) // 2][2]
