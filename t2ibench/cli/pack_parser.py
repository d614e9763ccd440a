"""Flags of `t2ibench pack`, `unpack` and `export`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from t2ibench.cli.values import positive


def add_pack(verbs: Any, handler: Callable[..., Any]) -> None:
    """Add the verbs `pack`, `unpack` and `export`."""
    pack = verbs.add_parser(
        "pack",
        help="put a run's images into a few tar files; everything reads them there",
        description="Put the images of a run into WebDataset shards (images/packs/*.tar), byte for "
        "byte, and remove the files. Everything that reads a run reads a packed one; running "
        "it again packs what has come since.",
    )
    pack.add_argument("run", metavar="RUN", help="a run folder, such as runs/toy")
    pack.add_argument(
        "--size", metavar="MB", type=positive, default=512, help="of a pack, in MiB (512)"
    )
    pack.set_defaults(handler=handler("pack", "run_pack"))
    unpack = verbs.add_parser(
        "unpack",
        help="turn packed images into single files again",
        description="Make a file of each packed image again, and remove the packs.",
    )
    unpack.add_argument("run", metavar="RUN", help="a run folder, such as runs/toy")
    unpack.set_defaults(handler=handler("pack", "run_unpack"))
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
        choices=["imagefolder", "datasets", "geneval"],
        help="imagefolder (files and metadata.jsonl), datasets (Parquet with images), or geneval",
    )
    export.add_argument("--output", metavar="DIR", help="a new folder; by default RUN/export/F")
    export.set_defaults(handler=handler("pack", "run_export"))
