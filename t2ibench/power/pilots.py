"""Pilots: the variance of each task in a run, from which a larger run is planned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.methods import method_of, needs
from t2ibench.methods.core.edit_needs import expected_images, needs_of_sources
from t2ibench.methods.core.edit_report import LEAN, OUTCOME
from t2ibench.methods.core.evidence import Needs
from t2ibench.methods.core.headline import HeadlineEstimate, Part
from t2ibench.methods.core.inference import (
    QUESTIONS,
    HeadlineInference,
    Inference,
    Question,
)
from t2ibench.methods.core.redrawn_runs import HEADLINE, PilotScores
from t2ibench.methods.core.schema import BaseTask
from t2ibench.power.clear_tests import ClearRule, clear_rule
from t2ibench.power.forecasters import Forecaster, forecaster
from t2ibench.power.redrawn import Redrawn
from t2ibench.results.display import text_only
from t2ibench.results.files import read_results
from t2ibench.results.paired import read_paired
from t2ibench.results.run import open_run
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Results, Score, TaskResult
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks
from t2ibench.tasks.run_tasks import with_stored


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a task in a run: how many images, prompts and concepts it has.

    Attributes:
        images: Images of the prompts that have the most.
        prompts: Number of prompts.
        total: Total number of images.
        concepts: Number of concepts that every image is compared with; 0 for tasks in which only
            prompts can be added.
    """

    images: int
    prompts: int
    total: int
    concepts: int = 0

    @property
    def units(self) -> int:
        """Number of concepts or, without any, of prompts, which a larger design can increase."""
        return self.concepts or self.prompts

    @classmethod
    def of(cls, needed: Needs) -> Size:
        """Return the size of a task that has these needs.

        Of a task with edits it is that of its source images; all images are these and their edits.
        """
        counts = needed.images_by_prompt
        if needed.edits:
            counts = needs_of_sources(needed).images_by_prompt
        return cls(
            images=max(counts.values(), default=0),
            prompts=len(counts),
            total=sum(counts.values()) + expected_images([needed]),
            concepts=needed.concepts,
        )


@dataclass(frozen=True, slots=True)
class Pilot:
    """A task's variance in a run, from which larger designs are forecast.

    Attributes:
        task: The task's id.
        question: The question that its headline answers.
        forecaster: Forecasts larger designs, for a question.
        size: The size of the task in the run.
        source: The run that it is from, in words.
        speed: Images per second; None if not measured.
        rule: When a run calls the test clear.
        of_edits: Whether images of a prompt are source images, each with its edits.
    """

    task: str
    question: Question
    forecaster: Callable[[Question], Forecaster]
    size: Size
    source: str
    speed: float | None = None
    rule: ClearRule = field(default_factory=ClearRule)
    of_edits: bool = False


def run_pilots(
    path: Path, tasks: Sequence[str], n_tests: int | None = None
) -> list[Pilot]:
    """Return a pilot for each task of a run that has results.

    Args:
        path: The run folder.
        tasks: Names of the tasks; empty for all of the run.
        n_tests: Number of tests that a larger run would correct for; those that the pilot corrects
            for by default.

    Raises:
        T2IBenchError: the run has results of none of the tasks, or of edits alone that their
            method cannot draw again.
    """
    folder = open_run(path)
    results = read_results(path)
    paired = read_paired(path)
    existing = [item for item in folder.record.include_path if Path(item).is_dir()]
    loaded = load_tasks(
        tasks or list(results.tasks), existing, on_left_out=lambda _: None
    )
    pilots: list[Pilot] = []
    edited: list[str] = []
    for task in with_stored(loaded, folder.path):
        result = results.tasks.get(task.id)
        if result is None:
            continue
        if method_of(task.spec).redraws is not None:
            pilots += redrawn_pilots(
                task.spec, result, results, path, folder.record.speed(), n_tests
            )
            continue
        parts = paired[task.id].headline if task.id in paired else ()
        pilot = pilot_of(
            task.spec,
            result,
            parts,
            str(path),
            folder.record.speed(),
            n_tests or _tests_corrected_with(result, results),
        )
        if pilot is not None:
            pilots.append(pilot)
        elif needs(task.spec, Settings.of(result.settings)).edits:
            edited.append(task.id)
    if not pilots:
        if edited:
            raise T2IBenchError(
                f"{', '.join(edited)}: edits of this method are not forecast.",
                "Raise --images-per-prompt: more source images narrow the interval.",
            )
        raise T2IBenchError(
            f"{path} has results of none of these tasks.",
            f"It has {', '.join(results.tasks) or 'none'}.",
        )
    return pilots


