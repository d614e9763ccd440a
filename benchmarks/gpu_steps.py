"""The steps of gpu.py that need the pipeline, each run by it in a process of its own.

Each prints its rows, one a line, as a JSON list of what was measured and its value.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import generate
import numpy as np
import torch
from timing import timed

from t2ibench.models.adapter import Request
from t2ibench.models.generators.diffusers import DiffusersArguments, DiffusersGenerator
from t2ibench.models.protocols import ImageRequest
from t2ibench.store.images import image_seed

PROMPT = "a photo of a nurse"
TASK = "core_science_arts"
USUAL_STEPS = 30

Row = tuple[str, str]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("step", choices=[*WITHOUT_MODEL, *STEPS])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--size", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--images", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    args = parser.parse_args()
    if args.step in WITHOUT_MODEL:
        rows = WITHOUT_MODEL[args.step](args)
    else:
        rows = STEPS[args.step](opened(args))
    for row in rows:
        # What was measured is there, whatever ends the step.
        print(json.dumps(row), flush=True)


def pipeline(args: argparse.Namespace) -> Iterator[Row]:
    """The machine, and how long the saved pipeline, which all other steps load, takes to load."""
    machine = platform.processor() or platform.machine()
    if args.device.startswith("cuda"):
        machine = torch.cuda.get_device_name()
    yield "machine", f"{machine}, torch {torch.__version__}"
    torch.manual_seed(0)
    built = generate.built("sdxl", args, args.folder)
    built.save_pretrained(saved_in(args.folder), safe_serialization=True)
    del built
    loaded = timed(created(args, saved_in(args.folder)).load)
    yield "seconds to load the pipeline", f"{loaded.seconds:.1f}"


def start(args: argparse.Namespace) -> Iterator[Row]:
    """Seconds of a command that makes a few images, without and with stored hashes of weights."""
    words = ["-m", "t2ibench", "--model", str(saved_in(args.folder)), "--tasks", TASK]
    words += ["--limit", "2", "--images-per-prompt", "1"]
    words += ["--guided-images-per-prompt", "1", "--model-args", f"steps={args.steps}"]
    words += ["--device", args.device, "--dtype", args.dtype, "--generate-only"]
    # Hashes that are kept are those of this folder alone.
    own_hashes = {**os.environ, "T2IBENCH_CACHE": str(args.folder / "cache")}
    for what in ("first time", "second time"):
        folder = args.folder / what.replace(" ", "-")
        command = [sys.executable, *words, "--output-dir", str(folder)]
        ended = timed(
            lambda command=command: subprocess.run(
                command, check=True, env=own_hashes, stdout=subprocess.DEVNULL
            )
        )
        count = len(list(folder.rglob("*.png")))
        yield f"seconds of a command, {what}", f"{ended.seconds:.1f}, {count} images"


def saved_in(folder: Path) -> Path:
    return folder / "saved"


def opened(args: argparse.Namespace) -> Session:
    """A session whose generator has loaded the saved pipeline."""
    generator = created(args, saved_in(args.folder))
    generator.load()
    # Two full batches at least: one that is filled up would take as long as a full one.
    chosen = generator._batch.size or 1
    count = max(args.images, 2 * chosen, 4)
    return Session(args, saved_in(args.folder), requests(count), generator)


def requests(count: int) -> list[ImageRequest]:
    """Return requests for so many images of one prompt."""
    return [
        ImageRequest(PROMPT, index, image_seed(0, PROMPT, index))
        for index in range(count)
    ]


@dataclass
class Session:
    """One machine, one saved pipeline, and what it is asked for.

    Attributes:
        args: The arguments of the command.
        saved: The folder of the pipeline.
        requests: The images, all of one prompt.
        generator: The pipeline's generator, loaded.
    """

    args: argparse.Namespace
    saved: Path
    requests: Sequence[ImageRequest]
    generator: DiffusersGenerator

    def images(self, size: int | None, count: int | None = None) -> list[np.ndarray]:
        """The pixels of the first images, generated so many at a time."""
        self.generator.fix_batch_size(size)
        made = self.generator.generate(self.requests[:count])
        assert [image.status for image in made] == ["ok"] * len(made), made
        return [np.asarray(image.image, dtype=int) for image in made]

    def chosen_batch(self) -> int:
        """Number of images at a time that the generator chooses for this card."""
        self.generator.fix_batch_size(None)
        self.generator.load()
        return self.generator._batch.size or 1


def created(
    args: argparse.Namespace, saved: Path, steps: int | None = None, **more: Any
) -> DiffusersGenerator:
    options = DiffusersArguments(steps=steps or args.steps)
    request = Request(
        "bench", str(saved), options, device=args.device, dtype=args.dtype, **more
    )
    return DiffusersGenerator(request)


def speed(session: Session) -> Iterator[Row]:
    """Images a second of the chosen batch, of one image, and of the bare pipeline."""
    generator = session.generator
    chosen = session.chosen_batch()
    yield "batch chosen for the card", str(chosen)
    count = len(session.requests)
    session.images(chosen, chosen)
    for size in dict.fromkeys((chosen, 1)):
        spent = timed(lambda size=size: session.images(size))
        yield f"images/s, {size} at a time", f"{count / spent.seconds:.2f}"
    groups = [
        session.requests[start : start + chosen] for start in range(0, count, chosen)
    ]
    with tempfile.TemporaryDirectory() as folder:
        bare = timed(
            lambda: generate.bare(
                generator._pipeline, groups, session.args.steps, Path(folder) / "bare"
            )
        )
    yield (
        f"images/s, bare pipeline with PNG, {chosen} at a time",
        f"{count / bare.seconds:.2f}",
    )
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / 2**30
        yield "largest memory", f"{peak:.1f} GiB"
    # As many steps as users take: what an image costs.
    generator.release()
    session.generator = created(session.args, session.saved, USUAL_STEPS)
    session.generator.load()
    session.images(chosen, chosen)
    usual = timed(lambda: session.images(chosen, 2 * chosen))
    yield (
        f"seconds an image, {USUAL_STEPS} steps, {chosen} at a time",
        f"{usual.seconds / len(usual.result):.2f}",
    )


def pixels(session: Session) -> Iterator[Row]:
    """Which images depend on the batch, and by how much."""
    chosen = session.chosen_batch()
    count = max(chosen + 1, 4)  # the last batch is not full
    first = session.images(chosen, count)
    yield (
        f"the same again, {chosen} at a time",
        compared(first, session.images(chosen, count)),
    )
    alone = session.images(chosen, 1)
    yield "the first image, when it is the only one", compared(first[:1], alone)
    for size in sorted({1, 2, max(1, chosen // 2)} - {chosen}):
        other = session.images(size, count)
        yield f"{size} at a time instead of {chosen}", compared(first, other)


def compared(first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> str:
    """How many images are equal to the pixel, and the largest difference of the others."""
    apart = [int(np.abs(a - b).max()) for a, b in zip(first, second, strict=True)]
    equal = sum(difference == 0 for difference in apart)
    return f"{equal} of {len(apart)} equal; largest difference {max(apart)} of 255"


def halving(session: Session) -> Iterator[Row]:
    """What becomes of a batch that does not fit, before the first image that counts."""
    if not torch.cuda.is_available():
        yield "a batch that does not fit", "not measured: no CUDA"
        return
    free, total = torch.cuda.mem_get_info()
    used = (total - free) / total
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(min(1.0, used + 0.05))
    try:
        session.generator.fix_batch_size(64)
        session.generator.generate(requests(64))
        size = session.generator.effective_settings()["batch_size"]
        yield "64 at a time with 5 % of the card free", f"became {size}"
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def deterministic(session: Session) -> Iterator[Row]:
    """What --deterministic costs, which concerns the whole process."""
    size = session.chosen_batch()
    usual = timed(lambda: session.images(size))
    session.generator.release()
    session.generator = created(session.args, session.saved, deterministic=True)
    session.generator.load()
    session.images(size, size)
    slower = timed(lambda: session.images(size))
    yield (
        "--deterministic, time beside the usual kernels",
        f"{slower.seconds / usual.seconds:.2f}",
    )
    again = compared(slower.result, session.images(size))
    yield "--deterministic, the same again", again


WITHOUT_MODEL: dict[str, Callable[[argparse.Namespace], Iterator[Row]]] = {
    "pipeline": pipeline,
    "start": start,
}
STEPS: dict[str, Callable[[Session], Iterator[Row]]] = {
    "speed": speed,
    "pixels": pixels,
    "halving": halving,
    "deterministic": deterministic,
}


if __name__ == "__main__":
    main()
