"""`t2ibench run`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.errors import T2IBenchError, TaskFileError, did_you_mean, shown, visible
from t2ibench.settings import RunSettings, field_of, flag_names, flags, read_settings

if TYPE_CHECKING:
    from t2ibench.pipeline.preparation import Prepared
    from t2ibench.pipeline.run import Outcome
    from t2ibench.reports.destinations import Chosen
    from t2ibench.results.schema import Results

_SHOWN = 10
_FILES = 50  # of a folder, which are named one by one
_SWITCHES = ("generate_only", "no_score")
_WIDE = "not every interval is as narrow as you want; `t2ibench power` says why."


def run(arguments: argparse.Namespace) -> int:
    """Run tasks on a model."""
    from t2ibench.cli.dry_run import show
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.pipeline.run import execute
    from t2ibench.pipeline.stop_request import on_sigterm
    from t2ibench.reports.destinations import chosen_by
    from t2ibench.results.gates import RUN, parse_gates

    reporter = ConsoleReporter()
    with reporter.opening("Reading the tasks, loading the models …"):
        gates = parse_gates(arguments.fail_on or [], RUN)
        settings = settings_of(arguments)
        destinations = chosen_by(settings)
        prepared = _prepare(arguments, settings, reporter)
        if arguments.dry_run:
            show(prepared, arguments.verbose)
            return 0
        with on_sigterm():
            closing = _Closing()
            if arguments.until_precise is not None:
                outcome = _until_precise(arguments, prepared, reporter, closing)
            else:
                outcome = execute(prepared, reporter)
            return _close(arguments, prepared, reporter, outcome, closing, gates, destinations)


@dataclass(slots=True)
class _Closing:
    """What is said at the end: images in all, lines and warnings."""

    total: int | None = None
    lines: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def _prepare(arguments: argparse.Namespace, settings: RunSettings, reporter: Any) -> Prepared:
    from t2ibench.pipeline.engines import check_engine
    from t2ibench.pipeline.preparation import prepare

    check_engine(settings)
    prepared = prepare(settings, call=visible(shlex.join(arguments.argv)))
    announce(prepared, reporter)
    return prepared


def _close(
    arguments: argparse.Namespace,
    prepared: Prepared,
    reporter: Any,
    outcome: Outcome,
    closing: _Closing,
    gates: Sequence[Any],
    destinations: list[Chosen],
) -> int:
    """Write the reports, say what came of the run, and check gates; the exit status."""
    from t2ibench.reports.files import write_reports
    from t2ibench.results.gates import check_run

    results = outcome.results
    if results is not None:
        write_reports(results, outcome.folder)
    status = _finish(outcome, prepared, reporter, closing.total, arguments.verbose)
    for line in closing.lines:
        reporter.say(line)
    for line in closing.warnings:
        reporter.warn(line)
    if results is not None:
        send_results(destinations, results, outcome.folder, reporter)
    if gates and results is not None:
        from t2ibench.cli.gates import report

        return report(check_run(gates, results)) or status
    return status


def send_results(destinations: list[Chosen], results: Results, folder: Path, reporter: Any) -> bool:
    """Send results where the user wants them; what fails is a line, and loses nothing."""
    from t2ibench.cli.failure import print_traceback
    from t2ibench.reports.destinations.payload import send_all

    lines, failures = send_all(destinations, results, folder)
    for line in lines:
        reporter.say(line)
    for error in failures:
        print_traceback(error)
        reporter.warn(str(error))
    return not failures


def _until_precise(
    arguments: argparse.Namespace, prepared: Prepared, reporter: Any, closing: _Closing
) -> Outcome:
    from t2ibench.pipeline.rounds import until_precise

    settings = prepared.settings
    for flag, given in (
        ("--generate-only", settings.generate_only),
        (f"--shard {settings.shard}", settings.shard),
        ("--no-score", settings.no_score),
    ):
        if given:
            raise T2IBenchError(f"--until-precise has to score; leave {flag} out.")
    found = until_precise(
        prepared,
        arguments.until_precise,
        reporter,
        most_images=arguments.max_images_per_prompt,
    )
    saved = 1 - found.images / found.fixed if found.fixed else 0.0
    spent = (
        f"{found.images} images, {saved:.0%} fewer than the {found.fixed} of the largest design."
    )
    closing.total, closing.lines = found.images, [*found.lines, spent]
    closing.warnings = [] if found.precise else [_WIDE]
    return found.outcome


def settings_of(arguments: argparse.Namespace) -> RunSettings:
    """The settings of a command line, completed by those of its --config."""
    values = settings_given(arguments)
    if arguments.preset is None:
        return read_settings(values)
    from t2ibench.apps.papers.preset import with_preset
    from t2ibench.apps.papers.registry import PAPERS

    return with_preset(PAPERS.get(arguments.preset), values)


def settings_given(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a command line and its --config say, setting by setting."""
    values = _read_config(Path(arguments.config)) if arguments.config else {}
    given = {name: getattr(arguments, name, None) for name, _, _ in flags()}
    values |= {name: value for name, value in given.items() if value is not None}
    return values | {name: True for name in _SWITCHES if getattr(arguments, name, False)}


