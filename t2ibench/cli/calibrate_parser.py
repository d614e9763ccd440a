"""The flags of `t2ibench calibrate` and `t2ibench power`."""

from __future__ import annotations

import argparse
from typing import Any

from t2ibench.cli.values import not_negative, positive, share

_CALIBRATE_EXAMPLES = """examples:
  t2ibench calibrate --quick                               a few cells of every method
  t2ibench calibrate --family openbias --sets 500          one method
  t2ibench calibrate --toyland                             toyland's own images; slow
  t2ibench calibrate --output docs/calibration.md          the full table

exit status: 0 every cell holds; 1 a cell is outside of its bands, or wrong input
"""


def add_calibrate(verbs: Any, handler: Any) -> None:
    """Add the verb `calibrate`."""
    calibrate = verbs.add_parser(
        "calibrate",
        help="simulate known biases: do intervals and tests hold?",
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


_POWER_EXAMPLES = """examples:
  t2ibench power runs/sdxl --tasks t2iat_flowers_insects --effect .2 --width .2
  t2ibench power runs/sdxl --question like_these           would other prompts show it?
  t2ibench power --tasks t2iat,openbias                    before any run, from simulated worlds

The effect is on the scale of the headline: 0 is balanced, 1 all one side; .2 is a mixture of 60 %
and 40 %. The width of an interval is its upper less its lower end.
"""


def add_power(verbs: Any, handler: Any) -> None:
    """Add the verb `power`."""
    power = verbs.add_parser(
        "power",
        help="how many images and prompts a run needs to be precise enough",
        description="How many images and prompts it takes to see an effect, or to have an interval "
        "as narrow as you want: from the variance in a run, or from a simulated world.",
        epilog=_POWER_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    power.add_argument("run", nargs="?", metavar="RUN", help="a run folder: the pilot")
    power.add_argument(
        "--tasks", "--task", metavar="T,…", help="ids, globs, groups (by default all of the run)"
    )
    power.add_argument(
        "--effect", metavar="E", type=share, default=0.2, help="headline to be seen (0.2)"
    )
    power.add_argument("--width", metavar="W", type=share, help="of the interval")
    power.add_argument(
        "--power", metavar="P", type=share, default=0.8, help="how likely it is seen (0.8)"
    )
    power.add_argument(
        "--question",
        choices=["these", "like_these"],
        help="about these prompts or prompts like these (by default the task's)",
    )
    power.add_argument(
        "--level", metavar="L", type=share, help="of intervals, without a run (0.95)"
    )
    power.set_defaults(handler=handler)
