"""A run beside the models of a leaderboard: which were measured alike, and which lean clearly less.

A model counts only for tests that it shares with the run: the same task, encoders, judges, numbers
of images and draws. Where nothing is shared there is no number, and the reason stands in its place.
A difference counts only where it is clear after a correction over all comparisons that are shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from t2ibench.apps.leaderboard.board import submissions
from t2ibench.apps.leaderboard.names import visible
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.errors import T2IBenchError, first_line, shown_path
from t2ibench.methods.core.schema import BaseTask, ImageTask
from t2ibench.reports.files import task_files
from t2ibench.results.comparison import compare
from t2ibench.results.display import ALPHA, text_only
from t2ibench.results.files import read_results
from t2ibench.results.schema import Results, TaskResult
from t2ibench.results.score_difference import Difference
from t2ibench.settings import Settings
from t2ibench.stats import holm

_SUBMISSIONS = "submissions"  # the folder of them in a leaderboard's


@dataclass(frozen=True, slots=True)
class ReferenceModel:
    """A model of a leaderboard, with its results."""

    name: str
    results: Results


@dataclass(slots=True)
class TestReference:
    """What the models of a leaderboard say about one test of a run.

    Attributes:
        task: The task's name.
        more: Models that the run is clearly more one-sided than.
        less: Models that it is clearly less one-sided than.
        unclear: Models from which it does not clearly differ.
        unlike: Why other models do not count, with how many.
        reason: Why no model counts, whatever the models are; empty where some may.
    """

    __test__ = False  # no test of pytest's

    task: str
    more: list[str] = field(default_factory=list)
    less: list[str] = field(default_factory=list)
    unclear: list[str] = field(default_factory=list)
    unlike: Counter[str] = field(default_factory=Counter)
    reason: str = ""

    @property
    def sentence(self) -> str:
        """Return the comparison in words."""
        alike = len(self.more) + len(self.less) + len(self.unclear)
        if self.reason:
            return f"Not compared: {self.reason}."
        if not alike:
            reasons = [f"{count} {why}" for why, count in self.unlike.items()]
            text = ", ".join(reasons) or "there is none"
            return f"No model was measured alike: {text}."
        models = "model" if alike == 1 else "models"
        parts: list[str] = []
        for verb, names in (
            ("more one-sided than", self.more),
            ("less one-sided than", self.less),
            ("not clearly different from", self.unclear),
        ):
            if names:
                of_all = "" if parts else f" of {alike} {models} measured alike"
                parts.append(f"{verb} {len(names)}{of_all} ({'; '.join(names)})")
        text = "; ".join(parts)
        return f"{text[0].upper()}{text[1:]}."


def read_references(
    folder: Path, results: Results
) -> tuple[list[ReferenceModel], list[str]]:
    """Return the models that a run may be compared with, and why others cannot be."""
    inside = folder / _SUBMISSIONS
    root = inside if inside.is_dir() else folder
    models = []
    problems = []
    for path in submissions(root):
        try:
            name = visible(read_manifest(path).name)
            other = read_results(path)
        except T2IBenchError as error:
            problems.append(f"{visible(path.name)}: left out: {first_line(error)}")
            continue
        why = _unfit(other, results)
        if why:
            problems.append(f"{name}: left out: {why}")
        else:
            models.append(ReferenceModel(name, other))
    if not models and not problems:
        raise T2IBenchError(
            f"{shown_path(folder)} holds no submissions.",
            "Name a folder of them, such as leaderboard/submissions.",
        )
    return models, problems


def _unfit(other: Results, results: Results) -> str:
    """Return why a whole submission is no reference for a run; "" if it is one."""
    if other.limited or other.partial:
        return "its results are partial"
    fingerprint = results.model.fingerprint
    if fingerprint is not None and other.model.fingerprint == fingerprint:
        return "it is the model of this run"
    if other.tasks == results.tasks:
        return "its results are those of this run"
    return ""


def references(
    results: Results, models: Sequence[ReferenceModel]
) -> list[TestReference]:
    """Return, for each test of images, how the run compares with models measured alike."""
    specs = task_files(results, results.folder)
    tests = {
        name: TestReference(name, reason=_unusable(task))
        for name, task in results.tasks.items()
        if not text_only(task) and not task.positive_control
    }
    if results.limited or results.partial:
        for test in tests.values():
            test.reason = "the results of this run are partial"
    usable = {name: test for name, test in tests.items() if not test.reason}
    compared: list[tuple[str, Difference]] = []
    for model in models:
        for difference in _differences(results, model, usable, specs):
            compared.append((model.name, difference))
    p_values = holm([difference.p for _, difference in compared])
    for (name, difference), p in zip(compared, p_values, strict=True):
        _place(usable[difference.task], name, difference, p)
    return list(tests.values())


def _unusable(task: TaskResult) -> str:
    """Return why a test of the run cannot be compared with any model; "" if it can."""
    if task.inconclusive:
        return "it is inconclusive in this run"
    if task.headline.value is None or task.headline.ci_low is None:
        return "it has no headline with an interval in this run"
    return ""


def _differences(
    results: Results,
    model: ReferenceModel,
    tests: Mapping[str, TestReference],
    specs: Mapping[str, BaseTask],
) -> Iterator[Difference]:
    """Yield the differences between a model and a run in the tests that they share."""
    shared = []
    for name, test in tests.items():
        other = model.results.tasks.get(name)
        why = _unlike(results.tasks[name], other, specs.get(name))
        if why:
            test.unlike[why] += 1
        else:
            shared.append(name)
    there = _with_tasks(model.results, shared)
    here = _with_tasks(results, shared)
    for difference in compare(there, here, rows=False):
        if difference.comparable and difference.change and difference.p is not None:
            yield difference
        else:
            tests[difference.task].unlike["not comparable"] += 1


def _with_tasks(results: Results, names: Sequence[str]) -> Results:
    tasks = {name: results.tasks[name] for name in names}
    return results.model_copy(update={"tasks": tasks})


def _unlike(task: TaskResult, other: TaskResult | None, spec: BaseTask | None) -> str:
    """Return how another model's measurement of a test differs; "" if it does not."""
    if other is None:
        return "did not run it"
    if task.task_hash != other.task_hash:
        return "with another version of the task"
    if task.settings.encoders != other.settings.encoders:
        return "with another encoder"
    if task.settings.judges != other.settings.judges:
        return "with another judge"
    if _sizes(task, spec) != _sizes(other, spec):
        return "with another number of images"
    if _draws(task) != _draws(other):
        return "with another level or number of draws"
    if other.headline.value is None:
        return "without a value of the test"
    if other.inconclusive:
        return "with an inconclusive test"
    return ""