def _read_config(path: Path) -> dict[str, Any]:
    """Settings of a YAML file; every value is checked, with its line."""
    from t2ibench.tasks.source import read_yaml

    document = read_yaml(path)
    if document.problems:
        problems = [str(problem) for problem in document.problems]
        raise T2IBenchError(problems[0]) if len(problems) == 1 else TaskFileError(problems)
    if not isinstance(document.data, dict):
        raise T2IBenchError(f"{path}: expected a mapping of flags to values.")
    values: dict[str, Any] = {}
    known = [name.lstrip("-") for field, _, flag in flags() for name in flag_names(field, flag)]
    for key, value in document.data.items():
        switch = str(key).replace("-", "_")
        name = switch if switch in _SWITCHES else field_of(str(key))
        if name is None:
            near = did_you_mean(str(key).replace("_", "-"), known).replace("-", "_")
            raise T2IBenchError(
                str(document.problem((key,), f"unknown key '{shown(key)}'.")) + near
            )
        read_settings({name: value}, f"{path}:{document.line((key,))}: ")
        values[name] = value
    return values


def announce(prepared: Prepared, reporter: Any) -> None:
    """Say what a user must know before a run starts."""
    for line in [*prepared.warnings, *prepared.exclusions]:
        reporter.warn(line)
    shortages: tuple[tuple[str, Callable[[int], bool]], ...] = (
        ("prompts have fewer images than the tasks ask for:", lambda available: available > 0),
        ("prompts have no image:", lambda available: available == 0),
    )
    for title, wanted in shortages:
        lines = [
            f"  {available} of {needed}: {prompt}" if available else f"  {prompt}"
            for prompt, (available, needed) in sorted(prepared.lacking.items())
            if wanted(available) and (available == 0 or prompt in prepared.plan.prompts)
        ]
        if lines:
            reporter.warn(f"{len(lines)} {title}")
        for line in lines[:_SHOWN]:
            reporter.say(line)
        if len(lines) > _SHOWN:
            reporter.say(f"  and {len(lines) - _SHOWN} more (--dry-run --verbose lists them all)")


def _finish(
    outcome: Outcome, prepared: Prepared, reporter: Any, total: int | None, verbose: bool
) -> int:
    for line in outcome.damaged[:_SHOWN]:
        reporter.warn(f"{line}.")
    if len(outcome.damaged) > _SHOWN:
        reporter.warn(f"and {len(outcome.damaged) - _SHOWN} more images cannot be used.")
    _say_lost(outcome, prepared, reporter)
    for line in outcome.problems:
        reporter.warn(line)
    if prepared.generator is not None:
        total = total or len(prepared.plan.requests)
        if outcome.attempts:
            reporter.say(_counted(outcome, prepared, total))
        elif not outcome.observed:
            reporter.say(_nothing(prepared, total))
        else:
            reporter.say(f"All {total} images were stored already.")
    if outcome.results is None:
        reporter.say(_next(outcome, prepared))
        return 0 if outcome.complete else 3
    from t2ibench.reports.terminal import print_results

    specs = {task.id: task.spec for task in prepared.plan.tasks}
    print_results(outcome.results, specs, folder=outcome.folder, verbose=verbose)
    if not outcome.complete:
        reporter.warn("some evidence is missing; the lines above and results.md say what.")
    return 0 if outcome.complete else 3


def _next(outcome: Outcome, prepared: Prepared) -> str:
    if prepared.settings.shard is not None:
        others = outcome.folder.parent.with_name("shard-*") / outcome.folder.name
        return f"A part of a run. When all are done: t2ibench merge {others}"
    if prepared.settings.no_score:
        return f"Not scored yet: t2ibench score {outcome.folder}"
    return f"Images: {outcome.folder / 'images'}"


def _nothing(prepared: Prepared, total: int) -> str:
    removed = prepared.images.removed() if prepared.images is not None else 0
    if removed:
        return (
            f"Nothing to do: the evidence of all {total} images is stored already. {removed} of "
            "them have no file any more; --generate-only generates them again."
        )
    return f"Nothing to do: all {total} images and all of their evidence are stored already."


_OF_FILES = {"ok": "readable", "failed": "unreadable", "filtered": "black"}


def _counted(outcome: Outcome, prepared: Prepared, total: int) -> str:
    """What became of the images that were tried now; of a folder, what became of its files."""
    folder = prepared.from_folder
    counts = ", ".join(
        f"{n} {_OF_FILES.get(status, status) if folder else status}"
        for status, n in sorted(outcome.attempts.items(), key=lambda item: item[0] != "ok")
    )
    if not folder:
        return f"Generated now: {counts} (of {total} images)."
    absent = f"; {prepared.absent} more that the tasks ask for are not in the folder"
    return f"Read now: {counts} (of {total} images{absent if prepared.absent else ''})."


def _say_lost(outcome: Outcome, prepared: Prepared, reporter: Any) -> None:
    """Why images were not got, the most frequent reasons first."""
    lost = sorted(outcome.lost.items(), key=lambda item: (-item[1], item[0]))
    most = _FILES if prepared.from_folder else _SHOWN
    for (status, reason), count in lost[:most]:
        if prepared.from_folder:
            reporter.warn(f"{prepared.settings.model}: {reason.rstrip('.')}.")
        else:
            plural = "" if count == 1 else "s"
            reporter.warn(f"{count} image{plural} {status}: {reason.rstrip('.')}.")
    if len(lost) > most:
        rest = sum(count for _, count in lost[most:])
        reporter.warn(f"and {rest} more images; results.md has the reasons.")
    if lost and prepared.from_folder:
        reporter.say("Replace these files, or take them out, and run the same command again.")
    for kind in sorted({kind for kind, _ in outcome.remarks}):
        files = [file for other, file in outcome.remarks if other == kind]
        more = f" and {len(files) - _FILES} more" if len(files) > _FILES else ""
        reporter.say(f"{kind} ({len(files)}): {', '.join(files[:_FILES])}{more}.")
