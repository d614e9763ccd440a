"""`t2ibench run`."""

from __future__ import annotations

import argparse
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.arguments import parse_args
from t2ibench.errors import T2IBenchError, did_you_mean

if TYPE_CHECKING:
    from t2ibench.pipeline.run import Outcome, Prepared, RunOptions

_LISTS = {"tasks", "encoder", "judge"}
_NUMBERS = {
    *("images_per_prompt", "guided_images_per_prompt", "limit"),
    *("seed", "permutations", "bootstrap", "batch_size"),
}
_CONFIG_KEYS = {
    "model",
    "tasks",
    "model_args",
    "encoder",
    "judge",
    "judge_args",
    "include_path",
    "images_per_prompt",
    "guided_images_per_prompt",
    "limit",
    "seed",
    "permutations",
    "bootstrap",
    "batch_size",
    "device",
    "dtype",
    "output_dir",
}


def run(arguments: argparse.Namespace) -> int:
    """Run tasks on a model."""
    if arguments.config:
        _merge_config(arguments, Path(arguments.config))
    if not arguments.model and not arguments.encoder:
        raise T2IBenchError(
            "Nothing to measure: give --model (or --encoder for word vectors).",
            "For a first try: t2ibench --model toy --tasks all",
        )
    if not arguments.tasks:
        raise T2IBenchError(
            "Which tasks? Give --tasks all, a group such as t2iat, or task names.",
            "`t2ibench ls` lists them.",
        )
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.pipeline.run import execute, prepare

    reporter = ConsoleReporter()
    options = _options(arguments)
    prepared = prepare(options)
    _announce(prepared, reporter)
    if arguments.dry_run:
        from t2ibench.cli.dry_run import show

        show(prepared)
        return 0
    outcome = execute(prepared, reporter)
    return _finish(outcome, prepared, reporter)


def _options(arguments: argparse.Namespace) -> RunOptions:
    from t2ibench.pipeline.run import RunOptions
    from t2ibench.settings import Settings
    from t2ibench.tasks.index import load_tasks

    include_paths = [Path(path) for path in arguments.include_path or ()]
    defaults = Settings()
    settings = Settings(
        images_per_prompt=arguments.images_per_prompt,
        guided_images_per_prompt=arguments.guided_images_per_prompt,
        limit=arguments.limit,
        seed=defaults.seed if arguments.seed is None else arguments.seed,
        n_permutations=arguments.permutations or defaults.n_permutations,
        n_bootstrap=arguments.bootstrap or defaults.n_bootstrap,
    )
    return RunOptions(
        model=arguments.model,
        tasks=load_tasks(arguments.tasks, include_paths),
        model_args=parse_args(arguments.model_args or ""),
        encoders=[name.strip() for name in (arguments.encoder or "").split(",") if name.strip()],
        judges=[name.strip() for name in (arguments.judge or "").split(",") if name.strip()],
        judge_args=parse_args(arguments.judge_args or "", "--judge-args"),
        settings=settings,
        batch_size=arguments.batch_size,
        device=arguments.device,
        dtype=arguments.dtype,
        output_dir=Path(arguments.output_dir or "runs"),
        include_paths=include_paths,
        generate_only=arguments.generate_only,
        argv=arguments.argv,
    )


def _merge_config(arguments: argparse.Namespace, path: Path) -> None:
    """Take from a YAML file what the command line does not say."""
    from t2ibench.tasks.source import read_yaml

    document = read_yaml(path)
    if document.problems:
        raise T2IBenchError("\n".join(str(problem) for problem in document.problems))
    if not isinstance(document.data, dict):
        raise T2IBenchError(f"{path}: expected a mapping of flags to values.")
    for key, value in document.data.items():
        name = str(key).replace("-", "_")
        if name not in _CONFIG_KEYS:
            raise T2IBenchError(
                str(document.problem((key,), f"unknown key '{key}'."))
                + did_you_mean(name, _CONFIG_KEYS)
            )
        if getattr(arguments, name) is None:
            setattr(arguments, name, _config_value(name, value, path, document.line((key,))))


