"""Flags of `t2ibench check`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from t2ibench.cli.values import not_negative, positive


def add_check(verbs: Any, handler: Callable[..., Any]) -> None:
    """Add the verb `check`."""
    check = verbs.add_parser(
        "check",
        help="test an adapter of your own, how often a judge is right, or whether methods agree",
        description="Test what a run will rely on, before it spends hours on it.",
    )
    actions = check.add_subparsers(title="what", metavar="WHAT", required=True)
    _add_adapter(actions, handler("check_adapter"))
    _add_judge(actions, handler("check_judge"))
    agreement = actions.add_parser(
        "agreement",
        help="whether methods, encoders, judges and people agree on the same items",
        description="How far two methods agree on an attribute of the same items, such as the "
        "gender of occupations: rank and linear correlations with intervals, without noise, beside "
        "those of other attributes, and the items that they see most differently.",
    )
    agreement.add_argument(
        "runs", metavar="RUN", nargs="+", help="runs of one model, read in several ways"
    )
    agreement.add_argument(
        "--format", metavar="F", default="md", help="md, latex, csv or a plug-in's"
    )
    agreement.set_defaults(handler=handler("check_agreement"))


def _add_adapter(actions: Any, handler: Any) -> None:
    check = actions.add_parser(
        "adapter",
        help="test a generator, encoder, judge or rewriter of your own",
        description="Test a generator, encoder, judge or rewriter against its contract and print "
        "what it violates, one line each; exit 1 if anything.",
    )
    check.add_argument("spec", metavar="SPEC", help="as --model, --encoder, … takes it")
    check.add_argument(
        "--kind",
        choices=["generator", "encoder", "judge", "rewriter"],
        help="by default that of the name",
    )
    check.add_argument("--model-args", metavar="k=v,…", help="its arguments")
    check.add_argument(
        "--other-args", metavar="k=v,…", help="arguments that must change the fingerprint"
    )
    check.add_argument(
        "--prompt", metavar="P", action="append", help="try these prompts or texts; repeatable"
    )
    check.add_argument("--device", metavar="D", help="cuda, mps or cpu")
    check.add_argument("--dtype", metavar="T", help="float32, float16 or bfloat16")
    check.set_defaults(handler=handler)


def _add_judge(actions: Any, handler: Any) -> None:
    check = actions.add_parser(
        "judge",
        help="a judge's errors where people have labelled images, and whether to use it",
        description="Ask a judge about images that people have labelled: how often it is right and "
        "how often it abstains, class by class and by the groups of other labels, what its errors "
        "make of a share, and a verdict: use, use corrected, do not use. Without images of your "
        "own it is asked about drawn ones whose answers are known.",
    )
    check.add_argument("spec", metavar="SPEC", help="as --judge takes it")
    check.add_argument("--judge-args", metavar="k=v,…", default="", help="its arguments")
    check.add_argument(
        "--images", metavar="DIR", nargs="+", help="folders of images, as folder: reads them"
    )
    check.add_argument(
        "--labels",
        metavar="FILE",
        help="people's labels, in each folder: a CSV with 'file' and a column an attribute "
        "(people.csv); without --images, a filled sheet.csv of `t2ibench label export`",
    )
    check.add_argument(
        "--output", metavar="FILE", help="write the check, for `run --judge-check FILE`"
    )
    check.add_argument("--drawn", metavar="N", type=positive, default=40, help="drawn images (40)")
    check.add_argument("--seed", metavar="N", type=not_negative, default=0, help="of the images")
    check.add_argument("--encoder", metavar="E", help="for the judge clip: by default t2ibench's")
    check.add_argument("--device", metavar="D", help="cuda, mps or cpu")
    check.add_argument("--dtype", metavar="T", help="float32, float16 or bfloat16")
    check.set_defaults(handler=handler)
