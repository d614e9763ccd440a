"""Pilots: what is known of the variance of a task before a larger run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.methods import needs
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.headline import (
    QUESTIONS,
    Headline,
    Inference,
    Part,
    Question,
)
from t2ibench.methods.core.schema import BaseTask
from t2ibench.power.forecasters import Forecaster, forecaster
from t2ibench.results.files import read_results
from t2ibench.results.paired import read_paired
from t2ibench.results.run import open_run
from t2ibench.results.schema import TaskResult
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.run_tasks import with_kept


@dataclass(frozen=True, slots=True)
class Size:
    """How large a run is."""

    images: int  # of the prompts that have most
    prompts: int
    total: int  # images in all
    # that all images are asked about; 0 where only prompts can be added
    concepts: int = 0

    @property
    def units(self) -> int:
        """What a larger design has more of beside images."""
        return self.concepts or self.prompts

    @classmethod
    def of(cls, needed: Needs) -> Size:
        """The size of a task."""
        counts = needed.images_by_prompt
        most, total = max(counts.values(), default=0), sum(counts.values())
        return cls(most, len(counts), total, needed.concepts)


@dataclass(frozen=True, slots=True)
class Pilot:
    """What is known of a task's variance."""

    task: str
    question: Question
    # what it says of larger designs, about one question
    forecaster: Callable[[Question], Forecaster]
    size: Size
    source: str  # in words
    speed: float | None = None  # images a second; None where it was not measured


def run_pilots(path: Path, tasks: Sequence[str]) -> list[Pilot]:
    """Pilots from a run."""
    folder = open_run(path)
    results = read_results(path)
    paired = read_paired(path)
    existing = [item for item in folder.record.include_path if Path(item).is_dir()]
    loaded = load_tasks(
        tasks or list(results.tasks), existing, on_left_out=lambda _: None
    )
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
    headline, size = stored_headline(result, parts), Size.of(needed)
    strata, level = frozenset(needed.images_by_prompt), result.settings.level
    return Pilot(
        task.id,
        headline.question,
        lambda question: forecaster(headline, question, strata, level),
        size,
        f"a pilot of {result.n_images} images in {where}",
        speed,
    )


def stored_headline(result: TaskResult, parts: tuple[Part, ...]) -> Headline:
    """The headline as its method gave it, as far as it is stored."""
    stored = result.headline
    inference: dict[Question, Inference] = {
        question: found
        for question in QUESTIONS
        if (found := getattr(stored, question)) is not None
    }
    if stored.scale is None:
        raise T2IBenchError(
            "The run was scored by an older t2ibench.", "Score it again first."
        )
    low, high = stored.fair_low, stored.fair_high
    fair = None if low is None or high is None else (low, high)
    reason = stored.reason or result.inconclusive or result.reason
    return Headline(
        stored.value,
        stored.scale,
        stored.question or "fixed_prompts",
        inference,
        fair,
        parts,
        reason=reason,
    )
