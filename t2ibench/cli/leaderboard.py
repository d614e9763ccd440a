"""`t2ibench leaderboard add|verify`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add(arguments: argparse.Namespace) -> int:
    """Pack a run as a submission and check it."""
    from t2ibench.leaderboard.submission import pack
    from t2ibench.leaderboard.verify import verify
    from t2ibench.pipeline.progress import ConsoleReporter

    reporter = ConsoleReporter()
    folder = pack(Path(arguments.run), Path(arguments.to), reporter, arguments.name)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    reporter.say(f"{folder}: {size / 1e6:.1f} MB")
    verdict = verify(folder)
    for line in verdict.problems:
        reporter.warn(line)
    if verdict.problems:
        reporter.say("The leaderboard would refuse it as it is.")
        return 1
    reporter.say(f"{verdict.tasks} tasks, {verdict.level}. Open a pull request with this folder.")
    return 0


def check(arguments: argparse.Namespace) -> int:
    """Verify submissions."""
    from t2ibench.leaderboard.verify import verify

    folders = []
    for name in arguments.folders:
        path = Path(name)
        inside = sorted(one.parent for one in path.glob("*/submission.json"))
        folders += inside or [path]
    refused = 0
    for folder in folders:
        verdict = verify(folder, arguments.draw)
        refused += verdict.level == "refused"
        print(f"{folder}: {verdict.level} ({verdict.tasks} tasks)")
        for line in verdict.problems:
            print(f"  {line}")
        for line in verdict.notes:
            print(f"  note: {line}")
    return 1 if refused else 0


def run(arguments: argparse.Namespace) -> int:
    """Dispatch."""
    return add(arguments) if arguments.action == "add" else check(arguments)
