"""The flags of `t2ibench leaderboard`."""

from __future__ import annotations

from typing import Any

from t2ibench.cli.values import day, not_negative, positive


def add_leaderboard(verbs: Any, handler: Any) -> None:
    """Add the verb `leaderboard`."""
    board = verbs.add_parser(
        "leaderboard",
        help="submit a run (add), recompute submissions (verify), build the site",
        description="A submission is one folder: results, and the evidence that every "
        "score is recomputed from, without images.",
    )
    actions = board.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser(
        "add",
        help="pack a run and check it",
        description="Pack a run, without images, and recompute its scores from what was packed. "
        "A run that the leaderboard would refuse leaves nothing behind.",
    )
    add.add_argument("run", metavar="RUN", help="a run folder, such as runs/toy")
    add.add_argument(
        "--to",
        metavar="DIR",
        default="leaderboard/submissions",
        help="the folder of all submissions, in which the new one gets a folder of its own "
        "(leaderboard/submissions)",
    )
    add.add_argument(
        "--name", metavar="NAME", help="what the leaderboard calls the model (its own name)"
    )
    add.add_argument(
        "--thumbnails",
        metavar="N",
        type=not_negative,
        default=0,
        help="two thumbnails of each of N prompts, shown beside those of other models (0)",
    )
    _add_card(add)
    add.set_defaults(handler=handler)
    verify = _add_verify(actions, handler)
    _add_shown(actions, handler, verify)
    push = actions.add_parser("push", help="upload a submission to a Hugging Face dataset")
    push.add_argument("folder", metavar="DIR")
    push.add_argument("--repo", metavar="ORG/NAME", required=True, help="a dataset repository")
    push.add_argument("--direct", action="store_true", help="commit, without a pull request")
    push.set_defaults(handler=handler)
    metadata = actions.add_parser(
        "metadata", help="print .eval_results YAML, which the hub shows on a model's page"
    )
    metadata.add_argument("folder", metavar="DIR", help="a submission or a run")
    metadata.add_argument("--dataset", metavar="ORG/NAME", required=True, help="the benchmark's")
    metadata.add_argument("--source", metavar="URL", help="where the submission is")
    metadata.set_defaults(handler=handler)


def _add_card(add: Any) -> None:
    """What a submitter says of the model, and where evidence is put."""
    said = add.add_argument_group("the model's card", "shown as stated by the submitter")
    for flag, metavar, text in (
        ("--licence", "NAME", "of the weights, such as apache-2.0"),
        ("--parameters", "N", "their number, such as 0.9B"),
        ("--released", "DATE", "when the model came out: 2026-05-01, 2026-05 or 2026"),
        ("--submitter", "NAME", "who submits it"),
        ("--submitted", "DATE", "when"),
        ("--url", "URL", "a page about the model"),
    ):
        said.add_argument(flag, metavar=metavar, help=text)
    said.add_argument(
        "--weights", choices=("open", "hosted"), help="open, or hosted on a server alone"
    )
    add.add_argument(
        "--evidence-to",
        metavar="PATH",
        help="put evidence.db there: a file, a folder, or an address that fsspec writes to "
        "(hf://, s3://, gs://); the submission itself stays below 500 kB",
    )
    add.add_argument("--evidence-url", metavar="URL", help="where others read it, if not there")


def _add_verify(actions: Any, handler: Any) -> Any:
    verify = actions.add_parser(
        "verify",
        help="recompute every score of submissions",
        description="Reports reproduced, partly reproduced, recomputed, self-reported or refused, "
        "and why.",
    )
    verify.add_argument("folders", nargs="+", metavar="DIR")
    verify.add_argument(
        "--seed",
        metavar="N",
        type=not_negative,
        help="choose the same images as an earlier check, which said its seed (random)",
    )
    verify.set_defaults(handler=handler)
    return verify


def _add_shown(actions: Any, handler: Any, verify: Any) -> None:
    """What shows submissions, and the flags of all that verify them."""
    build = actions.add_parser(
        "build",
        help="verify every submission and write the static site",
        description="Every submission is verified first; one that is refused is left out, and one "
        "without evidence is not ranked.",
    )
    build.add_argument("--output", metavar="DIR", default="site")
    build.add_argument(
        "--date",
        metavar="DATE",
        type=day,
        help="what the pages say they were last updated on (today, or SOURCE_DATE_EPOCH)",
    )
    table = actions.add_parser(
        "table", help="verify every submission and print the table, for papers and READMEs"
    )
    table.add_argument("--format", metavar="F", default="md", help="md, latex, csv or a plug-in's")
    for action in (build, table):
        action.add_argument(
            "--submissions",
            metavar="DIR",
            default="leaderboard/submissions",
            help="the folder of all submissions (leaderboard/submissions)",
        )
        action.set_defaults(handler=handler)
    for action in (verify, build, table):
        action.add_argument(
            "--draw",
            metavar="N",
            type=not_negative,
            default=0,
            help="generate N images of each again with its model, embed them and all texts, ask "
            "the judges",
        )
        action.add_argument(
            "--minutes",
            metavar="N",
            type=positive,
            default=60,
            help="how long each may take (60)",
        )
        action.add_argument(
            "--local",
            action="store_true",
            help="also read what lies on this machine or in a private network: evidence, and "
            "models by their paths",
        )
        action.add_argument(
            "--verdicts",
            metavar="FILE",
            help="keep verdicts there, and recall those of unchanged submissions; outside of the "
            "checkout, where no pull request can write",
        )
