"""The flags of `t2ibench leaderboard`."""

from __future__ import annotations

from typing import Any

from t2ibench.cli.values import day, not_negative, positive

_HOME = "leaderboard/submissions"
_Flag = tuple[str, str | None, str, dict[str, Any]]
_RUN: tuple[_Flag, ...] = (
    ("run", "RUN", "a run folder, such as runs/toy", {}),
    ("--to", "DIR", f"the folder of all submissions, where it gets its own ({_HOME})",
     {"default": _HOME}),
    ("--name", "NAME", "what the leaderboard calls the model (its own name)", {}),
    ("--thumbnails", "N", "two thumbnails of each of N prompts, beside other models' (0)",
     {"type": not_negative, "default": 0}),
    ("--evidence-to", "PATH", "put evidence.db there, a file or a folder",
     {}),
    ("--evidence-url", "URL", "where others read it, if not there", {}),
)  # fmt: skip
_CARD: tuple[_Flag, ...] = (
    ("--licence", "NAME", "of the weights, such as apache-2.0", {}),
    ("--parameters", "N", "their number, such as 0.9B", {}),
    ("--released", "DATE", "when the model came out: 2026-05-01, 2026-05 or 2026", {}),
    ("--submitter", "NAME", "who submits it", {}),
    ("--submitted", "DATE", "when", {}),
    ("--url", "URL", "a page about the model", {}),
    ("--weights", None, "open, or hosted on a server alone", {"choices": ("open", "hosted")}),
)
_CHECKED: tuple[_Flag, ...] = (
    ("--draw", "N", "make N images of each again, embed them and all texts, ask the judges (0)",
     {"type": not_negative, "default": 0}),
    ("--minutes", "N", "how long each may take (60)", {"type": positive, "default": 60}),
    ("--local", None, "also read files of this machine and private networks: evidence, models",
     {"action": "store_true"}),
    ("--verdicts", "DIR", "keep verdicts there and recall them; outside of the checkout, where "
     "no pull request can write", {}),
)  # fmt: skip
_VERIFIED: tuple[_Flag, ...] = (
    ("folders", "DIR", "submissions, or folders of them", {"nargs": "+"}),
    ("--seed", "N", "choose the images of an earlier check, which said its seed (random)",
     {"type": not_negative}),
)  # fmt: skip
_SHOWN: tuple[_Flag, ...] = (
    ("--submissions", "DIR", f"the folder of all submissions ({_HOME})", {"default": _HOME}),
)
_BUILT: tuple[_Flag, ...] = (
    ("--output", "DIR", "the site's folder (site)", {"default": "site"}),
    ("--date", "DATE", "when it was last updated (today, or SOURCE_DATE_EPOCH)", {"type": day}),
)
_PRINTED: tuple[_Flag, ...] = (
    ("--format", "F", "md, latex, csv or a plug-in's (md)", {"default": "md"}),
)
# Its flags, a line about it, and what else its own help says.
_ACTIONS = {
    "add": (
        _RUN, "pack a run and check it",
        "The run is packed without images, and its scores are recomputed from what was packed. A "
        "run that the leaderboard would refuse leaves nothing behind.",
    ),
    "verify": (
        (*_VERIFIED, *_CHECKED), "recompute every score of submissions",
        "Says reproduced, partly reproduced, recomputed or refused, and why.",
    ),
    "build": (
        (*_BUILT, *_SHOWN, *_CHECKED), "verify every submission and write the static site",
        "One that is refused is left out, and one without evidence is not ranked.",
    ),
    "table": (
        (*_PRINTED, *_SHOWN, *_CHECKED), "verify every submission and print a table",
        "For papers and READMEs.",
    ),
}  # fmt: skip


def add_leaderboard(verbs: Any, handler: Any) -> None:
    """Add the verb `leaderboard`."""
    board = verbs.add_parser(
        "leaderboard",
        help="submit a run (add), recompute submissions (verify), build the site",
        description="A submission is one folder: results, and the evidence that every "
        "score is recomputed from, without images.",
    )
    actions = board.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (flags, text, more) in _ACTIONS.items():
        action = actions.add_parser(name, help=text, description=f"{text.capitalize()}. {more}")
        _add(action, flags)
        if name == "add":
            title, about = "the model's card", "shown as stated by the submitter"
            _add(action.add_argument_group(title, about), _CARD)
        action.set_defaults(handler=handler)


def _add(parser: Any, flags: tuple[_Flag, ...]) -> None:
    for flag, metavar, text, options in flags:
        named = {} if metavar is None else {"metavar": metavar}
        parser.add_argument(flag, help=text, **named, **options)
