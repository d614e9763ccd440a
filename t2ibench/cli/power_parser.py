"""The flags of `t2ibench power`."""

from __future__ import annotations

import argparse
from typing import Any

from t2ibench.cli.values import share

_EXAMPLES = """examples:
  t2ibench power runs/sdxl --tasks t2iat_flowers_insects --effect .2 --width .2
  t2ibench power runs/sdxl --question prompt_population    would other prompts show it?
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
        epilog=_EXAMPLES,
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
        choices=["fixed_prompts", "prompt_population"],
        help="about these prompts or prompts like these (by default the task's)",
    )
    power.add_argument(
        "--level", metavar="L", type=share, help="of intervals, without a run (0.95)"
    )
    power.set_defaults(handler=handler)
