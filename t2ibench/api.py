"""The Python API: evaluate a model, generate images, score a run, reproduce a paper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typing_extensions import Unpack

from t2ibench.errors import T2IBenchError
from t2ibench.models.language import Rewriter
from t2ibench.models.protocols import Encoder, Generator, Judge
from t2ibench.pipeline.api_arguments import given_by, warn_of
from t2ibench.pipeline.preparation import prepare
from t2ibench.pipeline.progress import ConsoleReporter, SilentReporter
from t2ibench.pipeline.rescoring import rescore
from t2ibench.pipeline.rounds import until_precise as grow
from t2ibench.pipeline.run import execute
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.pipeline.run_keywords import RunKeywords
from t2ibench.reports.destinations import chosen_by
from t2ibench.reports.destinations.payload import send_all
from t2ibench.reports.files import write_reports
from t2ibench.results.compared_runs import read_runs
from t2ibench.results.files import read_results
from t2ibench.results.frontier import Frontier
from t2ibench.results.frontier import frontier as frontier_of
from t2ibench.results.schema import Results
from t2ibench.results.several_runs import RunsComparison, compare_runs
from t2ibench.results.where import Where
from t2ibench.results.where import where as where_of
from t2ibench.settings import read_settings
from t2ibench.tasks.index import load_tasks

__all__ = [
    "Frontier",
    "Results",
    "RunsComparison",
    "Where",
    "compare",
    "evaluate",
    "frontier",
    "generate",
    "load_tasks",
    "read_results",
    "score",
    "where",
]


def _as_html(results: Results) -> str:
    from t2ibench.reports.html.inline import run_html

    return run_html(results)


Results.show_with(_as_html)


def evaluate(
    model: str | Generator | None = None,
    tasks: str | Sequence[str] = "all",
    *,
    encoder: str | Encoder | Sequence[str | Encoder] = (),
    judge: str | Judge | Sequence[str | Judge] = (),
    rewriter: str | Rewriter | None = None,
    progress: bool = False,
    preset: str | None = None,
    until_precise: float | None = None,
    max_images_per_prompt: int | None = None,
    **settings: Unpack[RunKeywords],
) -> Results:
    """Run tasks on a model, as `t2ibench run` does, and return the results.

    Args:
        model: As for --model, or an object with the members of `Generator`; None to score text
            encoders alone.
        tasks: Task ids, globs, groups, 'tag:NAME', 'all' or 'extended'.
        encoder: One or more encoders, by name or as objects; empty for the model's default.
        judge: The same for judges, which tasks that ask questions need.
        rewriter: The rewriter of prompts, by name or as an object; None for none.
        progress: Show progress on standard error.
        preset: A paper's settings, encoders, judge and tests, as `t2ibench run --preset` takes
            them (see `t2ibench ls papers`). What is given here wins, setting by setting; `tasks`
            chooses among the preset's, and without a model the paper's own is measured.
        until_precise: Generate more images, round after round, until the intervals of all
            headlines that decide something are narrower than this.
        max_images_per_prompt: Largest number of images of a prompt with `until_precise`; None for
            eight times that of the first round.
        **settings: Every other setting of `t2ibench.settings.RunSettings` by its name, such as
            model_args, images_per_prompt, limit, seed, n_permutations, n_bootstrap, batch_size,
            device, dtype, output_dir, include_path and allow_missing.

    Returns:
        The results, as in results.json; `folder` is the run folder, `to_pandas()` a data frame.

    Raises:
        T2IBenchError: the request cannot work; the message gives the next step.

    Example:
        Every task of the suite, and a paper's tests with its settings::

            results = t2ibench.evaluate("sdxl", "all")
            results.tasks["t2iat_flowers_insects"].headline.value
            t2ibench.evaluate("sdxl", preset="t2iat", n_permutations=9999)
    """
    call = "t2ibench.evaluate"
    context, models = _prepare(
        model, tasks, encoder, judge, rewriter, preset, settings, call
    )
    destinations = chosen_by(context.settings)
    reporter = ConsoleReporter() if progress else SilentReporter()
    if until_precise is None:
        results = execute(context, models, reporter).results
    else:
        precision = grow(
            context,
            models,
            until_precise,
            reporter,
            most_images=max_images_per_prompt,
        )
        results = precision.outcome.results
    if results is None:
        raise AssertionError("execute always scores")
    write_reports(results, context.folder.path)
    warn_of(context, models, reporter)
    for error in send_all(destinations, results, context.folder.path)[1]:
        warnings.warn(str(error), stacklevel=2)
    return results.in_folder(context.folder.path)


def generate(
    model: str | Generator,
    tasks: str | Sequence[str] = "all",
    *,
    rewriter: str | Rewriter | None = None,
    progress: bool = False,
    preset: str | None = None,
    **settings: Unpack[RunKeywords],
) -> Path:
    """Generate the images that tasks need, score nothing, and return the run folder.

    Args:
        model: As for `evaluate`.
        tasks: As for `evaluate`.
        rewriter: As for `evaluate`.
        progress: Show progress on standard error.
        preset: As for `evaluate`.
        **settings: As for `evaluate`.

    Returns:
        The run folder.

    Raises:
        T2IBenchError: the request cannot work; the message gives the next step.
    """
    context, models = _prepare(
        model, tasks, (), (), rewriter, preset, settings, "t2ibench.generate"
    )
    reporter = ConsoleReporter() if progress else SilentReporter()
    context.settings = context.settings.model_copy(update={"generate_only": True})
    folder = execute(context, models, reporter).folder
    warn_of(context, models, reporter)
    return folder


def score(run: str | Path) -> Results:
    """Score a run folder again from its stored evidence, without a model; return the results.

    Args:
        run: The run folder, or the run.db or results.json in it.

    Returns:
        The new results, as in results.json.

    Raises:
        T2IBenchError: it is not a run folder, or it holds no evidence.
    """
    reporter = SilentReporter()
    results, _ = rescore(Path(run), reporter)
    assert results.folder is not None
    write_reports(results, results.folder)
    for line in reporter.warnings:
        warnings.warn(line, stacklevel=2)
    return results


def compare(
    *runs: str | Path | Results,
    order: bool = False,
    steps: Sequence[float] = (),
) -> RunsComparison:
    """Compare two to twenty runs: every test in each of them, and whether they differ at all.

    Args:
        *runs: Run folders, their results.json, or results of `evaluate` and `read_results`. Runs
            with a folder are compared image by image, others by their intervals.
        order: Whether the runs are in an order, such as checkpoints: then tests have a `trend`.
        steps: Where each run lies in the order, such as its number of training steps, ascending;
            1, 2, 3, … by default. Numbers mean that the runs are in an order.

    Returns:
        The comparison: `settings` says which settings differ, `overall` whether any test does after
        Holm's correction, `tasks` has each test; `to_pandas()` is a data frame with a row for each
        test of each run.

    Raises:
        T2IBenchError: a run cannot be read, or the runs have no task in common.

    Example:
        Three checkpoints::

            comparison = t2ibench.compare("runs/step-1000", "runs/step-2000", "runs/step-4000",
                                          steps=[1000, 2000, 4000])
            comparison.overall.clear
            comparison.to_pandas().pivot(index="task", columns="run", values="value")
    """
    return compare_runs(read_runs(runs, steps), ordered=order or len(steps) > 0)


def frontier(
    before: str | Path | Results,
    *after: str | Path | Results,
    task: str | None = None,
) -> Frontier:
    """Measure what remedies change and cost: lean, over-correction, spill-over, diversity and more.

    Args:
        before: The run without a remedy: its folder, or its results.
        *after: One or more runs with a remedy, of the same tasks. What is measured image by image
            needs their folders.
        task: The test whose lean the remedies are for; by default the largest whose guided images
            a judge has seen.

    Returns:
        The numbers: `remedies` has each run after, with `numbers` before and after and their
        change, the groups and tests behind them, and the names of its `clear_costs`.

    Raises:
        T2IBenchError: a run cannot be read, or the runs have no such test in common.

    Example:
        A rewriter::

            result = t2ibench.frontier("runs/before", "runs/rewriter")
            result.remedies[0].clear_costs
            result.remedies[0].numbers["diversity"].change
    """
    return frontier_of(read_runs([before, *after]), task)


def where(
    run: str | Path | Results,
    *behind: str | Path | Results,
    task: str | None = None,
) -> Where:
    """Measure where a lean comes from: the words, the images, or a rewriter.

    Args:
        run: A run folder, or its results; without a rewriter, where others have one.
        *behind: Runs of the same tasks behind a rewriter, or with another remedy. What is measured
            image by image needs their folders.
        task: A test of occupations with two groups; by default the one with most images.

    Returns:
        `sources`, one for each run: its leans in three parts (`split`), which of them are clear
        (`findings`), how they differ from the first run's (`change`), and what its rewritten
        prompts name (`rewritten`).

    Raises:
        T2IBenchError: a run cannot be read, or the runs have no such test in common.

    Example:
        A rewriter::

            result = t2ibench.where("runs/toy", "runs/toy-rewritten")
            result.sources[0].split.slope
            result.sources[1].change.slope
    """
    return where_of(read_runs([run, *behind]), task)


def _prepare(
    model: Any,
    tasks: Any,
    encoder: Any,
    judge: Any,
    rewriter: Any,
    preset: str | None,
    settings: RunKeywords,
    call: str,
) -> tuple[RunContext, Models]:
    if settings.get("generate_only"):
        raise T2IBenchError(
            "evaluate() always scores.", "t2ibench.generate() generates alone."
        )
    given, adapters = given_by(model, encoder, judge, rewriter, settings)
    values = {"tasks": tasks, **given}
    if preset is None:
        read = read_settings(values)
    else:
        from t2ibench.apps.papers.paper import PAPERS
        from t2ibench.apps.papers.preset import with_preset

        named = adapters.generator is None
        read = with_preset(PAPERS.get(preset), values, names_model=named)
    return prepare(read, adapters, call)
