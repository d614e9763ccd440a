"""How far half precision moves toy's images, and leans: python benchmarks/precision.py.

Images and embeddings are made in bfloat16 and float16 on the processor, and the embeddings of the
float32 images in bfloat16; each is compared with float32 throughout. `--model-args` and `--tasks`
choose others than toy's own.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tabulate import tabulate

from t2ibench import evaluate
from t2ibench.identity import ImageKey
from t2ibench.plugins import GeneratedImage, ImageRequest
from t2ibench.results.display import row_state, state_of
from t2ibench.results.run import open_images
from t2ibench.results.schema import Results
from t2ibench.store.images import ImageStore

TASKS = "core_occupations_gender,core_science_arts"


class Made:
    """A generator whose images exist already: those of a run."""

    name = "made"
    revision = None
    batch_size = 64
    fingerprint = hashlib.sha256(b"images of a run").hexdigest()

    def __init__(self, images: ImageStore) -> None:
        self._images = images
        self.settings: dict[str, str] = {}

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [GeneratedImage("ok", self._image(request)) for request in requests]

    def _image(self, request: ImageRequest) -> object:
        attempt = self._images.get(ImageKey.of(request.prompt, request.index))
        assert attempt is not None
        return self._images.image(attempt).read()

    def available(self, prompt: str) -> int | None:
        return None


def pixels(images: ImageStore) -> dict[tuple[str, int], np.ndarray]:
    """The pixels of all images, by prompt and index."""
    return {
        (attempt.prompt, attempt.index): np.asarray(
            images.image(attempt).read(), dtype=np.float64
        )
        for attempt in images.attempts()
    }


def moved(before: ImageStore, after: ImageStore) -> list[str]:
    """What differs between the pixels of two runs: cells of a row of the table."""
    first, second = pixels(before), pixels(after)
    assert first.keys() == second.keys()
    differences = [np.abs(first[place] - second[place]) for place in first]
    largest = np.array([difference.max() for difference in differences])
    mean = np.mean([difference.mean() for difference in differences])
    equal = int((largest == 0).sum())
    return [
        f"{equal} of {len(largest)}",
        f"{np.median(largest):.0f}, {largest.max():.0f}",
        f"{mean:.2f}",
    ]


def leans(before: Results, after: Results) -> list[str]:
    """How far headlines and leans of rows moved, and how many states changed."""
    headlines = []
    rows = []
    changed = 0
    for name, task in before.tasks.items():
        twin = after.tasks[name]
        headlines.append(abs(task.headline.value - twin.headline.value))
        changed += state_of(task) != state_of(twin)
        for row, other in zip(task.by, twin.by, strict=True):
            lean, other_lean = row.scores.get("lean"), other.scores.get("lean")
            if lean is None or lean.value is None:
                continue
            rows.append(abs(lean.value - other_lean.value))
            changed += row_state(lean) != row_state(other_lean)
    return [
        ", ".join(f"{value:.4f}" for value in headlines),
        f"{np.mean(rows):.3f}, {np.max(rows):.3f}",
        str(changed),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--tasks", default=TASKS, help=f"tasks to score ({TASKS})")
    add("--model-args", default="", help="of toy, such as steps=4 (none)")
    arguments = parser.parse_args()

    def run(model: object, folder: Path, dtype: str) -> tuple[Results, ImageStore]:
        model_args = arguments.model_args if isinstance(model, str) else ""
        results = evaluate(
            model,
            arguments.tasks,
            encoder="toy-clip",
            judge="toyland",
            model_args=model_args,
            images_per_prompt=10,
            guided_images_per_prompt=3,
            dtype=dtype,
            output_dir=folder,
        )
        return results, open_images(results.folder)[1]

    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        base, images = run("toy", Path(scratch, "float32"), "float32")
        for dtype in ("bfloat16", "float16"):
            results, others = run("toy", Path(scratch, dtype), dtype)
            what = f"images and embeddings in {dtype}"
            rows.append([what, *moved(images, others), *leans(base, results)])
            print(rows[-1], file=sys.stderr, flush=True)
        results, _ = run(Made(images), Path(scratch, "embeddings"), "bfloat16")
        what = "embeddings alone in bfloat16"
        rows.append([what, "", "", "", *leans(base, results)])
    heads = [
        "what changes",
        "equal to the pixel",
        "largest difference (median of images, of all)",
        "mean difference",
        "change of the headlines",
        "of a row's lean: mean, largest",
        "states that changed",
    ]
    print(tabulate(rows, heads, tablefmt="pipe", disable_numparse=True))


if __name__ == "__main__":
    main()
