"""Every figure that t2ibench's pages give about real images, from a folder of them.

    python benchmarks/real_images.py DIR

DIR holds a folder of images a model and kind of prompt, such as `sdxl-turbo-baseline`, each with a
`prompts.csv` (what the images were asked for) and a `people.csv` (what people saw). A part whose
packages are not installed says so in a line. With encoders, leans planted by people's labels are
read by each of them:

    python benchmarks/real_images.py DIR --encoder face --encoder open_clip:ViT-L-14/openai
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError

PARTS = ("agreement", "judges", "shown")
WITH_ENCODERS = ("planted", "framing")


def figures(part: str, folder: Path, arguments: argparse.Namespace) -> str:
    """The figures of one part, as Markdown, or why there are none, in a line."""
    try:
        module = importlib.import_module(f"real.{part}")
        return str(module.report(folder, **_inputs(part, module, arguments)))
    except (ImportError, T2IBenchError) as error:
        return f"{part}: left out, {' '.join(str(error).split())}"


def _inputs(part: str, module: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    """What a part takes besides the folder."""
    if part == "framing":
        return {"encoders": arguments.encoder}
    if part == "planted":
        design = module.Design(
            guided=arguments.guided,
            neutral=arguments.images,
            draws=arguments.draws,
            seed=arguments.seed,
        )
        return {"encoders": arguments.encoder, "design": design}
    return {}


def main() -> int:
    """Print the figures of all parts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    encoder_help = (
        "read planted leans with this encoder; may be repeated: t2ibench's names, or 'pixels', "
        "'colours' and 'face'"
    )
    parser.add_argument("--encoder", action="append", default=[], help=encoder_help)
    parser.add_argument(
        "--parts", nargs="+", choices=(*PARTS, *WITH_ENCODERS), help="print these parts"
    )
    for name, default in (("guided", 3), ("images", 6), ("draws", 200), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    arguments = parser.parse_args()
    folder = arguments.folder
    if not any(folder.glob("*/people.csv")):
        print(f"'{folder}' has no folder with a people.csv.", file=sys.stderr)
        return 1
    default_parts = (*PARTS, *WITH_ENCODERS) if arguments.encoder else PARTS
    for part in arguments.parts or default_parts:
        print(figures(part, folder, arguments), flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
