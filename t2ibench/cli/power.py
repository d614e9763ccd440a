"""`t2ibench power`: plan how many images and prompts a run needs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag, positive, share
from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.power.clear_tests import ClearRule
    from t2ibench.power.designs import Plan
    from t2ibench.power.pilots import Pilot

_EXAMPLES = """examples:
  t2ibench power runs/sdxl --tasks t2iat_flowers_insects --effect .2 --width .2
  t2ibench power runs/sdxl --question prompt_population    would other prompts show it?

Before any run, toyland can be the pilot (a minute, nothing to download):

  t2ibench run --model toyland --tasks t2iat --output-dir runs/toyland
  t2ibench power runs/toyland

The effect is on the scale of the headline: 0 is balanced, 1 all one side; .2 is a mixture of 60 %
and 40 %. The width of an interval is its upper less its lower end.
"""
_WORDS = {"fixed_prompts": "these prompts", "prompt_population": "prompts like these"}


def add(verbs: Any) -> None:
    """Add the command `power` and its flags to the command line."""
    verb = verbs.add_parser(
        "power",
        description="Plan how many images and prompts are needed to detect an effect, or for an "
        "interval of a given width, from the variance in a run.",
        epilog=_EXAMPLES,
    )
    add_flag(verb, "run RUN", "take this run as the pilot (required)")
    add_flag(
        verb,
        "--tasks T,…",
        "plan for these tasks: ids, globs, groups (default: all of the run)",
    )
    add_flag(
        verb,
        "--effect E",
        "plan to detect a bias score of size E (default: 0.2)",
        type=share,
        default=0.2,
    )
    add_flag(
        verb,
        "--width W",
        "plan for confidence intervals of width W (default: none)",
        type=share,
    )
    add_flag(
        verb,
        "--power P",
        "plan for a run that calls the effect clear with probability P (default: 0.8)",
        type=share,
        default=0.8,
    )
    add_flag(
        verb,
        "--corrected-for N",
        "plan for N tests that Holm's correction covers (default: as many as RUN has)",
        type=positive,
    )
    about = (
        "plan for a result about these prompts or prompts like these "
        "(default: the task's)"
    )
    add_flag(verb, "--question", about, choices=[*_WORDS])
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Print how many images and prompts a run needs, and return the exit status."""
    from t2ibench.arguments import names_of
    from t2ibench.power.designs import Goal, plan
    from t2ibench.power.pilots import run_pilots

    names = names_of(arguments.tasks)
    pilots = run_pilots(Path(arguments.run), names, arguments.corrected_for)
    goal = Goal(arguments.effect, arguments.width, arguments.power)
    shown = 0
    for pilot in pilots:
        question = arguments.question or pilot.question
        try:
            planned = plan(pilot, question, goal)
        except T2IBenchError as error:
            if len(pilots) == 1:
                raise
            print(f"{pilot.task}: {error.message}\n")
            continue
        _print(pilot, question, goal.effect, planned)
        shown += 1
    return 0 if shown else 1


def _print(pilot: Pilot, question: str, effect: float, planned: Plan) -> None:
    from tabulate import tabulate

    from t2ibench.pipeline.progress import duration

    print(f"{pilot.task}, about {_WORDS[question]}; from {pilot.source}")
    rows = [
        [
            row.what,
            row.images,
            row.prompts,
            f"± {row.half:.2f}",
            f"{row.clear:.2f}",
            f"{row.power:.2f}",
            row.total,
            duration(row.total / pilot.speed) if pilot.speed else "",
        ]
        for row in planned.rows
    ]
    heads = [
        "",
        "source images a prompt" if pilot.of_edits else "images a prompt",
        planned.unit,
        "interval",
        f"clear at {effect:g}",
        "p < .05",
        "images",
        "time",
    ]
    if not pilot.speed:
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    print(tabulate(rows, headers=heads, tablefmt="simple", disable_numparse=True))
    lines = [*_rule_lines(pilot.rule), *planned.lines]
    if pilot.of_edits:
        lines.append(
            "'Images' are source images with all their edits. The probabilities are simulated from "
            "the pilot's images, to within ± 0.05."
        )
    for line in lines:
        print(line)
    if not pilot.speed:
        print(
            "The time is unknown: no run of 50 images or more has measured the speed."
        )
    print()


def _rule_lines(rule: ClearRule) -> list[str]:
    """Return sentences that say what it takes for an effect to be clear."""
    tests = f"{rule.n_tests} tests" if rule.n_tests > 1 else "one test"
    lines = [
        f"'Clear' is after Holm's correction over {tests}; 'p < .05' is this test alone, "
        "uncorrected."
    ]
    if rule.unseen:
        lines.append(
            "The guided images are unchecked, so a lean is not clear if it could be explained "
            "by 15 % of one group's images showing the other; this applies to "
            f"{100 * rule.common:.0f} % of the mean square here. With a judge, this condition "
            "does not apply."
        )
    return lines
