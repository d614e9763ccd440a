"""Flags of `t2ibench push` and `t2ibench export-tasks`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_EXAMPLES = """examples:
  t2ibench push runs/toy --to wandb:my-project
  t2ibench push runs/toy --to mlflow --log-args uri=http://127.0.0.1:5000,project=bias
  t2ibench push runs/toy --to hf-dataset:my-org/results
  t2ibench push runs/sdxl --to hf-model:my-org/my-model --log-args dataset=my-org/t2ibench

`t2ibench ls destinations` lists them; --log-to of `t2ibench run` does the same after a run.
"""


def add_push(verbs: Any, handler: Callable[..., Any]) -> None:
    """Add the verbs `push` and `export-tasks`."""
    import argparse

    push = verbs.add_parser(
        "push",
        help="upload a run's results to the Hugging Face hub, wandb, mlflow or trackio",
        description="Send the results of a run to trackers, to a dataset of the hub, or to the "
        "page of a model there. Images are not sent, except those that report.html shows.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    push.add_argument("run", metavar="RUN", help="a run folder, such as runs/toy")
    push.add_argument(
        "--to",
        dest="destinations",
        metavar="D,…",
        required=True,
        help="wandb, mlflow, trackio, hf-dataset:OWNER/NAME, hf-model:OWNER/NAME, or a plug-in's",
    )
    push.add_argument(
        "--log-args", metavar="k=v,…", action="append", help="of the destinations: project=…"
    )
    push.set_defaults(handler=handler("push"))
    export = verbs.add_parser(
        "export-tasks",
        help="write the tasks, without a run, as a data set with Croissant metadata",
        description="Write the prompts, stimuli and groups of tasks as JSON Lines, with their task "
        "files, Croissant metadata and a card, ready for a dataset repository of the hub.",
    )
    export.add_argument("output", metavar="DIR", help="a new or empty folder")
    export.add_argument("--tasks", metavar="T,…", default="all", help="see t2ibench ls (all)")
    export.add_argument("--include-path", metavar="DIR", action="append", help="further tasks")
    export.set_defaults(handler=handler("export_tasks"))
