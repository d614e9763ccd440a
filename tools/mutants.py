"""Mutation score of the formulas: how many planted mistakes the tests notice.

`python tools/mutants.py stats --sample 100 --seed 1` copies the checkout, lets mutmut plant
mistakes in every function of `t2ibench/stats`, draws some of those that change a formula (an
operator of arithmetic, a comparison, a number, `and`, `or`, `not`, `in`, True or False), and
runs the tests that call the function each is in. It prints the share that a test notices, with
a 95 % interval of the draw (Wilson), and every mistake that none notices. Mistakes in words
and missing arguments, which mutmut plants too, are not drawn: they end in an error at once and
would flatter the score. A mistake with which the tests do not end counts as noticed, and the
score says how many of those there are. When the time is over, the score is of what has been
tried by then; where nothing has been tried, it is an error.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.util
import io
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIED = (
    "t2ibench",
    "tasks",
    "tests",
    "tools",
    "docs",
    "README.md",
    "CONTRIBUTING.md",
    "pyproject.toml",
)
# The tests of each room; of these, mutmut runs those that call the function it changes.
TESTS = {
    "stats": ("tests/stats",),
    "methods/core": ("tests/methods",),
}
# mutmut names the original of a function, and its mutants by their number.
MARK = "__mutmut_"
WORDS = {"and", "or", "not", "in", "is", "True", "False"}
# The exit statuses that mutmut writes down for a mutant. Any other one is a failing test.
SURVIVED = {0}
UNTESTED = {5, 33}
# The tests were still running when their time was over: SIGXCPU, or SIGKILL after it.
ENDLESS = {-24, 24, 36, 152, 255, -9}
# What mutmut prints when it has made its preparations and tries the first mutant.
FIRST_MUTANT = "Running mutation testing"
# Minutes that the preparations may take: planting, and the tests without a mistake.
PREPARATION = 30.0
# Seconds that mutmut has to end its workers before they are killed.
GRACE = 10.0


@dataclass(frozen=True)
class Mutant:
    """A planted mistake.

    Attributes:
        name: the name mutmut gives it.
        change: the line before and the line after.
    """

    name: str
    change: str


def main() -> None:
    """Print the score of a room and the mistakes that no test notices."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "room", choices=sorted(TESTS), help="room whose code is changed"
    )
    parser.add_argument(
        "--sample", type=int, default=100, help="mistakes to draw (default: 100)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="seed of the draw (default: 1)"
    )
    parser.add_argument(
        "--workers", type=int, default=2, help="tests at a time (default: 2)"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=7.0,
        help="stop after so many minutes (default: 7)",
    )
    settings = parser.parse_args()
    if importlib.util.find_spec("mutmut") is None:
        sys.exit('mutmut is not installed: pip install "mutmut>=3.8,<4"')
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        copy_checkout(copy, settings.room)
        plant(copy)
        mutants = formula_mutants(copy / "mutants" / "t2ibench" / settings.room, copy)
        if not mutants:
            sys.exit(f"{settings.room}: mutmut has planted no mistake in a formula")
        n_drawn = min(settings.sample, len(mutants))
        drawn = random.Random(settings.seed).sample(mutants, n_drawn)
        names = [mutant.name for mutant in drawn]
        printed = run_mutmut(
            copy,
            ["--max-children", str(settings.workers), *names],
            minutes=settings.minutes,
        )
        statuses = exit_statuses(copy)
    if not tried(drawn, statuses):
        sys.exit(f"{settings.room}: no mutant was tried\n{printed[-4000:]}")
    print(report(settings.room, len(mutants), drawn, statuses))


def copy_checkout(copy: Path, room: str) -> None:
    """Copy what the tests need, with mutmut's settings for a room."""
    copy.mkdir()
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source,
                copy / name,
                ignore=shutil.ignore_patterns("__pycache__", "node_modules"),
            )
        else:
            shutil.copy2(source, copy / name)
    settings = {
        "source_paths": ["t2ibench"],
        "only_mutate": [f"t2ibench/{room}/*.py"],
        "also_copy": [name for name in COPIED if name != "t2ibench"],
        "pytest_add_cli_args": ["-n", "0", "-m", "not slow and not browser"],
        "pytest_add_cli_args_test_selection": list(TESTS[room]),
    }
    # A list of strings reads the same in JSON and in TOML.
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items()]
    with (copy / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write("\n[tool.mutmut]\nuse_git_change_detection = false\n")
        # A mutant may loop: it is stopped after four times the tests' own time, and 20 seconds,
        # so that other work on the machine does not make a mistake look noticed.
        project.write("timeout_multiplier = 4.0\ntimeout_constant = 5.0\n")
        project.write("\n".join(lines) + "\n")


def run_mutmut(copy: Path, arguments: list[str], minutes: float) -> str:
    """Run mutmut in the copy; return what it prints, also where it is stopped.

    Args:
        copy: The copy of the checkout.
        arguments: Of `mutmut run`.
        minutes: Time for the mutants. The preparations before the first have their own.
    """
    paths = [str(copy), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYTHONUNBUFFERED": "1",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    log = copy / "mutmut.log"
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "mutmut", "run", *arguments],
            cwd=copy,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            wait_for(process, log, minutes)
        finally:
            end(process)
    return log.read_text(encoding="utf-8", errors="replace")


def wait_for(process: subprocess.Popen[bytes], log: Path, minutes: float) -> None:
    """Wait until mutmut has ended, or its time is over."""
    deadline = time.monotonic() + 60 * PREPARATION
    has_begun = False
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.2)
        if not has_begun:
            has_begun = FIRST_MUTANT in log.read_text(errors="replace")
            if has_begun:
                deadline = time.monotonic() + 60 * minutes


