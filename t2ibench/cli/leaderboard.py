"""`t2ibench leaderboard add|verify|build`: submit runs, verify submissions, build the site."""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import add_flag, day, not_negative, positive
from t2ibench.errors import T2IBenchError, first_line, shown, shown_path
from t2ibench.store.user_paths import expanded, matching

if TYPE_CHECKING:
    from t2ibench.apps.leaderboard.regenerate import Verdict
    from t2ibench.apps.leaderboard.submission import Card
    from t2ibench.apps.leaderboard.verdicts import Verifier


_HOME = "leaderboard/submissions"


def add(verbs: Any) -> None:
    """Add the command `leaderboard` and its flags to the command line."""
    board = verbs.add_parser(
        "leaderboard",
        description="A submission is one folder: results, and the evidence that every "
        "score is recomputed from, without images.",
    )
    actions = board.add_subparsers(metavar="ACTION", required=True)

    def action(name: str, handler: Any, text: str, more: str) -> Any:
        added = actions.add_parser(
            name, help=text, description=f"{text.capitalize()}. {more}"
        )
        added.set_defaults(handler=handler)
        return added

    of = action(
        "add",
        submit,
        "pack a run and check it",
        "The run is packed without images, and its scores are recomputed from what was packed. A "
        "run that the leaderboard would refuse leaves nothing behind.",
    )
    add_flag(of, "run RUN", "read this run folder, such as runs/toy (required)")
    to = f"write the submission into a sub-folder of this folder (default: {_HOME})"
    add_flag(of, "--to DIR", to, default=_HOME)
    add_flag(
        of,
        "--name NAME",
        "name the model on the leaderboard (default: its name in the run)",
    )
    plan = "add this plan of `t2ibench plan`, by which the run was made (default: none)"
    add_flag(of, "--plan FILE", plan)
    card = of.add_argument_group("the model's card", "shown as stated by the submitter")
    add_flag(
        card,
        "--licence NAME",
        "state the licence of the weights, such as apache-2.0 (default: none)",
    )
    add_flag(
        card,
        "--parameters N",
        "state the number of parameters, such as 0.9B (default: none)",
    )
    add_flag(
        card,
        "--released DATE",
        "state when the model came out: 2026-05-01, 2026-05 or 2026 (default: none)",
    )
    add_flag(card, "--submitter NAME", "name the submitter (default: none)")
    add_flag(
        card,
        "--pictures LICENCE",
        "show small pictures of up to 24 images, which a rule chooses, and state the licence "
        "under which anybody may show them, such as CC0-1.0 (default: none)",
    )
    add_flag(
        card, "--submitted DATE", "state the date of the submission (default: none)"
    )
    add_flag(card, "--url URL", "link a page about the model (default: none)")
    weights = "state whether the weights are open or hosted only (default: none)"
    add_flag(card, "--weights", weights, choices=("open", "hosted"))
    says = "Says reproduced, partly reproduced, recomputed or refused, and why."
    of = action("verify", check, "recompute every score of submissions", says)
    add_flag(
        of,
        "folders DIR",
        f"verify these submissions or folders of them (default: {_HOME})",
        nargs="*",
    )
    seed = (
        "regenerate the same images as an earlier check that printed this "
        "seed (default: random)"
    )
    add_flag(of, "--seed N", seed, type=not_negative)
    _add_checks(of)
    left_out = (
        "One that is refused is left out, and one without evidence is not ranked."
    )
    of = action(
        "build", build, "verify every submission and write the static site", left_out
    )
    add_flag(
        of,
        "folder DIR",
        f"read submissions from this folder (default: {_HOME})",
        nargs="?",
    )
    add_flag(
        of,
        "--output DIR",
        "write the site into this folder (default: site)",
        default="site",
    )
    add_flag(
        of, "--date DATE", "state the date of the update (default: today)", type=day
    )
    add_flag(
        of,
        "--submissions DIR",
        "read submissions from this folder; the same as DIR (default: "
        "leaderboard/submissions)",
    )
    _add_checks(of)


def _add_checks(action: Any) -> None:
    """Add the flags of verification to a command."""
    draw = (
        "regenerate N images of each submission, embed them and all "
        "texts, and ask the judges (default: 0)"
    )
    add_flag(action, "--draw N", draw, type=not_negative, default=0)
    add_flag(
        action,
        "--minutes N",
        "stop verifying a submission after N minutes (default: 60)",
        type=positive,
        default=60,
    )
    add_flag(
        action,
        "--verdicts DIR",
        "keep the results of these checks in DIR and reuse them; choose a folder that no pull "
        "request can write to (default: none)",
    )


