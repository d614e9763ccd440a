"""`t2ibench plan --accept accept.yaml`: fix a decision before its run, and forecast its chances."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import LIST, add_flag, not_negative, positive
from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.decisions.design import Forecast
    from t2ibench.decisions.plan import Plan
    from t2ibench.decisions.profile import Profile
    from t2ibench.decisions.runs import MeasuredRun, ReferenceRuns
    from t2ibench.results.further_settings import FurtherSettings
    from t2ibench.settings import Measurement
    from t2ibench.tasks.loader import LoadedTask

_EXAMPLES = """examples:
  t2ibench plan --accept accept.yaml                         chances with the tasks' own images
  t2ibench plan --accept accept.yaml --images-per-prompt 50
  t2ibench plan --accept accept.yaml --pilot runs/pilot --times 4 --output plan.json
  t2ibench decide runs/sdxl --plan plan.json                 what departs from it?

Without a pilot the chances are those of images whose side is seen without error: at best.
"""
_ALONE = (0.9, 20)  # the chance of a scenario, and how many: an example


def add(verbs: Any) -> None:
    """Add the command `plan`."""
    verb = verbs.add_parser(
        "plan",
        description="Fix limits, tasks, sizes, encoders, judges, their arguments and the untrained "
        "control before a run, with their hash, and print the chance to pass a fair model and to "
        "fail one beyond the limit.",
        epilog=_EXAMPLES,
    )
    add_flag(verb, "--accept FILE", "take the limits from this accept.yaml (required)")
    add_flag(
        verb,
        "--output FILE",
        "write the plan to this file (default: plan.json in the folder of the --accept file)",
    )
    add_flag(
        verb,
        "--pilot RUN",
        "take standard errors from this run, and fix the weights of its encoders and judges "
        "(default: assume encoders and judges that never err)",
    )
    _add_sizes(verb)
    add_flag(
        verb,
        "--encoder E" + LIST,
        "plan a run with these encoders (default: those that --accept names)",
    )
    add_flag(
        verb,
        "--judge J" + LIST,
        "plan a run with these judges (default: those that --accept names)",
    )
    add_flag(
        verb,
        "--include-path DIR",
        "add the tasks of a folder; repeatable (default: none)",
        action="append",
    )
    _add_further_settings(verb)
    verb.set_defaults(handler=run)


def _add_further_settings(verb: Any) -> None:
    """Add the flags of what else can change a score, as `run` has them."""
    add_flag(
        verb,
        "--control-encoder C",
        "plan a run with an untrained encoder of the same architecture (random), or with none, as "
        "its control (default: random)",
    )
    add_flag(
        verb,
        "--judge-args k=v" + LIST,
        "plan a run with these options of its judges (default: none)",
    )
    add_flag(
        verb,
        "--judge-check FILE" + LIST,
        "plan a run whose shares are corrected by these checks of judges (default: none)",
    )
    add_flag(
        verb,
        "--columns k=NAME" + LIST,
        "plan a run that reads these headings of tables of answers (default: common headings)",
    )
    add_flag(
        verb,
        "--sources M",
        "plan a run whose source images of edits are made by this model (default: the model "
        "itself)",
    )
    add_flag(
        verb,
        "--sources-args k=v" + LIST,
        "plan a run with these options of --sources (default: none)",
    )


def _add_sizes(verb: Any) -> None:
    """Add the flags of how many images there are, as `run` has them."""
    add_flag(
        verb,
        "--images-per-prompt N",
        "plan N images of every prompt (default: the task's number)",
        type=positive,
    )
    add_flag(
        verb,
        "--guided-images-per-prompt N",
        "plan N images of every attribute prompt (default: as --images-per-prompt)",
        type=positive,
    )
    add_flag(
        verb,
        "--times X",
        "multiply all numbers of images by X (default: 1)",
        type=float,
    )
    add_flag(
        verb,
        "--max-images-per-prompt N",
        "state that the run looks several times, with at most N images of a prompt (default: "
        "one look)",
        type=positive,
    )
    add_flag(
        verb,
        "--seed N",
        "set the random seed of generation and statistics (default: 0)",
        type=not_negative,
    )


def run(arguments: argparse.Namespace) -> int:
    """Write a plan, and print its chances."""
    from t2ibench.arguments import names_of
    from t2ibench.decisions.looks import check_looks
    from t2ibench.decisions.plan import make_plan, write_plan
    from t2ibench.decisions.planned_readers import check_rules, fingerprints_of
    from t2ibench.decisions.profile import read_profile
    from t2ibench.decisions.runs import ReferenceRuns, read_run
    from t2ibench.methods import needs
    from t2ibench.settings import Settings

    if not arguments.accept:
        raise T2IBenchError(
            "plan needs the limits.",
            "Give --accept accept.yaml; examples/accept.yaml has every key.",
        )
    source = Path(arguments.accept)
    profile = read_profile(source)
    encoders = names_of(arguments.encoder)
    judges = names_of(arguments.judge)
    _check_readers([*encoders, *profile.encoders], [*judges, *profile.judges])
    tasks = _tasks(profile, arguments.include_path or [])
    measurement = _measurement(arguments)
    further = _further_settings(arguments)
    _check_used(further, judges or profile.judges)
    settings = Settings.of(measurement)
    needs_of = {name: needs(task.spec, settings) for name, task in tasks.items()}
    check_rules(profile, needs_of, encoders=encoders, judges=judges)
    largest = measurement
    most = arguments.max_images_per_prompt
    if most is not None:
        check_looks([task.spec for task in tasks.values()], measurement)
        largest = _last_look(profile, tasks, measurement, most)
    references = ReferenceRuns(source.parent)
    pilot = read_run(Path(arguments.pilot)) if arguments.pilot else None
    forecasts = _forecasts(profile, tasks, largest, pilot, references)
    plan = make_plan(
        profile,
        tasks,
        measurement,
        encoders=encoders,
        judges=judges,
        further_settings=further,
        references=references.digests(profile),
        fingerprints={} if pilot is None else fingerprints_of(pilot.results, further),
        most_images_per_prompt=most,
        pilot=arguments.pilot,
        chances=_records(forecasts),
    )
    output = (
        Path(arguments.output) if arguments.output else source.with_name("plan.json")
    )
    write_plan(plan, output)
    _print(plan, forecasts)
    print(f"\nPlan: {output} (SHA-256 {plan.sha256})")
    return 0


def _check_readers(encoders: Sequence[str], judges: Sequence[str]) -> None:
    """Check that encoders and judges exist; nothing is loaded, and no file is read."""
    from t2ibench.models.encoders import ENCODERS
    from t2ibench.models.judges import ALIASES, JUDGES
    from t2ibench.models.resolution import resolve

    for encoder in encoders:
        resolve(ENCODERS, encoder)
    for judge in judges:
        resolve(JUDGES, judge, others=ALIASES)


def _last_look(
    profile: Profile,
    tasks: dict[str, LoadedTask],
    measurement: Measurement,
    most: int,
) -> Measurement:
    """Return the sizes of a run's last interim look; raise if it is smaller than the first."""
    from t2ibench.decisions.looks import planned_looks
    from t2ibench.methods import needs
    from t2ibench.power.pilots import Size
    from t2ibench.settings import Settings

    first = max(
        Size.of(needs(task.spec, Settings.of(measurement))).images
        for task in tasks.values()
    )
    return planned_looks(profile, first, most, measurement).measurements[-1]