def _config_value(name: str, value: Any, path: Path, line: int | None) -> Any:
    if name in {"model_args", "judge_args"} and isinstance(value, dict):
        return ",".join(f'{key}="{item}"' for key, item in value.items())
    if name == "include_path":
        return [str(item) for item in (value if isinstance(value, list) else [value])]
    if name in _LISTS and isinstance(value, list):
        return ",".join(str(item) for item in value)
    if name in _NUMBERS:
        if name == "batch_size" and value == "auto":
            return None
        low = 0 if name == "seed" else 1
        if not isinstance(value, int) or isinstance(value, bool) or value < low:
            raise T2IBenchError(f"{path}:{line}: {name}: expected a whole number of {low} or more.")
        return value
    if not isinstance(value, str):
        raise T2IBenchError(f"{path}:{line}: {name}: expected text, found {value!r}.")
    return value


def _announce(prepared: Prepared, reporter: Any) -> None:
    for task, why in prepared.skipped.items():
        reporter.warn(f"{task} is left out: {why}.")
    lacking = [
        (prompt, there, needed)
        for prompt, (there, needed) in sorted(prepared.lacking.items())
        if there > 0 and prompt in prepared.plan.prompts
    ]
    if lacking:
        reporter.warn(f"{len(lacking)} prompts have fewer pictures than the tasks ask for:")
        for prompt, there, needed in lacking[:10]:
            reporter.say(f"  {there} of {needed}: {prompt}")
        if len(lacking) > 10:
            reporter.say(f"  and {len(lacking) - 10} more (--dry-run lists them all)")
    absent = [prompt for prompt, (there, _) in sorted(prepared.lacking.items()) if there == 0]
    if absent:
        reporter.warn(f"{len(absent)} prompts have no picture:")
        for prompt in absent[:10]:
            reporter.say(f"  {prompt}")
        if len(absent) > 10:
            reporter.say(f"  and {len(absent) - 10} more (--dry-run lists them all)")


def _finish(outcome: Outcome, prepared: Prepared, reporter: Any) -> int:
    for line in outcome.broken[:10]:
        reporter.warn(f"{line}. Run the same command again to draw it anew.")
    if len(outcome.broken) > 10:
        reporter.warn(f"and {len(outcome.broken) - 10} more pictures could not be read.")
    for line in outcome.problems:
        reporter.warn(line)
    drawn = ", ".join(f"{count} {status}" for status, count in sorted(outcome.drawn.items()))
    if prepared.generator is not None:
        total = len(prepared.plan.requests)
        if outcome.drawn:
            reporter.say(f"Drawn now: {drawn} (of {total} images).")
        elif not outcome.embedded:
            reporter.say(f"Everything is there: {total} images and all of their evidence.")
        else:
            reporter.say(f"All {total} images were there.")
    if outcome.results is None:
        reporter.say(f"Images: {outcome.folder / 'images'}")
        return 0 if outcome.complete else 3
    print_results(outcome.results)
    reporter.say(f"Results: {outcome.folder / 'results.json'} and results.md")
    if not outcome.complete:
        reporter.warn("some evidence is missing; the column 'Left out' and results.md say what.")
    return 0 if outcome.complete else 3


def print_results(results: Any, width: int | None = None) -> None:
    """Print the table: rich on a terminal, Markdown into a pipe."""
    from rich.console import Console

    from t2ibench.reports.markdown import EXPLANATION, results_markdown, results_table

    console = Console(width=width)
    with contextlib.suppress(BrokenPipeError):
        if console.is_terminal:
            console.print(results_table(results, console.width))
            console.print(EXPLANATION, style="dim", markup=False, highlight=False)
        else:
            print(results_markdown(results))
