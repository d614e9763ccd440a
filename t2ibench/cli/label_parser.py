"""Flags of `t2ibench label`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from t2ibench.cli.values import not_negative, positive

_EXAMPLES = """\
examples:
  t2ibench label export runs/sdxl                       200 images a question: a sheet and a page
  t2ibench label import runs/sdxl sheet.csv --labeller anna
  t2ibench score runs/sdxl                              every share, corrected by people's answers
  t2ibench label agree runs/sdxl                        kappa, alpha and F1 of each judge
  t2ibench label correlate ratings.csv --score asc --rating human --by test
"""


def add_label(verbs: Any, handler: Callable[..., Any]) -> None:
    """Add the verb `label`."""
    label = verbs.add_parser(
        "label",
        help="people's answers: export, import, agree (a judge with people), correlate",
        description="Judges err. Export a random sample of images, let people answer about it "
        "without seeing prompt or judge, import their answers: every share is then given "
        "corrected, too.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = label.add_subparsers(title="actions", metavar="ACTION", required=True)
    export = actions.add_parser("export", help="draw a sample; write a sheet and a page")
    export.add_argument("run", metavar="RUN", help="a run folder, such as runs/toy")
    export.add_argument(
        "--images", metavar="N", type=positive, default=200, help="images a question (200)"
    )
    export.add_argument(
        "--question", metavar="Q", action="append", help="only this question; repeatable"
    )
    export.add_argument(
        "--unknown", action="store_true", help="only images that a judge could name no class for"
    )
    export.add_argument("--seed", metavar="N", type=not_negative, default=0, help="of the sample")
    export.add_argument("--output", metavar="DIR", help="by default RUN/labels")
    export.set_defaults(handler=handler("label", "run_export"))
    take = actions.add_parser("import", help="store the answers of a filled sheet with the run")
    take.add_argument("run", metavar="RUN", help="the run that the sheet was exported from")
    take.add_argument("file", metavar="FILE", help="the filled sheet.csv")
    take.add_argument(
        "--labeller", metavar="NAME", default="1", help="who filled it; several may label"
    )
    take.set_defaults(handler=handler("label", "run_import"))
    agree = actions.add_parser("agree", help="how far each judge agrees with people")
    agree.add_argument("run", metavar="RUN", help="a run with imported labels")
    agree.set_defaults(handler=handler("label", "run_agree"))
    correlate = actions.add_parser(
        "correlate",
        help="rank correlation of any score with people's ratings, from one CSV",
        description="Kendall's tau-b between two columns of a CSV, with its interval: does a score "
        "order images as people do?",
    )
    correlate.add_argument("file", metavar="FILE", help="a CSV with a header")
    correlate.add_argument("--score", metavar="COLUMN", required=True, help="the measured score")
    correlate.add_argument("--rating", metavar="COLUMN", required=True, help="people's rating")
    correlate.add_argument("--by", metavar="COLUMN", help="one correlation for each value of it")
    correlate.add_argument("--level", type=float, default=0.95, help="of the interval (0.95)")
    correlate.set_defaults(handler=handler("correlate"))
