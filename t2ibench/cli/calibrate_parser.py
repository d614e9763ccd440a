"""The flags of `t2ibench calibrate` and `t2ibench power`."""

from __future__ import annotations

import argparse
from typing import Any

from t2ibench.cli.values import not_negative, positive

_CALIBRATE_EXAMPLES = """examples:
  t2ibench calibrate --quick                               a few cells of every method
  t2ibench calibrate --family openbias --sets 500          one method
  t2ibench calibrate --toyland                             toyland's own images; slow
  t2ibench calibrate --output docs/calibration.md          the full table

exit status: 0 every cell holds; 1 a cell is outside of its bands, or wrong input
"""


def add_calibrate(verbs: Any, handler: Any) -> None:
    """Add the verb `calibrate`.

    Args:
        verbs: Where verbs are added.
        handler: What it calls.
    """
    calibrate = verbs.add_parser(
        "calibrate",
        help="simulate worlds of known bias: do intervals, tests and headlines hold?",
        description="Score simulated worlds of known bias with every method, and check how often "
        "tests reject without bias, how often intervals cover the truth, and that the headline "
        "is unbiased at any number of images. The same seed gives the same table.",
        epilog=_CALIBRATE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    calibrate.add_argument("--quick", action="store_true", help="a few cells, few data sets each")
    calibrate.add_argument(
        "--toyland", action="store_true", help="the cells on toyland's own images, which are slow"
    )
    calibrate.add_argument(
        "--family", metavar="M,…", default="", help="methods (see t2ibench ls methods)"
    )
    calibrate.add_argument(
        "--cell", metavar="TEXT", default="", help="only cells whose name contains this"
    )
    calibrate.add_argument(
        "--sets", metavar="N", type=positive, help="data sets of a cell (2000; quick: 150)"
    )
    calibrate.add_argument(
        "--workers", metavar="N", type=positive, help="processes (as many as cores)"
    )
    calibrate.add_argument(
        "--seed", metavar="N", type=not_negative, default=0, help="of the worlds (0)"
    )
    calibrate.add_argument("--output", metavar="FILE", help="write the table as Markdown")
    calibrate.add_argument("--json", action="store_true", help="print it as JSON")
    calibrate.set_defaults(handler=handler)