def pilot_of(
    task: BaseTask,
    result: TaskResult,
    parts: tuple[Part, ...],
    where: str,
    speed: float | None = None,
    n_tests: int = 1,
) -> Pilot | None:
    """Return the pilot that a task's result gives; None if the task needs no images.

    Args:
        task: The task.
        result: Its result in a run.
        parts: The parts of its headline, with their influences.
        where: The run that it is from, in words.
        speed: Images per second; None if not measured.
        n_tests: Number of tests that Holm's correction is over.
    """
    needed = needs(task, Settings.of(result.settings))
    if not needed.prompts:
        return None
    headline = stored_headline(result, parts)
    strata = frozenset(needed.images_by_prompt)
    level = result.settings.level
    return Pilot(
        task=task.id,
        question=headline.question,
        forecaster=lambda question: forecaster(headline, question, strata, level),
        size=Size.of(needed),
        source=f"a pilot of {result.n_images} images in {where}",
        speed=speed,
        rule=clear_rule(headline, list(result.controls), level, n_tests),
    )


def redrawn_pilots(
    task: BaseTask,
    result: TaskResult,
    results: Results,
    path: Path,
    speed: float | None = None,
    n_tests: int | None = None,
) -> list[Pilot]:
    """Return the pilots of a task whose larger runs are drawn: its headline, then its outcomes.

    Args:
        task: The task.
        result: Its result in a run.
        results: Those of the run.
        path: The run folder.
        speed: Images per second; None if not measured.
        n_tests: Number of tests that a larger run would correct the headline for; by default those
            that the pilot corrects it for.

    Raises:
        T2IBenchError: several judges answered, of which no single answers are drawn.
    """
    settings = Settings.of(result.settings)
    if len(result.settings.judges) > 1:
        raise T2IBenchError(
            f"{task.id}: several judges answered, and runs are forecast of one judge alone.",
            "Make a pilot with one of them: --judge.",
        )
    redraws = method_of(task).redraws
    assert redraws is not None
    outcomes = {
        row.name: interval
        for row in result.by
        if row.group == OUTCOME and (interval := _tested(row.scores[LEAN])) is not None
    }
    pilot = PilotScores(read_samples(path, task.id), result.details, outcomes)
    n_rows = sum(row.scores[LEAN].p is not None for row in result.by)
    size = Size.of(needs(task, settings))
    pilots = []
    for name, runs in redraws(task, pilot, settings).items():
        n_corrected = n_rows + (name not in outcomes)
        if name == HEADLINE:
            n_corrected = n_tests or _tests_corrected_with(result, results)
        forecasts = Redrawn(runs, settings.level)
        pilots.append(
            Pilot(
                task=f"{task.id}, edits {name}" if name else task.id,
                question="fixed_prompts",
                forecaster=partial(_for_these_prompts, forecasts),
                size=size,
                source=f"a pilot of {result.n_images} images in {path}",
                speed=speed,
                rule=ClearRule(n_tests=n_corrected),
                of_edits=True,
            )
        )
    return pilots


def _tested(score: Score) -> tuple[float, float, float] | None:
    """Return a difference with both ends of its interval; None without one."""
    if score.value is None or score.ci_low is None or score.ci_high is None:
        return None
    return score.value, score.ci_low, score.ci_high


def _for_these_prompts(forecasts: Forecaster, question: Question) -> Forecaster:
    """Return the forecaster of these prompts.

    Raises:
        T2IBenchError: the question is about prompts like these.
    """
    if question != "fixed_prompts":
        raise T2IBenchError(
            "Tests of edits are about these prompts and edits alone.",
            "Leave --question out.",
        )
    return forecasts


def _tests_corrected_with(result: TaskResult, results: Results) -> int:
    """Return how many of a run's tests Holm's correction counts together with this one."""
    return sum(
        other.headline.p is not None
        and text_only(other) == text_only(result)
        and other.positive_control == result.positive_control
        for other in results.tasks.values()
    )


def stored_headline(result: TaskResult, parts: tuple[Part, ...]) -> HeadlineEstimate:
    """Return the headline that a method computed, restored from stored results."""
    stored = result.headline
    inference: dict[Question, Inference] = {
        question: named_inference
        for question in QUESTIONS
        if (named_inference := getattr(stored, question)) is not None
    }
    if stored.scale is None:
        raise T2IBenchError(
            "The run was scored by an older t2ibench.", "Score it again first."
        )
    if stored.fair_low is None or stored.fair_high is None:
        fair = None
    else:
        fair = (stored.fair_low, stored.fair_high)
    reason = stored.reason or result.inconclusive or result.reason
    return HeadlineEstimate(
        value=stored.value,
        scale=stored.scale,
        inference=HeadlineInference(
            by_question=inference,
            question=stored.question or "fixed_prompts",
            fair=fair,
        ),
        parts=parts,
        reason=reason,
    )
