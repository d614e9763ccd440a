"""Every figure that t2ibench's pages give about real images, from a folder of them.

    python benchmarks/real_images.py DIR

DIR holds a folder of images a model and kind of prompt, such as `sdxl-turbo-baseline`, each with a
`prompts.csv` (what the images were asked for) and a `people.csv` (what people saw). Each file of
benchmarks/real/ makes one part; one whose packages are not installed says so in a line.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

from t2ibench.errors import T2IBenchError

PARTS = Path(__file__).parent / "real"


def figures(part: Path, folder: Path) -> str:
    """The figures of one part, as Markdown, or why there are none, in a line."""
    spec = importlib.util.spec_from_file_location(f"real_{part.stem}", part)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        return str(module.report(folder))
    except (ImportError, T2IBenchError) as error:
        return f"{part.stem}: left out, {' '.join(str(error).split())}"


def main() -> int:
    """Print the figures of all parts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="DIR")
    folder = parser.parse_args().folder
    if not any(folder.glob("*/people.csv")):
        print(f"'{folder}' has no folder with a people.csv.", file=sys.stderr)
        return 1
    for part in sorted(PARTS.glob("*.py")):
        print(figures(part, folder), flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
