"""Flags of `t2ibench reproduce`, and `--preset` of `run`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

_EXAMPLES = """examples:
  t2ibench reproduce {first}                        the paper's own model and settings
  t2ibench reproduce {first} --model sdxl --table 1
  t2ibench reproduce all --model toy --scale .2     every table and figure, small, without network
  t2ibench reproduce {first} --run runs/sdxl        tables of a run that is done

Flags that are given win over the paper's settings, and the page says what differs. Running the
same command again resumes.
exit status: 0 done; 1 wrong input; 3 finished, but an exhibit lacks numbers; 130 interrupted
"""


def add_preset(group: Any) -> None:
    """Add --preset to the flags of `run`."""
    group.add_argument(
        "--preset",
        metavar="PAPER",
        help="a paper's model settings, encoders, judge and tasks; flags win (t2ibench ls papers)",
    )


def add_reproduce(
    verbs: Any, handler: Callable[..., Any], add_settings: Callable[[Any], object]
) -> None:
    """Add the verb `reproduce`."""
    verb = verbs.add_parser(
        "reproduce",
        help="a paper's tables and figures, its numbers beside yours",
        description="Run a paper's tests with its settings, and write its tables and figures: "
        "published, ours, the difference, and what differs. They go into the run folder, below "
        "reproduce/.",
        epilog=_EXAMPLES.format(first="PAPER"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verb.add_argument("paper", metavar="PAPER", help="see t2ibench ls papers; or all")
    verb.add_argument("--table", metavar="N", action="append", help="only this table; repeatable")
    verb.add_argument("--figure", metavar="N", action="append", help="only this figure; repeatable")
    verb.add_argument("--run", metavar="RUN", help="a run that is done; nothing is generated")
    add_settings(verb)
    verb.set_defaults(handler=handler("reproduce"))