def end(process: subprocess.Popen[bytes]) -> None:
    """End mutmut and all that it has started."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            print("mutmut does not stop by itself, and is killed", file=sys.stderr)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        # Nothing of it is left.
        return
    process.wait()


def plant(copy: Path) -> None:
    """Write the mutants and find out which tests call which function.

    mutmut has no command for these two steps alone: asked for a mutant that does not exist, it
    stops after them.
    """
    printed = run_mutmut(copy, ["no-such-mutant"], minutes=0.0)
    if not (copy / "mutants" / "mutmut-stats.json").exists():
        sys.exit(f"mutmut has not run the tests:\n{printed[-4000:]}")


def formula_mutants(folder: Path, copy: Path) -> list[Mutant]:
    """Return the mutants that change a formula, in the order of files and functions."""
    mutants = []
    for path in sorted(folder.glob("*.py")):
        module = ".".join(path.relative_to(copy / "mutants").with_suffix("").parts)
        functions = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.FunctionDef) and MARK in node.name
        ]
        originals = {
            node.name.split(MARK)[0]: body_of(node)
            for node in functions
            if node.name.endswith(f"{MARK}orig")
        }
        for node in functions:
            stem, _, number = node.name.rpartition(MARK)
            if number.isdigit() and (
                change := formula_change(originals[stem], body_of(node))
            ):
                mutants.append(Mutant(name=f"{module}.{node.name}", change=change))
    return mutants


def body_of(function: ast.FunctionDef) -> list[str]:
    """Return the lines of a function without its name and decorators."""
    statements = ast.Module(body=function.body, type_ignores=[])
    return [ast.unparse(function.args), *ast.unparse(statements).splitlines()]


def formula_change(before: list[str], after: list[str]) -> str:
    """Return the changed line before and after if a formula has changed, else an empty text."""
    changed = [
        line
        for line in difflib.unified_diff(before, after, n=0, lineterm="")
        if line[0] in "+-" and line[:3] not in {"+++", "---"}
    ]
    removed = " ".join(line[1:].strip() for line in changed if line[0] == "-")
    added = " ".join(line[1:].strip() for line in changed if line[0] == "+")
    old, new = tokens_of(removed), tokens_of(added)
    comparison = difflib.SequenceMatcher(a=old, b=new, autojunk=False)
    differences = [
        token
        for kind, i, j, k, m in comparison.get_opcodes()
        if kind != "equal"
        for token in old[i:j] + new[k:m]
    ]
    parts = {token for token in differences if token not in "()"}
    # A comma goes with an argument that is missing.
    if parts and "," not in parts and all(is_of_a_formula(token) for token in parts):
        return f"- {removed}\n  + {added}"
    return ""


def tokens_of(line: str) -> list[str]:
    """Return the words, numbers and signs of a line of Python."""
    try:
        return [
            token.string
            for token in tokenize.generate_tokens(io.StringIO(line).readline)
        ]
    except (tokenize.TokenError, SyntaxError):
        return line.split()


def is_of_a_formula(token: str) -> bool:
    """Whether a token is a number, an operator, or a word of logic."""
    return (
        token in WORDS
        or token[:1].isdigit()
        or not (token[:1].isalpha() or token[:1] in "_\"'")
    )


def exit_statuses(copy: Path) -> dict[str, int | None]:
    """Return mutmut's exit status of each mutant; None for one that was not run."""
    statuses: dict[str, int | None] = {}
    for path in (copy / "mutants").rglob("*.meta"):
        try:
            written = json.loads(path.read_text(encoding="utf-8"))
        except json.JSONDecodeError:
            # mutmut was killed while it wrote; these mutants count as not tried.
            print(f"{path.name} is damaged", file=sys.stderr)
            continue
        statuses |= written["exit_code_by_key"]
    return statuses


def tried(drawn: list[Mutant], statuses: dict[str, int | None]) -> list[Mutant]:
    """Return the mutants that the tests were run with, or that no test calls."""
    return [mutant for mutant in drawn if statuses.get(mutant.name) is not None]


def report(
    room: str, number: int, drawn: list[Mutant], statuses: dict[str, int | None]
) -> str:
    """Return the score with its interval, and each mistake that no test notices.

    Args:
        room: Room whose code is changed.
        number: How many mutants of formulas there are.
        drawn: Those that were drawn; at least one of them was tried.
        statuses: mutmut's exit statuses.
    """
    finished = tried(drawn, statuses)
    missed = []
    endless = 0
    for mutant in finished:
        status = statuses[mutant.name]
        if status in SURVIVED | UNTESTED:
            missed.append(mutant)
        endless += status in ENDLESS
    noticed = len(finished) - len(missed)
    low, high = wilson(noticed, len(finished))
    lines = [
        f"{room}: {noticed / len(finished):.1%} of {len(finished)} mutants noticed"
        f" (95 % interval of the draw {low:.0%} to {high:.0%}), {endless} of them because"
        f" the tests did not end; {number} mutants of formulas, {len(drawn)} drawn,"
        f" {len(drawn) - len(finished)} not tried"
    ]
    for mutant in missed:
        reason = "survives"
        if statuses[mutant.name] in UNTESTED:
            reason = "not called by a test"
        lines.append(f"{mutant.name}: {reason}\n  {mutant.change}")
    return "\n".join(lines)


def wilson(noticed: int, number: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share."""
    z = 1.959964
    share = noticed / number
    centre = (share + z**2 / (2 * number)) / (1 + z**2 / number)
    half_width = (
        z
        / (1 + z**2 / number)
        * math.sqrt(share * (1 - share) / number + z**2 / (4 * number**2))
    )
    return centre - half_width, centre + half_width


if __name__ == "__main__":
    main()
