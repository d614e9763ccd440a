"""`t2ibench leaderboard …`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def add(arguments: argparse.Namespace) -> int:
    """Pack a run as a submission and check it.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status: 1 if the leaderboard would refuse the submission.
    """
    from t2ibench.leaderboard.submission import pack
    from t2ibench.leaderboard.verify import verify
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    folder = pack(
        Path(arguments.run), Path(arguments.to), reporter, arguments.name, arguments.thumbnails
    )
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    reporter.say(f"{folder}: {size / 1e6:.1f} MB")
    verdict = verify(folder)
    for line in verdict.problems:
        reporter.warn(line)
    if verdict.problems:
        reporter.say("The leaderboard would refuse it in its current state.")
        return 1
    reporter.say(f"{verdict.tasks} tasks, {verdict.level}. Open a pull request with this folder.")
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Verify submissions.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status: 1 if any submission is refused.
    """
    from t2ibench.leaderboard.verify import verify

    folders = []
    for name in arguments.folders:
        path = Path(name)
        inside = sorted(manifest.parent for manifest in path.glob("*/submission.json"))
        folders += inside or [path]
    refused = 0
    records: dict[Path, dict[str, dict[str, Any]]] = {}
    for folder in folders:
        verdict = verify(folder, arguments.draw, arguments.seed)
        if (folder / "submission.json").is_file():
            records.setdefault(folder.parent, {})[folder.name] = verdict.record()
        refused += verdict.level == "refused"
        name = "".join(letter if letter.isprintable() else "?" for letter in str(folder))
        print(f"{name}: {verdict.level} ({verdict.tasks} tasks)")
        for line in verdict.problems:
            print(f"  {line}")
        for line in verdict.notes:
            print(f"  note: {line}")
        if verdict.stated and not verdict.problems:
            print(f"  as stated by the submitter: {', '.join(verdict.stated)}")
    if arguments.remember:
        from t2ibench.leaderboard.table import save_verdicts

        for root, verdicts in records.items():
            save_verdicts(root, verdicts)
    return 1 if refused else 0


def build(arguments: argparse.Namespace) -> int:
    """Write the site.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status.
    """
    from t2ibench.leaderboard import site

    entries = _entries(Path(arguments.submissions))
    site.build(entries, Path(arguments.output))
    print(f"{len(entries)} models: open {Path(arguments.output) / 'index.html'}")
    return 0


def table(arguments: argparse.Namespace) -> int:
    """Print the families by model.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status.
    """
    from t2ibench.leaderboard import site
    from t2ibench.reports.writers import WRITERS

    WRITERS.get(arguments.format)  # before any file is read
    print(site.table(_entries(Path(arguments.submissions)), arguments.format), end="")
    return 0


def push(arguments: argparse.Namespace) -> int:
    """Upload a submission.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status.
    """
    from t2ibench.leaderboard import hub

    print(hub.push(Path(arguments.folder), arguments.repo, direct=arguments.direct))
    return 0


def metadata(arguments: argparse.Namespace) -> int:
    """Print the headlines for the hub's page of a model.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status.
    """
    from t2ibench.leaderboard import hub

    print(hub.metadata(Path(arguments.folder), arguments.dataset, arguments.source), end="")
    return 0


def _entries(root: Path) -> list[Any]:
    from t2ibench.errors import T2IBenchError
    from t2ibench.leaderboard.table import read_entries

    entries = read_entries(root)
    if not entries:
        raise T2IBenchError(
            f"'{root}' holds no submission.",
            "Name their folder with --submissions; `t2ibench leaderboard add RUN` makes one.",
        )
    return entries


def run(arguments: argparse.Namespace) -> int:
    """Run one action of `t2ibench leaderboard`.

    Args:
        arguments: What argparse read.

    Returns:
        The exit status.
    """
    actions = {
        "add": add,
        "verify": check,
        "build": build,
        "table": table,
        "push": push,
        "metadata": metadata,
    }
    return actions[arguments.action](arguments)