def _tasks(profile: Profile, include_path: list[str]) -> dict[str, LoadedTask]:
    """Return the tasks of a profile; an unknown one is an error with the nearest name."""
    from t2ibench.tasks.index import load_tasks

    loaded = {
        task.id: task
        for name in profile.tasks
        for task in load_tasks([name], include_path, on_left_out=lambda _: None)
    }
    missing = [name for name in profile.tasks if name not in loaded]
    if missing:
        raise T2IBenchError(
            f"'{missing[0]}' selects several tasks; a scenario is about one.",
            "Name its id; `t2ibench ls tasks` lists them.",
        )
    for task in loaded.values():
        if (pool := task.spec.awaits) is not None:
            raise T2IBenchError(
                f"{task.id} has no prompts before it is given captions ({pool.title}), so that a "
                "plan cannot fix them.",
                "Leave it out of the plan; `t2ibench decide RUN --accept FILE` needs none.",
            )
    return {name: loaded[name] for name in profile.tasks}


def _measurement(arguments: argparse.Namespace) -> Measurement:
    """Return the numbers of images and the seed, checked as those of `run` are."""
    from t2ibench.settings import Measurement, read_settings

    names = ("images_per_prompt", "guided_images_per_prompt", "times", "seed")
    given = {name: getattr(arguments, name) for name in names}
    settings = {name: value for name, value in given.items() if value is not None}
    return Measurement.of(read_settings(settings, are_flags=True))


def _further_settings(arguments: argparse.Namespace) -> FurtherSettings:
    """Return what else can change a score, checked as the settings of `run` are."""
    from t2ibench.pipeline.judge_check_files import read_judge_checks
    from t2ibench.results.further_settings import FurtherSettings
    from t2ibench.settings import read_settings

    names = (
        "control_encoder",
        "judge_args",
        "judge_check",
        "columns",
        "sources",
        "sources_args",
    )
    given = {name: getattr(arguments, name) for name in names}
    settings = read_settings(
        {name: value for name, value in given.items() if value is not None},
        are_flags=True,
    )
    if settings.sources_args and settings.sources is None:
        raise T2IBenchError("--sources-args needs --sources to go to.")
    checks = read_judge_checks(settings.judge_check)
    return FurtherSettings.of(settings, checks)


