"""`t2ibench leaderboard …`."""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from t2ibench.apps.leaderboard.board import Board
    from t2ibench.apps.leaderboard.submission import Card
    from t2ibench.apps.leaderboard.verdicts import Verifier


def add(arguments: argparse.Namespace) -> int:
    """Pack a run as a submission and check it."""
    from t2ibench.apps.leaderboard.packing import pack
    from t2ibench.apps.leaderboard.remote import send
    from t2ibench.apps.leaderboard.verify import verify
    from t2ibench.errors import T2IBenchError
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    if arguments.evidence_url and not arguments.evidence_to:
        raise T2IBenchError(
            "--evidence-url says where the file of --evidence-to is read.", "Give both."
        )
    card = _card(arguments)
    name = _name(Path(arguments.run), Path(arguments.to), arguments.name)
    to = Path(arguments.to)
    near = next(path for path in (to, *to.absolute().parents) if path.is_dir())
    # What is refused leaves nothing behind.
    with tempfile.TemporaryDirectory(prefix=".adding-", dir=near) as place:
        packed = pack(Path(arguments.run), Path(place), reporter, name, arguments.thumbnails, card)
        verdict = verify(packed)  # before anything leaves the folder
        for line in verdict.problems:
            reporter.warn(line)
        if verdict.problems:
            raise T2IBenchError(
                f"The leaderboard would refuse this run, so nothing was written into {to}."
            )
        if arguments.evidence_to:
            home = to / packed.name
            sent = send(packed, arguments.evidence_to, arguments.evidence_url, home)
            reporter.say(f"evidence: {sent.bytes / 1e6:.1f} MB, read from {sent.url}")
        folder = to / packed.name
        to.mkdir(parents=True, exist_ok=True)
        if folder.is_dir():
            shutil.rmtree(folder)
        packed.replace(folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    reporter.say(f"{folder}: {size / 1e6:.1f} MB")
    reporter.say(f"{verdict.tasks} tasks, {verdict.level}. Open a pull request with this folder.")
    return 0


def _card(arguments: argparse.Namespace) -> Card:
    """What the submitter says of the model."""
    from pydantic import ValidationError

    from t2ibench.apps.leaderboard.submission import Card
    from t2ibench.errors import T2IBenchError

    given = {name: getattr(arguments, name) for name in Card.model_fields}
    try:
        return Card.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        said = first["msg"].removeprefix("Value error, ")
        raise T2IBenchError(f"--{first['loc'][0]} {given[str(first['loc'][0])]}: {said}.") from None


def _name(run: Path, to: Path, wanted: str | None) -> str | None:
    """What the leaderboard calls a run's model; before anything is packed."""
    from t2ibench.apps.leaderboard import names
    from t2ibench.apps.leaderboard.board import submissions, twins
    from t2ibench.errors import T2IBenchError
    from t2ibench.results.run import open_run

    record = open_run(run).record
    generator, wanted = record.generator, wanted or record.settings.name
    if generator is None:
        return wanted  # packing says why it cannot be
    name = names.normalise(wanted) if wanted is not None else generator.name
    problem = next(names.problems(name, generator.model), None)
    if problem is None:
        others = [one for one in submissions(to) if generator.fingerprint[:8] not in one.name]
        problem = twins(name, others)
    if problem:
        raise T2IBenchError(f"{problem[0].upper()}{problem[1:]}.", "Give another one with --name.")
    return name if wanted is not None else None


def check(arguments: argparse.Namespace) -> int:
    """Verify submissions."""
    from t2ibench.apps.leaderboard.board import folder_problems
    from t2ibench.apps.leaderboard.names import visible
    from t2ibench.apps.leaderboard.table import asked_images, departures

    folders: list[Path] = []
    strays: list[str] = []
    for path in map(Path, arguments.folders):
        inside = sorted(manifest.parent for manifest in path.glob("*/submission.json"))
        folders += inside or [path]
        strays += folder_problems(path) if inside else []
    verifier = _verifier(arguments, {folder.parent for folder in folders})
    refused, asked = 0, asked_images()
    for folder in folders:
        verdict = verifier.check(folder, arguments.seed)
        refused += verdict.level == "refused"
        print(f"{visible(str(folder))}: {verdict.level} ({verdict.tasks} tasks)")
        tasks = verdict.results.tasks if verdict.results else {}
        notes = [f"note: {line}" for line in [*verdict.notes, *departures(tasks, asked)]]
        if verdict.stated and not verdict.problems:
            notes.append(f"as stated by the submitter: {', '.join(verdict.stated)}")
        for line in [*verdict.problems, *notes]:
            print(f"  {line}")
    for line in strays:
        print(line)
    return 1 if refused or strays else 0


def _verifier(arguments: argparse.Namespace, roots: Iterable[Path]) -> Verifier:
    from t2ibench.apps.leaderboard.verdicts import Verifier

    home = Path(arguments.verdicts).expanduser() if arguments.verdicts else None
    return Verifier(roots, arguments.draw, home, arguments.minutes, arguments.local)


def build(arguments: argparse.Namespace) -> int:
    """Write the site."""
    from t2ibench.apps.leaderboard import site
    from t2ibench.store.file_errors import disk_errors

    output = Path(arguments.output)
    with disk_errors(output):  # before the submissions are verified, which takes a while
        output.mkdir(parents=True, exist_ok=True)
    board = _board(arguments)
    site.build(board, output, arguments.date or _today())
    print(f"{len(board.entries)} models: open {Path(arguments.output) / 'index.html'}")
    return 0


def _today() -> str:
    """Today, or the date of SOURCE_DATE_EPOCH, which makes builds reproducible."""
    import os
    from datetime import datetime, timezone

    from t2ibench.errors import T2IBenchError

    given = os.environ.get("SOURCE_DATE_EPOCH")
    if not given:
        return datetime.now(timezone.utc).date().isoformat()
    try:
        return datetime.fromtimestamp(int(given), timezone.utc).date().isoformat()
    except (ValueError, OverflowError, OSError):
        raise T2IBenchError(
            f"SOURCE_DATE_EPOCH={given[:40]} is no number of seconds.", "Unset it, or give --date."
        ) from None


def table(arguments: argparse.Namespace) -> int:
    """Print the families by model."""
    from t2ibench.apps.leaderboard import exports
    from t2ibench.reports.writers import WRITERS

    WRITERS.get(arguments.format)  # before any file is read
    print(exports.table(_board(arguments), arguments.format), end="")
    return 0


def _board(arguments: argparse.Namespace) -> Board:
    """All submissions, verified here and now."""
    from t2ibench.apps.leaderboard.board import read_board
    from t2ibench.errors import T2IBenchError

    root = Path(arguments.submissions)
    tell = functools.partial(print, file=sys.stderr, flush=True)
    board = read_board(root, _verifier(arguments, [root]), tell)
    if not board.entries:
        raise T2IBenchError(
            f"'{root}' holds no submission that could be shown.",
            "Name their folder with --submissions; `t2ibench leaderboard add RUN` makes one.",
        )
    return board


def run(arguments: argparse.Namespace) -> int:
    """Run one action of `t2ibench leaderboard`."""
    actions = {"add": add, "verify": check, "build": build, "table": table}
    return actions[arguments.action](arguments)
