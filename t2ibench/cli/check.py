"""`t2ibench check adapter|judge|agreement`: test what a run will rely on."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli import check_adapter, check_judge
from t2ibench.cli.usage import add_device, add_flag
from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.results.method_agreement import Measure


def add(verbs: Any) -> None:
    """Add the command `check` and its flags to the command line."""
    check = verbs.add_parser(
        "check",
        description="Test what a run will rely on, before it spends hours on it.",
    )
    actions = check.add_subparsers(title="what", metavar="WHAT", required=True)
    action = actions.add_parser(
        "adapter",
        help="test a generator, encoder or judge of your own",
        description="Test a generator, encoder or judge against its contract and print "
        "what it violates, one line each; exit 1 if anything.",
    )
    add_flag(
        action,
        "spec SPEC",
        "test this adapter, given as for --model, --encoder, … (required)",
    )
    add_flag(
        action,
        "--kind",
        "name the kind of the adapter (default: inferred from SPEC)",
        choices=check_adapter.KINDS,
    )
    add_flag(action, "--model-args k=v,…", "set options of the adapter (default: none)")
    add_flag(
        action,
        "--other-args k=v,…",
        "check that these options change the adapter's fingerprint (default: none)",
    )
    add_flag(
        action,
        "--prompt P",
        "try this prompt or text; repeatable (default: built-in ones)",
        action="append",
    )
    add_device(action)
    action.set_defaults(handler=check_adapter.run)
    action = actions.add_parser(
        "judge",
        help="measure a judge's errors on labelled images, and whether to use it",
        description="Ask a judge about images that people have labelled: how often it is right and "
        "how often it abstains, by class and by the groups of other labels, how its errors bias a "
        "share, and a verdict: use, use corrected, do not use.",
    )
    add_flag(action, "spec SPEC", "check this judge, given as for --judge (required)")
    add_flag(
        action,
        "--judge-args k=v,…",
        "set options of the judge (default: none)",
        default="",
    )
    add_flag(
        action,
        "--images DIR",
        "read labelled images from these folders, laid out as those of `run --model folder:DIR` "
        "(required)",
        nargs="+",
        required=True,
    )
    add_flag(
        action,
        "--labels FILE",
        "read human labels from this table in each folder: 'file' and a "
        "column for each attribute (default: people.csv)",
    )
    add_flag(
        action,
        "--columns k=NAME,…",
        "name the columns of the labels by their headings: image=Name (default: common headings)",
        default="",
    )
    add_flag(
        action, "--sheet NAME", "read this sheet of the workbook (default: the first)"
    )
    add_flag(
        action,
        "--output FILE",
        "write the check to FILE, for `run --judge-check FILE` (default: print only)",
    )
    add_flag(
        action,
        "--encoder E",
        "use this encoder for the judge clip (default: t2ibench's)",
    )
    add_device(action)
    action.set_defaults(handler=check_judge.run)
    action = actions.add_parser(
        "agreement",
        help="measure how far methods, encoders, judges and people agree on the same items",
        description="Measure how far two methods agree on an attribute of the same items, such as "
        "the gender of occupations: rank and linear correlations with intervals, corrected for "
        "noise, next to those of other attributes, and the items with the largest differences.",
    )
    add_flag(
        action, "runs RUN", "compare these runs of one model (required)", nargs="+"
    )
    add_flag(
        action,
        "--format F",
        "print md, latex, csv or a plug-in's format (default: md)",
        default="md",
    )
    action.set_defaults(handler=run_agreement)


def run_agreement(arguments: argparse.Namespace) -> int:
    """Print how far methods, encoders, judges or people agree on the same items; return 0."""
    from t2ibench.reports.files import task_files
    from t2ibench.reports.method_agreement import agreement_table
    from t2ibench.reports.writers import WRITERS, render
    from t2ibench.results.files import read_results
    from t2ibench.results.method_agreement import NOTHING, agreements, measures
    from t2ibench.results.paired import read_paired

    WRITERS.get(arguments.format)  # before any file is read
    measured: list[Measure] = []
    models: dict[str | None, Path] = {}
    for path in map(Path, arguments.runs):
        results = read_results(path)
        models.setdefault(results.model.fingerprint, path)
        measured += measures(results, task_files(results, path), read_paired(path))
    if len(models) > 1:
        first, second, *_ = models.values()
        raise T2IBenchError(
            f"{first} and {second} have different images.",
            "Give runs of one model that several methods measured; `t2ibench compare` is for "
            "two models.",
        )
    pairs = agreements(measured)
    print(
        render(arguments.format, agreement_table(pairs)) if pairs else f"{NOTHING}\n",
        end="",
    )
    return 0
