"""The command line of a simulation: its flags, and its worlds one after the other."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from tabulate import tabulate

from t2ibench.arrays import Float64Array
from t2ibench.cli.usage import not_negative, positive
from t2ibench.pipeline.progress import ConsoleReporter
from t2ibench.worker_pool import each_of

World = TypeVar("World")


def worlds_parser(
    module: str, description: str | None, *, sets: int = 400
) -> argparse.ArgumentParser:
    """Return a parser of the flags that every simulation of worlds has.

    Args:
        module: The name of the module below `tools.calibration`.
        description: Its docstring.
        sets: The default number of data sets of a world.
    """
    parser = argparse.ArgumentParser(
        prog=f"python -m tools.calibration.{module}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    text = f"simulate N data sets a world ({sets})"
    add("--sets", metavar="N", type=positive, default=sets, help=text)
    text = "simulate only worlds whose name contains TEXT"
    add("--world", "--cell", metavar="TEXT", default="", help=text)
    text = "seed the worlds with N (0)"
    add("--seed", metavar="N", type=not_negative, default=0, help=text)
    return parser


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add the flag of simulations that draw data sets in several processes."""
    text = "use N processes (as many as cores)"
    parser.add_argument("--workers", metavar="N", type=positive, help=text)


def drawn_sets(
    name: str,
    simulated: Callable[[int], object],
    arguments: argparse.Namespace,
) -> Float64Array:
    """Return what each data set of a world gives, drawn in several processes.

    Args:
        name: The world, as progress shows it.
        simulated: Returns the numbers of a data set, given its number.
        arguments: The parsed flags, those of `add_workers` among them.

    Returns:
        The numbers, shape (data sets, …).
    """
    with ConsoleReporter().stage(name, arguments.sets, "data sets") as ticker:
        judged = each_of(
            range(arguments.sets),
            simulated,
            arguments.workers,
            lambda *_: ticker.advance(1),
        )
    return np.array(judged, dtype=np.float64)


def print_worlds(
    worlds: Iterable[tuple[str, World]],
    simulated: Callable[[World, int, int], Mapping[str, str]],
    arguments: argparse.Namespace,
) -> None:
    """Simulate worlds one after the other, and print their table.

    Args:
        worlds: Their names, which --world chooses by, and the worlds.
        simulated: Returns the row of a world, given the numbers of data sets and the seed.
        arguments: The parsed flags.
    """
    rows = []
    for name, world in worlds:
        if arguments.world in name:
            rows.append(simulated(world, arguments.sets, arguments.seed))
            print(rows[-1], file=sys.stderr, flush=True)
    print(tabulate(rows, headers="keys", tablefmt="pipe", disable_numparse=True))


def simulate_worlds(
    module: str,
    description: str | None,
    worlds: Iterable[tuple[str, World]],
    simulated: Callable[[World, int, int], Mapping[str, str]],
    argv: Sequence[str] | None,
    *,
    sets: int,
) -> int:
    """Run the command of a simulation that has no flags of its own, and return its exit status.

    Args:
        module: The name of the module below `tools.calibration`.
        description: Its docstring.
        worlds: As `print_worlds` takes them.
        simulated: As `print_worlds` takes it.
        argv: The arguments of the command; None for those of this process.
        sets: The default number of data sets of a world.
    """
    arguments = worlds_parser(module, description, sets=sets).parse_args(argv)
    print_worlds(worlds, simulated, arguments)
    return 0
