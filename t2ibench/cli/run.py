"""`t2ibench run`: generate the images that tasks need, embed them and score them."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import (
    LIST,
    VERBOSE,
    Listed,
    add_flag,
    not_negative,
    positive,
    seconds,
    share,
    tell_some,
)
from t2ibench.errors import T2IBenchError, TaskFileError, shown_path, visible
from t2ibench.settings import (
    DERIVED,
    Measurement,
    RunSettings,
    by_setting,
    flag_name,
    flags,
    read_settings,
)
from t2ibench.worker_pool import busy_line

if TYPE_CHECKING:
    from t2ibench.decisions.plan import Plan
    from t2ibench.decisions.profile import Profile
    from t2ibench.pipeline.outcome import Outcome
    from t2ibench.pipeline.rounds import Precision
    from t2ibench.pipeline.run_context import Models, RunContext
    from t2ibench.reports.destinations import Chosen
    from t2ibench.results.schema import Results

_EXAMPLES = """examples:
  t2ibench run --model toyland --model-args all.gender.female=0.5 --tasks occupations
  t2ibench run --model stabilityai/sdxl-turbo --model-args steps=1,guidance=0 --tasks mcas
  t2ibench run --model sdxl --tasks openbias --judge openai:my-vlm \\
      --judge-args base_url=http://127.0.0.1:8000/v1
  t2ibench run --model sdxl --tasks occupations --rewriter openai:my-llm
  t2ibench run --model sdxl --tasks t2iat --until-precise .3   images until ± .15
  t2ibench run --model sdxl --tasks core --until-decided accept.yaml --max-images-per-prompt 64
  t2ibench run --model folder:samples --tasks core --watch    what a training run keeps writing
  t2ibench run --config run.yaml                           flags from a file; the line wins

