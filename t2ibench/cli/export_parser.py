"""Flags of `t2ibench export`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

_EXAMPLES = """examples:
  t2ibench export runs/toy --format webdataset             images with prompts, for other tools
  t2ibench export runs/toy --to wandb:my-project           results
  t2ibench export runs/toy --to mlflow --log-args uri=http://127.0.0.1:5000,project=bias
  t2ibench export runs/sdxl --to hf-model:my-org/my-model --log-args dataset=my-org/t2ibench
  t2ibench export --tasks all --output my-dataset          tasks, without a run

`t2ibench ls destinations` lists those of --to; `t2ibench run --log-to` sends after a run.
"""


def add_export(verbs: Any, handler: Callable[..., Any]) -> None:
    """Add the verb `export`."""
    export = verbs.add_parser(
        "export",
        help="a run's images as a data set, its results to a tracker or hub, or tasks",
        description="Copy the images of a run with their prompts, as other tools read them; send "
        "its results to trackers, to a data set of the Hugging Face hub or a model's page there; "
        "or write tasks as JSON Lines with Croissant metadata. The run stays as it is.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    export.add_argument("run", nargs="?", metavar="RUN", help="a run folder, such as runs/toy")
    what = export.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--format",
        metavar="F",
        choices=["imagefolder", "datasets", "webdataset", "geneval"],
        help="imagefolder (files and metadata.jsonl), datasets (Parquet with images), webdataset "
        "(tar files), or geneval",
    )
    what.add_argument(
        "--to",
        dest="destinations",
        metavar="D,…",
        help="wandb, mlflow, trackio, hf-dataset:OWNER/NAME, hf-model:OWNER/NAME, or a plug-in's; "
        "no images are sent, except those that report.html shows",
    )
    what.add_argument("--tasks", metavar="T,…", help="tasks instead of a run; see t2ibench ls")
    export.add_argument("--output", metavar="DIR", help="a new folder; by default RUN/export/F")
    export.add_argument("--log-args", metavar="k=v,…", action="append", help="of --to: project=…")
    export.add_argument("--include-path", metavar="DIR", action="append", help="further tasks")
    export.set_defaults(handler=handler("export"))