def _check_used(further: FurtherSettings, judges: Sequence[str]) -> None:
    """Raise an error for settings of judges that the plan would not fix."""
    if further.judge_args and not judges:
        raise T2IBenchError(
            "--judge-args are options of judges, and the plan fixes no judges.",
            "Add --judge, or leave --judge-args out: a run may then have any.",
        )
    if further.columns and not any(name.startswith("answers:") for name in judges):
        raise T2IBenchError(
            "--columns names headings of tables of answers, and the plan fixes no such judge.",
            "Add --judge answers:FILE, or leave --columns out: a run may then have any.",
        )


def _forecasts(
    profile: Profile,
    tasks: dict[str, LoadedTask],
    measurement: Measurement,
    pilot: MeasuredRun | None,
    references: ReferenceRuns,
) -> list[Forecast]:
    """Return the chances of every scenario that can be forecast.

    Those of a comparison are not, and those of edits are not: the error of a test of few source
    images does not shrink with the root of their number.
    """
    from t2ibench.decisions.design import Design, forecast_of_design
    from t2ibench.decisions.pilot_forecast import forecast_of_pilot

    forecasts = []
    for scenario in profile.scenarios:
        task = tasks[scenario.measurement.task[0]]
        if scenario.measurement.kind == "comparison":
            continue
        if _has_edits(task, measurement):
            continue
        if pilot is not None:
            forecasts.append(
                forecast_of_pilot(scenario, task, pilot, references, measurement)
            )
        else:
            design = Design.of(task, measurement)
            forecasts.append(forecast_of_design(scenario, design))
    return forecasts


def _has_edits(task: LoadedTask, measurement: Measurement) -> bool:
    """Return whether a task edits images."""
    from t2ibench.methods import needs
    from t2ibench.settings import Settings

    return bool(needs(task.spec, Settings.of(measurement)).edits)


def _records(forecasts: list[Forecast]) -> dict[str, Any]:
    """Return the chances as the plan stores them."""
    return {
        part.scenario: {
            "basis": part.basis,
            "fair_passes": round(part.fair.passes, 4),
            "fair_fails": round(part.fair.fails, 4),
            "fails_at_reject": round(part.at_reject.fails, 4),
            "fails_beyond": round(part.beyond.fails, 4),
            "beyond": round(part.beyond_at, 4),
        }
        for part in forecasts
    }


def _print(plan: Plan, forecasts: list[Forecast]) -> None:
    from tabulate import tabulate

    from t2ibench.errors import visible

    images = sum(task.images for task in plan.tasks.values())
    tasks = "a task" if len(plan.tasks) == 1 else f"{len(plan.tasks)} tasks"
    print(f"{visible(plan.profile.title)}: {tasks}, {images:,} images\n")
    rows = [
        [
            visible(part.scenario),
            f"{part.fair.passes:.2f}",
            f"{part.at_reject.fails:.2f}",
            f"{part.beyond.fails:.2f} (at {part.beyond_at:.2g})",
            visible(part.basis),
        ]
        for part in forecasts
    ]
    heads = ["scenario", "fair passes", "at the limit fails", "far beyond fails", "by"]
    if rows:
        table = tabulate(rows, headers=heads, tablefmt="simple", disable_numparse=True)
        print(table)
    for line in _lines(plan, forecasts):
        print(line)


def _lines(plan: Plan, forecasts: list[Forecast]) -> list[str]:
    """Return what the chances mean together, in sentences."""
    together = math.prod(part.fair.passes for part in forecasts)
    alone, count = _ALONE
    lines = [""]
    compared = sum(
        scenario.measurement.kind == "comparison" for scenario in plan.profile.scenarios
    )
    of_edits = len(plan.profile.scenarios) - len(forecasts) - compared
    if forecasts:
        what = "the scenarios above" if compared or of_edits else "all of this"
        lines.append(
            f"A fair model passes {what} in {together:.2f}. A run passes only if every "
            f"scenario passes: if a fair model passes each of {count} scenarios in {alone:g}, "
            f"it passes all of them in {alone**count:.2f}."
        )
    lines.append(
        "A model at its limit fails in at most 0.05, by design, and passes in at most 0.05."
    )
    if compared:
        subject = (
            "A scenario compares" if compared == 1 else f"{compared} scenarios compare"
        )
        lines.append(
            f"{subject} two runs; their chances depend on how similar the runs are."
        )
    if of_edits:
        subject = "A scenario is" if of_edits == 1 else f"{of_edits} scenarios are"
        lines.append(
            f"{subject} about edits, for which this command forecasts no chances: `t2ibench "
            "power PILOT` forecasts what more source images would show."
        )
    if together < 0.5 and forecasts:
        lines.append(
            "These are too few images: most fair models would be undecided. Give more images, "
            "a wider limit, or a limit for a task instead of each row."
        )
    return lines