Running the same command again resumes: stored images, embeddings and answers are used.
exit status: 0 done; 1 wrong input; 2 wrong usage; 3 finished, but evidence is missing;
130 interrupted, resumable; with --until-decided 0 pass, 4 fail, 3 undecided
T2IBENCH_TRACEBACK=1 in the environment prints where an error comes from
"""
PRESET = (
    "take a paper's model settings, encoders, judge and tasks; "
    "flags override them (default: none, see `t2ibench ls papers`)"
)
_INTERVAL = 10.0  # seconds between two looks at a watched folder
_SILENCE = 0.4  # seconds after which a run reports that it is working
_SHOWN = 10  # prompts or images that a message lists
_REASONS = 50  # reasons that are printed; each file of a folder may have its own


def _number_or_auto(text: str) -> int | None:
    return None if text == "auto" else positive(text)


def _seed(text: str) -> int | str:
    return text if text == DERIVED else not_negative(text)


# Types of flags that are not text; pydantic checks the values again, whatever their source.
_TYPES: dict[str, Any] = {
    **dict.fromkeys(
        ("images_per_prompt", "guided_images_per_prompt", "limit"), positive
    ),
    **dict.fromkeys(("n_permutations", "n_bootstrap"), positive),
    **dict.fromkeys(("batch_size", "workers"), _number_or_auto),
    "seed": _seed,
    "level": float,
    "times": float,
}


def add(verbs: Any) -> None:
    """Add the command `run` and its flags to the command line."""
    verb = verbs.add_parser(
        "run",
        description="Generate the images that the tasks need, embed them, score them.",
        epilog=_EXAMPLES,
    )
    what, much, where = add_settings(verb)
    add_flag(what, "--preset PAPER", PRESET)
    add_flag(
        what,
        "--plan FILE",
        "take tasks, numbers of images, seed, encoders, judges and what else it fixes from this "
        "plan of `t2ibench plan` (default: none)",
    )
    until = (
        "generate more images until the intervals are narrower than W "
        "(default: one round)"
    )
    add_flag(much, "--until-precise W", until, type=share)
    most = (
        "generate at most N images per prompt with --until-precise or --until-decided "
        "(default: 8 times as many as in the first round)"
    )
    add_flag(much, "--max-images-per-prompt N", most, type=positive)
    add_flag(
        much,
        "--until-decided FILE",
        "generate more images, doubling them, until this accept.yaml passes or fails, up to "
        "--max-images-per-prompt (default: one round)",
    )
    add_flag(
        where,
        "--watch SECONDS",
        "score each complete set of prompts that another program writes into --model folder:DIR, "
        "looking every SECONDS (10 where no number is given) until Ctrl-C (default: score once)",
        type=seconds,
        nargs="?",
        const=_INTERVAL,
    )
    add_flag(
        where,
        "--accept FILE",
        "check each watched set against the limits of this accept.yaml (default: no decisions)",
    )
    add_flag(where, "--verbose", VERBOSE)
    verb.set_defaults(handler=run)


def add_settings(
    verb: Any,
    *,
    purposes: Callable[[str, str], str] | None = None,
    dry_run: str = (
        "print how many prompts and images there are and how long they take, and generate "
        "nothing (default: generate and score)"
    ),
) -> list[Any]:
    """Add the flags of all settings to a command, and return their groups.

    Args:
        verb: Parser of the command.
        purposes: Returns the help line for the name of a setting and its line in `run`; None
            keeps the lines of `run`.
        dry_run: Help line of --dry-run.
    """
    titles = ("what to measure", "how much", "where and how")
    groups = {title: verb.add_argument_group(title) for title in titles}
    for name, _, flag in flags():
        kind: dict[str, Any] = {"metavar": flag.metavar, "type": _TYPES.get(name, str)}
        if not flag.metavar:
            kind = {"action": "store_const", "const": True}
        elif flag.metavar.endswith(LIST):
            kind = {"metavar": flag.metavar, "action": Listed}
        elif name == "include_path":
            kind = {"metavar": flag.metavar, "action": "append"}
        line = flag.help if purposes is None else purposes(name, flag.help)
        groups[flag.group].add_argument(flag_name(name), dest=name, help=line, **kind)
    where = groups["where and how"]
    add_flag(
        where,
        "--config FILE",
        "read settings from a YAML file with any of these flags as keys "
        "(default: none)",
    )
    add_flag(where, "--dry-run", dry_run)
    return [*groups.values()]


def run(arguments: argparse.Namespace) -> int:
    """Run tasks on a model, and return the exit status."""
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    with reporter.opening("Reading the tasks, loading the models …", _SILENCE):
        # They take a second or more, in which the terminal shows that work has begun.
        from t2ibench.pipeline.engines import check_engine
        from t2ibench.pipeline.preparation import prepare
        from t2ibench.pipeline.run import execute
        from t2ibench.pipeline.stop_request import on_sigterm
        from t2ibench.reports.destinations import chosen_by

        plan = _plan_of(arguments)
        settings = settings_of(arguments, plan)
        if arguments.watch is not None and not arguments.dry_run:
            from t2ibench.cli.watch import watch

            return watch(arguments, settings, reporter)
        _check_accept(arguments)
        _check_looks(arguments, plan)
        _check_rounds(arguments, plan)
        destinations = chosen_by(settings)
        check_engine(settings)
        context, models = prepare(settings, call=visible(shlex.join(arguments.argv)))
        if plan is not None:
            from t2ibench.decisions.departures import check_before_run
            from t2ibench.results.further_settings import FurtherSettings

            check_before_run(
                plan,
                Path(arguments.plan),
                context.plan.tasks,
                Measurement.of(context.plan.settings),
                FurtherSettings.of(context.settings, context.judge_checks),
                skipped=context.feasibility.skipped,
            )
            context = replace(context, plan_sha256=plan.sha256)
        announce(context, models, reporter)
        if arguments.dry_run:
            from t2ibench.cli.dry_run import show

            show(context, models, arguments.verbose)
            return 0
        if (busy := busy_line()) is not None:
            reporter.say(busy)
        with on_sigterm():
            if arguments.until_decided is not None:
                return _until_decided(
                    arguments, plan, context, models, reporter, destinations
                )
            rounds = _until_precise(arguments, context, models, reporter)
            outcome = (
                execute(context, models, reporter) if rounds is None else rounds.outcome
            )
            status = finish(
                outcome,
                context,
                models,
                reporter,
                rounds,
                verbose=arguments.verbose,
            )
            results = outcome.results
            if results is None:
                return status
            if rounds is not None:
                saved = 1 - rounds.images / rounds.fixed if rounds.fixed else 0.0
                fewer = (
                    f"{saved:.0%} fewer than the {rounds.fixed} of the largest design."
                )
                for line in (*rounds.lines, f"{rounds.images} images, {fewer}"):
                    reporter.say(line)
                if not rounds.precise:
                    narrow = "not every interval is as narrow as you want"
                    reporter.warn(f"{narrow}; `t2ibench power` says why.")
            send_results(destinations, results, outcome.folder, reporter)
            return status


def _check_accept(arguments: argparse.Namespace) -> None:
    """Raise an error for limits that nothing would be decided by."""
    if arguments.accept is not None and arguments.watch is None:
        raise T2IBenchError(
            "--accept needs --watch in this command.",
            "`t2ibench decide RUN --accept FILE` decides about a run; --until-decided FILE "
            "generates images until it is decided.",
        )


def finish(
    outcome: Outcome,
    context: RunContext,
    models: Models,
    reporter: Any,
    rounds: Precision | None = None,
    *,
    verbose: bool = False,
) -> int:
    """Write and show the reports of a run, and return the exit status."""
    from t2ibench.reports.files import write_reports
    from t2ibench.reports.terminal import print_results

    results = outcome.results
    if results is not None:
        results = results.in_folder(outcome.folder)
        write_reports(results, outcome.folder)
    _tell(outcome, context, models, reporter, rounds)
    if results is None:
        reporter.say(_next(outcome, context))
        return 0 if outcome.complete else 3
    specs = {task.id: task.spec for task in context.plan.tasks}
    print_results(results, specs, folder=outcome.folder, verbose=verbose)
    if not outcome.complete:
        reporter.warn(
            "some evidence is missing; the lines above and results.md say what."
        )
    return 0 if outcome.complete else 3


def _until_precise(
    arguments: argparse.Namespace, context: RunContext, models: Models, reporter: Any
) -> Precision | None:
    """Return the outcome of a run in rounds if the user asked for them; None otherwise."""
    from t2ibench.pipeline.rounds import until_precise

    if arguments.until_precise is None:
        return None
    _check_scores(context.settings, "--until-precise")
    most = arguments.max_images_per_prompt
    return until_precise(
        context, models, arguments.until_precise, reporter, most_images=most
    )


def _check_scores(settings: RunSettings, asked: str) -> None:
    """Check that a run in several rounds scores each of them."""
    for flag, given in (
        ("--generate-only", settings.generate_only),
        (f"--shard {settings.shard}", settings.shard),
        ("--no-score", settings.no_score),
    ):
        if given:
            raise T2IBenchError(f"{asked} has to score; leave {flag} out.")


def _until_decided(
    arguments: argparse.Namespace,
    plan: Plan | None,
    context: RunContext,
    models: Models,
    reporter: Any,
    destinations: list[Chosen],
) -> int:
    """Look at a growing run until it is decided; return the exit status of the decision."""
    from t2ibench.decisions.decision import EXIT_STATUS
    from t2ibench.decisions.profile import read_profile
    from t2ibench.decisions.runs import ReferenceRuns
    from t2ibench.pipeline.rounds import Precision
    from t2ibench.pipeline.until_decided import until_decided
    from t2ibench.reports.decisions.text import decision_text

    if arguments.until_precise is not None:
        raise T2IBenchError(
            "--until-decided and --until-precise stop by two rules, whose errors would add up.",
            "Give one of them.",
        )
    if arguments.max_images_per_prompt is None:
        raise T2IBenchError(
            "--until-decided needs the largest number of images, which is fixed before.",
            "Give --max-images-per-prompt N.",
        )
    _check_scores(context.settings, "--until-decided")
    file = Path(arguments.until_decided)
    profile = read_profile(file)
    if plan is not None:
        _check_profile_of_plan(arguments, plan, profile)
    looked = until_decided(
        context,
        models,
        profile,
        ReferenceRuns(file.parent),
        reporter,
        most_images=arguments.max_images_per_prompt,
    )
    as_rounds = Precision(looked.outcome, images=looked.images)
    status = finish(
        looked.outcome, context, models, reporter, as_rounds, verbose=arguments.verbose
    )
    for line in (*looked.lines, f"{looked.images} images."):
        reporter.say(line)
    results = looked.outcome.results
    if results is not None:
        send_results(destinations, results, looked.outcome.folder, reporter)
    if looked.decision is None:
        return status
    print(decision_text([looked.decision]), end="")
    return EXIT_STATUS[looked.decision.outcome]


def _plan_of(arguments: argparse.Namespace) -> Plan | None:
    """Return the plan of --plan; None without it."""
    if arguments.plan is None:
        return None
    from t2ibench.decisions.plan import read_plan

    return read_plan(Path(arguments.plan))


def _check_looks(arguments: argparse.Namespace, plan: Plan | None) -> None:
    """Raise an error if a plan has several looks, and the command would take one."""
    most = None if plan is None else plan.most_images_per_prompt
    if most is not None and arguments.until_decided is None:
        raise T2IBenchError(
            f"{arguments.plan} fixes several interim looks, with at most {most} images per prompt.",
            f"Add --until-decided accept.yaml --max-images-per-prompt {most}, with its profile.",
        )


def _check_rounds(arguments: argparse.Namespace, plan: Plan | None) -> None:
    """Raise an error if a run by a plan would have as many images as its intervals need."""
    if plan is not None and arguments.until_precise is not None:
        raise T2IBenchError(
            f"--until-precise makes more images than {shown_path(arguments.plan)} fixes.",
            "Leave one of the two flags out.",
        )


def _check_profile_of_plan(
    arguments: argparse.Namespace, plan: Plan, profile: Profile
) -> None:
    """Check that a run with a plan is looked at by the plan's profile, as often as it fixes."""
    if profile.sha256 != plan.profile.sha256:
        raise T2IBenchError(
            f"--until-decided {arguments.until_decided} is not the profile of {arguments.plan}.",
            "Give the profile of the plan, or write a new plan.",
        )
    most = plan.most_images_per_prompt
    if most != arguments.max_images_per_prompt:
        fixed = "one look" if most is None else f"at most {most} images per prompt"
        raise T2IBenchError(
            f"--max-images-per-prompt {arguments.max_images_per_prompt} contradicts "
            f"{arguments.plan}, which fixes {fixed}.",
            "Give the number of the plan, or write a new plan with --max-images-per-prompt.",
        )


