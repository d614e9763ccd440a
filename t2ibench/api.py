"""The Python API: evaluate a model, generate its images, load tasks, score a run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.language import Rewriter
from t2ibench.models.protocols import Encoder, Generator, Judge
from t2ibench.models.resolve import checked
from t2ibench.pipeline.prepare import Objects, Prepared, prepare
from t2ibench.pipeline.progress import ConsoleReporter, SilentReporter
from t2ibench.pipeline.rescore import rescore
from t2ibench.pipeline.rounds import until_precise as grow
from t2ibench.pipeline.run import execute, generate_only
from t2ibench.reports.destinations import chosen_by
from t2ibench.reports.destinations.sent import send_all
from t2ibench.reports.files import write_reports
from t2ibench.results.reading import read_results
from t2ibench.results.schema import Results
from t2ibench.settings import read_settings
from t2ibench.tasks.index import load_tasks

__all__ = ["Results", "evaluate", "generate", "load_tasks", "read_results", "score"]


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
    until_precise: float | None = None,
    max_images_per_prompt: int | None = None,
    **settings: Any,
) -> Results:
    """Run tasks on a model, as `t2ibench run` does.

    Args:
        model: As for --model, or an object with the members of `Generator`; None to score text
            encoders alone.
        tasks: Task ids, globs, groups, 'tag:NAME', 'all' or 'extended'.
        encoder: One or more encoders, by name or as objects; empty for the model's default.
        judge: The same for judges, which tasks that ask questions need.
        rewriter: What rewrites prompts for the model, by name or as an object; None for nothing.
        progress: Show progress on standard error.
        until_precise: More images, round after round, until the intervals of all headlines that
            decide something are narrower than this.
        max_images_per_prompt: With it, images of a prompt at most; None for eight times those of
            the first round.
        **settings: Every other setting of `t2ibench.settings.RunSettings` by its name, such as
            model_args, images_per_prompt, limit, seed, n_permutations, n_bootstrap, batch_size,
            device, dtype, output_dir, include_path and allow_missing.

    Returns:
        What results.json holds; `folder` is the run folder, `to_pandas()` a data frame.

    Raises:
        T2IBenchError: the request cannot work; the message gives the next step.
    """
    prepared = _prepare(model, tasks, encoder, judge, rewriter, settings, "t2ibench.evaluate")
    destinations = chosen_by(prepared.settings)
    reporter = ConsoleReporter() if progress else SilentReporter()
    with prepared.pushed(reporter):
        if until_precise is None:
            results = execute(prepared, reporter).results
        else:
            results = grow(
                prepared, until_precise, reporter, most_images=max_images_per_prompt
            ).outcome.results
        if results is None:
            raise AssertionError("execute always scores")
        write_reports(results, prepared.folder.path)
    _tell(prepared, reporter)
    for error in send_all(destinations, results, prepared.folder.path)[1]:
        warnings.warn(str(error), stacklevel=2)
    return results.in_folder(prepared.folder.path)


def generate(
    model: str | Generator,
    tasks: str | Sequence[str] = "all",
    *,
    rewriter: str | Rewriter | None = None,
    progress: bool = False,
    **settings: Any,
) -> Path:
    """Generate the images that tasks need, and score nothing.

    Args:
        model: As for `evaluate`.
        tasks: As for `evaluate`.
        rewriter: As for `evaluate`.
        progress: Show progress on standard error.
        **settings: As for `evaluate`.

    Returns:
        The run folder.

    Raises:
        T2IBenchError: the request cannot work; the message gives the next step.
    """
    prepared = _prepare(model, tasks, (), (), rewriter, settings, "t2ibench.generate")
    reporter = ConsoleReporter() if progress else SilentReporter()
    with prepared.pushed(reporter):
        folder = generate_only(prepared, reporter).folder
    _tell(prepared, reporter)
    return folder


def score(run: str | Path) -> Results:
    """Score a run folder again from its stored evidence, without loading a model.

    Args:
        run: The run folder, or the run.json or results.json in it.

    Returns:
        What results.json holds now.

    Raises:
        T2IBenchError: it is not a run folder, or it holds no evidence.
    """
    reporter = SilentReporter()
    rescored = rescore(Path(run), reporter)
    write_reports(rescored.results, rescored.folder)
    for line in reporter.warnings:
        warnings.warn(line, stacklevel=2)
    return rescored.results.in_folder(rescored.folder)


def _tell(prepared: Prepared, reporter: ConsoleReporter | SilentReporter) -> None:
    """What a caller must know, as warnings; a reporter on the console has told the rest."""
    lines = list(prepared.warnings)
    lines += [f"{task} is excluded: {why}." for task, why in prepared.skipped.items()]
    lines += reporter.warnings if isinstance(reporter, SilentReporter) else []
    for line in dict.fromkeys(lines):
        warnings.warn(line, stacklevel=3)


def _prepare(
    model: Any,
    tasks: Any,
    encoder: Any,
    judge: Any,
    rewriter: Any,
    settings: dict[str, Any],
    call: str,
) -> Prepared:
    if settings.get("generate_only"):
        raise T2IBenchError("evaluate() always scores.", "t2ibench.generate() generates alone.")
    encoders, encoder_names = _split(encoder, Encoder, "encoder")
    judges, judge_names = _split(judge, Judge, "judge")
    named = model is None or isinstance(model, (str, Path))
    read = read_settings(
        {
            "model": str(model) if named and model is not None else None,
            "tasks": tasks,
            "encoder": encoder_names,
            "judge": judge_names,
            "rewriter": rewriter if isinstance(rewriter, str) else None,
            **settings,
        }
    )
    generator = None if named else _object(model, Generator, "generator")
    given = None
    if rewriter is not None and not isinstance(rewriter, str):
        given = _object(rewriter, Rewriter, "rewriter")
    return prepare(read, Objects(generator, encoders, judges, given), call)


def _object(value: Any, protocol: Any, kind: str) -> Any:
    """An object that a caller passed, once it has the members of its Protocol."""
    return checked(value, protocol, kind, type(value).__name__)


def _split(given: Any, protocol: Any, kind: str) -> tuple[dict[str, Any], list[str]]:
    """Objects by name, and the names of all in their order."""
    several = [given] if isinstance(given, str) or not isinstance(given, Sequence) else given
    objects: dict[str, Any] = {}
    names: list[str] = []
    for item in several:
        if isinstance(item, str):
            names += [name for name in map(str.strip, item.split(",")) if name]
            continue
        name = str(_object(item, protocol, kind).name)
        objects[name] = item
        names.append(name)
    return objects, names