def submit(arguments: argparse.Namespace) -> int:
    """Pack a run as a submission, check it, and return the exit status."""
    from t2ibench.apps.leaderboard.board import lookalike_problem, submissions
    from t2ibench.apps.leaderboard.packing import pack
    from t2ibench.apps.leaderboard.submission import read_manifest
    from t2ibench.apps.leaderboard.verify import verify
    from t2ibench.pipeline.progress import ConsoleReporter
    from t2ibench.store.file_errors import disk_errors
    from t2ibench.store.working_folders import working_folder

    reporter = ConsoleReporter()
    card, to = _card(arguments), Path(arguments.to)
    near = next(path for path in (to, *to.absolute().parents) if path.is_dir())
    # A refused run must leave no files behind.
    with working_folder(near) as place:
        packed = pack(
            Path(arguments.run),
            place,
            reporter,
            arguments.name,
            card,
            _plan_of(arguments),
        )
        folder = to / packed.name
        verdict = verify(packed)
        problems = [*verdict.problems]
        if clash := lookalike_problem(
            read_manifest(packed).name, set(submissions(to)) - {folder}
        ):
            problems.append(clash)
        if problems:
            raise T2IBenchError(
                "The leaderboard would refuse this run, so nothing was written into "
                f"{to}: {'; '.join(problems)}."
            )
        with disk_errors(folder):
            _replace_folder(packed, folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    reporter.say(f"{folder}: {size / 1e6:.1f} MB")
    reporter.say(
        f"{verdict.tasks} tasks, {verdict.level}. Open a pull request with this folder."
    )
    return 0


def _replace_folder(new: Path, target: Path) -> None:
    """Put a folder in the place of another, which comes back if that fails.

    Meanwhile the earlier one lies beside it under a name with a dot, which nothing removes before
    the new one is in place.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.earlier")
    if aside.is_dir() and not target.is_dir():
        # An earlier command was killed between the two steps.
        aside.replace(target)
    if not target.is_dir():
        new.replace(target)
        return
    if aside.is_dir():
        shutil.rmtree(aside)
    try:
        target.replace(aside)
        new.replace(target)
    except BaseException as error:
        if aside.is_dir() and not target.exists():
            try:
                aside.replace(target)
            except OSError:
                raise T2IBenchError(
                    f"{target} could not be replaced ({first_line(error)}). The earlier "
                    f"submission is in {aside}.",
                    "Rename it back, or run the command again.",
                ) from error
        raise
    shutil.rmtree(aside)


def _plan_of(arguments: argparse.Namespace) -> Path | None:
    """Return the file of the plan that was given; raise an error if it is not a plan."""
    from t2ibench.decisions.plan import read_plan

    if arguments.plan is None:
        return None
    path = Path(arguments.plan)
    read_plan(path)
    return path


def _card(arguments: argparse.Namespace) -> Card:
    """Return the submitter's statements about the model as a card."""
    from pydantic import ValidationError

    from t2ibench.apps.leaderboard.submission import Card

    given = {name: getattr(arguments, name) for name in Card.model_fields}
    try:
        return Card.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        raise T2IBenchError(
            f"--{first['loc'][0]} {given[str(first['loc'][0])]}: {message}."
        ) from None


def check(arguments: argparse.Namespace) -> int:
    """Verify submissions, print the verdicts, and return the exit status."""
    from t2ibench.apps.leaderboard.board import folder_problems
    from t2ibench.apps.leaderboard.names import visible

    folders: list[Path] = []
    strays: list[str] = []
    for path in map(Path, arguments.folders or [_HOME]):
        manifests = matching(path, "[!.]*/submission.json")
        inside = [manifest.parent for manifest in manifests]
        folders += inside or [path]
        strays += folder_problems(path) if inside else []
    verifier = _verifier(arguments, {folder.parent for folder in folders})
    refused = 0
    for folder in folders:
        verdict = verifier.check(folder, arguments.seed)
        refused += verdict.level == "refused"
        print(f"{visible(str(folder))}: {verdict.level} ({verdict.tasks} tasks)")
        for line in [*verdict.problems, *_verdict_notes(verdict)]:
            print(f"  {line}")
    for line in strays:
        print(line)
    return 1 if refused or strays else 0


def _verdict_notes(verdict: Verdict) -> list[str]:
    """Return a verdict's notes as lines, without its problems."""
    from t2ibench.apps.leaderboard.table import departures

    tasks = verdict.results.tasks if verdict.results else {}
    notes = [f"note: {line}" for line in [*verdict.notes, *departures(tasks)]]
    if verdict.unconfirmed and not verdict.problems:
        notes.append(f"as stated by the submitter: {', '.join(verdict.unconfirmed)}")
    return notes


def _verifier(arguments: argparse.Namespace, roots: Iterable[Path]) -> Verifier:
    from t2ibench.apps.leaderboard.verdicts import Verifier

    home = expanded(arguments.verdicts) if arguments.verdicts else None
    return Verifier(roots, arguments.draw, home, arguments.minutes)


def build(arguments: argparse.Namespace) -> int:
    """Verify all submissions, write the leaderboard's site, and return the exit status."""
    from t2ibench.apps.leaderboard import site
    from t2ibench.apps.leaderboard.board import read_board
    from t2ibench.store.file_errors import disk_errors

    output = Path(arguments.output)
    # Checked first, because verifying the submissions takes a while.
    with disk_errors(output):
        output.mkdir(parents=True, exist_ok=True)
    root = Path(_folder_of_all(arguments))
    tell = functools.partial(print, file=sys.stderr, flush=True)
    board = read_board(root, _verifier(arguments, [root]), tell)
    if not board.entries:
        raise T2IBenchError(
            f"'{shown_path(root)}' holds no submission that could be shown.",
            "Name their folder, as in `t2ibench leaderboard build DIR`; `t2ibench leaderboard add "
            "RUN` makes one.",
        )
    today = datetime.now(timezone.utc).date().isoformat()
    site.build(board, output, arguments.date or today)
    print(f"{len(board.entries)} models: open {Path(arguments.output) / 'index.html'}")
    return 0


def _folder_of_all(arguments: argparse.Namespace) -> str:
    """Return the folder of all submissions, given as an argument or as a flag."""
    given = [
        path for path in (arguments.folder, arguments.submissions) if path is not None
    ]
    if len(set(given)) > 1:
        raise T2IBenchError(
            f"Two folders of submissions are given: {shown(given[0])}, --submissions "
            f"{shown(given[1])}.",
            "Give one.",
        )
    return given[0] if given else _HOME