def send_results(
    destinations: list[Chosen], results: Results, folder: Path, reporter: Any
) -> bool:
    """Send results to the chosen destinations; return whether all succeeded."""
    from t2ibench.cli.failure import print_traceback
    from t2ibench.reports.destinations.payload import send_all

    lines, failures = send_all(destinations, results, folder)
    for line in lines:
        reporter.say(line)
    for error in failures:
        print_traceback(error)
        reporter.warn(str(error))
    return not failures


def settings_of(arguments: argparse.Namespace, plan: Plan | None = None) -> RunSettings:
    """Return the settings of a command line, with defaults from its --config and --preset.

    Args:
        arguments: The flags.
        plan: The plan of --plan, which fixes some of them; None without it.
    """
    values = settings_given(arguments)
    if plan is not None:
        values = _with_plan(values, plan, arguments.plan)
    settings = read_settings(values, are_flags=True)
    if arguments.preset is None:
        return settings
    from t2ibench.apps.papers.paper import PAPERS
    from t2ibench.apps.papers.preset import with_preset

    return with_preset(PAPERS.get(arguments.preset), values)


def settings_given(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that a command line and its --config name, keyed by setting."""
    values = _read_config(Path(arguments.config)) if arguments.config else {}
    given = {name: getattr(arguments, name, None) for name, _, _ in flags()}
    return values | {name: value for name, value in given.items() if value is not None}


def _with_plan(values: dict[str, Any], plan: Plan, path: str) -> dict[str, Any]:
    """Return settings with those that a plan fixes; a flag that contradicts it is an error."""
    fixed = plan.settings
    for name, value in fixed.items():
        if name in values and read_settings({name: values[name]}) != read_settings(
            {name: value}
        ):
            fixes = "leaves it unset" if value in (None, {}) else "fixes it"
            raise T2IBenchError(
                f"{flag_name(name)} contradicts {shown_path(path)}, which {fixes}.",
                "Leave the flag out, or write a new plan.",
            )
    return values | fixed


def _read_config(path: Path) -> dict[str, Any]:
    """Return the settings that a YAML file names, checked and keyed by setting."""
    from t2ibench.tasks.source import read_yaml

    document = read_yaml(path)
    if document.problems:
        raise TaskFileError(map(str, document.problems))
    if not isinstance(document.data, dict):
        raise T2IBenchError(f"{path}: expected a mapping of flags to values.")
    given = by_setting({str(key): value for key, value in document.data.items()})
    read_settings(given, f"{path}: ")
    return given


def announce(context: RunContext, models: Models, reporter: Any) -> None:
    """Print notes and warnings before a run starts."""
    for line in models.notes:
        reporter.say(line)
    for line in context.notices:
        reporter.warn(line)
    _announce_missing(context, reporter, "prompt")
    if context.sources is not None:
        of_sources = context.sources.context
        for line in of_sources.notices:
            reporter.warn(f"source images: {line}")
        _announce_missing(of_sources, reporter, "prompt of source images")


def _announce_missing(context: RunContext, reporter: Any, what: str) -> None:
    """Print which prompts have fewer images than the tasks ask for, or none."""
    few, none = [], []
    for prompt, (available, needed) in sorted(context.short_of_images.items()):
        if not available:
            none.append(f"  {prompt}")
        elif prompt in context.plan.prompts:
            few.append(f"  {available} of {needed}: {prompt}")
    for title, lines in (
        ("fewer images than the tasks ask for:", few),
        ("no image:", none),
    ):
        if lines:
            plural = what.replace("prompt", "prompts")
            subject = (
                f"1 {what} has" if len(lines) == 1 else f"{len(lines)} {plural} have"
            )
            reporter.warn(f"{subject} {title}")
        and_more = "  and {} more (--dry-run --verbose lists them all)"
        tell_some(lines, reporter.say, _SHOWN, and_more)


def _tell(
    outcome: Outcome,
    context: RunContext,
    models: Models,
    reporter: Any,
    rounds: Precision | None,
) -> None:
    """Print how many images were generated, and problems with them."""
    reads_images = models.reads_existing_images(context.settings)
    damaged = [f"{line}." for line in outcome.damaged]
    tell_some(damaged, reporter.warn, _SHOWN, "and {} more images cannot be used.")
    _say_missing(outcome, reads_images, reporter)
    for line in outcome.problems:
        reporter.warn(line)
    if models.generator is not None:
        total = (rounds and rounds.images) or len(context.plan.requests)
        if outcome.attempts:
            reporter.say(_counted(outcome, reads_images, total))
        elif not outcome.observed and outcome.complete:
            reporter.say(
                f"Nothing to do: all {total} images are already embedded and judged."
            )
        else:
            reporter.say(f"All {total} images were stored already.")


def _next(outcome: Outcome, context: RunContext) -> str:
    if context.settings.shard is not None:
        others = outcome.folder.parent.with_name("shard-*") / outcome.folder.name
        return f"A part of a run. When all are done: t2ibench merge {others}"
    if context.settings.no_score:
        return f"Not scored yet: t2ibench score {outcome.folder}"
    return f"Images: {outcome.folder / 'images'}"


def _counted(outcome: Outcome, reads_images: bool, total: int) -> str:
    """Return a line that says how many of this call's images had which outcome."""
    tried = sorted(outcome.attempts.items(), key=lambda item: item[0] != "ok")
    counts = ", ".join(f"{n} {status}" for status, n in tried)
    done = "Read" if reads_images else "Generated"
    return f"{done} now: {counts} (of {total} images)."


def _say_missing(outcome: Outcome, reads_images: bool, reporter: Any) -> None:
    """Print why images are missing, the most frequent reasons first."""
    missing = sorted(
        outcome.not_generated.items(), key=lambda item: (-item[1], item[0])
    )
    for (status, reason), count in missing[:_REASONS]:
        plural = "" if count == 1 else "s"
        reporter.warn(f"{count} image{plural} {status}: {reason.rstrip('.')}.")
    if len(missing) > _REASONS:
        remaining = sum(count for _, count in missing[_REASONS:])
        reporter.warn(f"and {remaining} more images; results.md has the reasons.")
    if missing and reads_images:
        reporter.say("Replace or remove these files, and run the same command again.")
