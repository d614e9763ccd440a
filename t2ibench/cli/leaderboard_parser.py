"""The flags of `t2ibench leaderboard`."""

from __future__ import annotations

from typing import Any


def add_leaderboard(verbs: Any, handler: Any) -> None:
    """Add the verb."""
    board = verbs.add_parser(
        "leaderboard",
        help="pack a run as a submission, verify submissions, build the site",
        description="A submission is one folder: results, samples, and the evidence that every "
        "score is recomputed from, without images.",
    )
    actions = board.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="pack a run")
    add.add_argument("run", metavar="RUN")
    add.add_argument("--to", metavar="DIR", default="leaderboard/submissions")
    add.add_argument("--name", metavar="NAME", help="what the leaderboard calls the model")
    add.set_defaults(handler=handler)
    verify = actions.add_parser(
        "verify",
        help="recompute every score of submissions",
        description="Says reproduced, recomputed, self-reported or refused, and why.",
    )
    verify.add_argument("folders", nargs="+", metavar="DIR")
    verify.add_argument(
        "--draw", metavar="N", type=int, default=0, help="draw N images again with the model"
    )
    verify.set_defaults(handler=handler)
    verify.add_argument(
        "--remember", action="store_true", help="write the verdicts beside the submissions"
    )
    build = actions.add_parser("build", help="write the static site")
    build.add_argument("--output", metavar="DIR", default="site")
    table = actions.add_parser("table", help="print the table, for papers and READMEs")
    table.add_argument("--format", choices=["md", "latex", "csv"], default="md")
    for action in (build, table):
        action.add_argument("--submissions", metavar="DIR", default="leaderboard/submissions")
        action.set_defaults(handler=handler)