def _sizes(task: TaskResult, spec: BaseTask | None) -> tuple[object, ...]:
    """Return the numbers of prompts and of images a prompt that a test was measured with."""
    settings = Settings.of(task.settings)
    if isinstance(spec, ImageTask):
        return task.n_prompts, *spec.image_counts(settings)
    return (
        task.n_prompts,
        settings.images_per_prompt,
        settings.guided_images_per_prompt,
        settings.times,
    )


def _draws(task: TaskResult) -> tuple[object, ...]:
    settings = task.settings
    return settings.level, settings.n_permutations, settings.n_bootstrap


def _place(
    test: TestReference, model: str, difference: Difference, p: float | None
) -> None:
    """Count a model where its difference from the run puts it; the run is the second."""
    change = difference.change
    if p is None or p >= ALPHA or change is None or not change.value:
        test.unclear.append(model)
    elif change.value > 0:
        test.more.append(model)
    else:
        test.less.append(model)


def reference_text(
    results: Results, models: Sequence[ReferenceModel], problems: Sequence[str]
) -> str:
    """Return the comparison of a run with a leaderboard as lines of text."""
    tests = references(results, models)
    count = sum(len(test.more) + len(test.less) + len(test.unclear) for test in tests)
    lines = [f"{test.task}: {test.sentence}" for test in tests]
    lines = lines or ["No test on images was scored in this run."]
    notes = [
        "A model counts where task, encoders, judges and numbers of images are the same."
    ]
    if count:
        comparisons = "comparison" if count == 1 else f"{count} comparisons"
        notes += [
            "More or less one-sided: the difference is clear, p below 0.05 after Holm's correction "
            f"over the {comparisons} shown here.",
            "Runs are taken as independent; `t2ibench compare` pairs the images of two runs, and "
            "is more precise.",
            "Results are as submitted; `t2ibench leaderboard verify` recomputes them.",
        ]
    lines += ["", " ".join(notes), *problems]
    return "\n".join(lines) + "\n"
