"""`t2ibench power`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.power.designs import Plan
    from t2ibench.power.pilots import Pilot

_WORDS = {"fixed_prompts": "these prompts", "prompt_population": "prompts like these"}


def run(arguments: argparse.Namespace) -> int:
    """Say how many images and prompts are needed."""
    from t2ibench.power.designs import Goal, plan
    from t2ibench.power.pilots import run_pilots, simulated_pilots
    from t2ibench.settings import Settings

    names = [name.strip() for name in (arguments.tasks or "").split(",") if name.strip()]
    if arguments.run:
        pilots = run_pilots(Path(arguments.run), names)
    elif names:
        pilots = simulated_pilots(names, Settings(level=arguments.level or 0.95))
    else:
        raise T2IBenchError(
            "Which tasks? Give a run folder, or --tasks.", "t2ibench power --tasks all"
        )
    goal = Goal(arguments.effect, arguments.width, arguments.power)
    shown = 0
    for pilot in pilots:
        question = arguments.question or pilot.question
        try:
            found = plan(pilot, question, goal)
        except T2IBenchError as error:
            if len(pilots) == 1:
                raise
            print(f"{pilot.task}: {error.message}\n")
            continue
        _print(pilot, question, goal.effect, found)
        shown += 1
    return 0 if shown else 1


def _print(pilot: Pilot, question: str, effect: float, found: Plan) -> None:
    from tabulate import tabulate

    from t2ibench.pipeline.progress import duration

    print(f"{pilot.task}, about {_WORDS[question]}; from {pilot.source}")
    rows = [
        [
            row.what,
            row.images if row.images is not None else "any number",
            row.prompts,
            f"± {row.half:.2f}",
            f"{row.power:.2f}",
            row.total if row.total is not None else "",
            duration(row.total / pilot.speed) if row.total and pilot.speed else "",
        ]
        for row in found.rows
    ]
    seen = f"power at {effect:g}"
    heads = ["", "images a prompt", found.unit, "interval", seen, "images", "time"]
    if not pilot.speed:
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    print(tabulate(rows, headers=heads, tablefmt="simple", disable_numparse=True))
    for line in found.lines:
        print(line)
    if not pilot.speed:
        print("The time is unknown: no run of 50 images or more tells the speed.")
    print()
