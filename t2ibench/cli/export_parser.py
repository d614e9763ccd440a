"""Flags of `t2ibench export`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def add_export(verbs: Any, handler: Callable[..., Any]) -> None:
    """Add the verb `export`."""
    export = verbs.add_parser(
        "export",
        help="copy a run's images and prompts into a data set, for other tools",
        description="Write the images of a run with their prompts, as other tools read them. "
        "The run stays as it is.",
    )
    export.add_argument("run", metavar="RUN", help="a run folder, such as runs/toy")
    export.add_argument(
        "--format",
        metavar="F",
        required=True,
        choices=["imagefolder", "datasets", "webdataset", "geneval"],
        help="imagefolder (files and metadata.jsonl), datasets (Parquet with images), webdataset "
        "(tar files), or geneval",
    )
    export.add_argument("--output", metavar="DIR", help="a new folder; by default RUN/export/F")
    export.set_defaults(handler=handler("export"))
