"""Measure on one GPU what docs/scale.md and docs/reproducibility.md say, in eight minutes at most.

    python benchmarks/gpu.py --out gpu.md                          # SDXL's shape, on CUDA
    python benchmarks/gpu.py --size tiny --device cpu --out try.md  # the same steps, to try it

It writes one table: how long a model of the real shape takes to load, which batch is chosen for the
card, images a second beside the bare pipeline, which images depend on the batch and by how much,
what deterministic kernels cost, where a batch is halved, and what observe.py and judge.py say. A
step that begins after `--minutes` is left out, and the table says so.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
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

HERE = Path(__file__).parent
# Of observe.py and judge.py; the last argument of observe.py is for tiny trials.
SCRIPTS = {
    "embedding": ["observe.py", "--rounds", "2", "--images"],
    "judging": ["judge.py", "--images"],
}
NUMBERS = {
    "embedding": {"sdxl": "1024", "tiny": "16"},
    "judging": {"sdxl": "8", "tiny": "1"},
}

Row = tuple[str, str]


@dataclass
class Session:
    """One machine, one saved pipeline, and what it is asked for.

    Attributes:
        args: The arguments of the command.
        saved: The folder of the pipeline.
        requests: The images, all of one prompt.
        generator: Its generator, loaded.
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


def created(args: argparse.Namespace, saved: Path, **more: Any) -> DiffusersGenerator:
    options = DiffusersArguments(steps=args.steps)
    request = Request(
        "bench", str(saved), options, device=args.device, dtype=args.dtype, **more
    )
    return DiffusersGenerator(request)


def speed(session: Session) -> Iterator[Row]:
    """Images a second of the chosen batch, of one image, and of the bare pipeline."""
    generator = session.generator
    generator.fix_batch_size(None)
    generator.load()
    chosen = generator._batch.size or 1
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


def pixels(session: Session) -> Iterator[Row]:
    """Which images depend on the batch, and by how much."""
    generator = session.generator
    generator.fix_batch_size(None)
    generator.load()
    chosen = generator._batch.size or 1
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
        session.images(64, 64)
        size = session.generator.effective_settings()["batch_size"]
        yield "64 at a time with 5 % of the card free", f"became {size}"
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def deterministic(session: Session) -> Iterator[Row]:
    """What --deterministic costs; it is the last of this process, all of which it concerns."""
    size = session.generator._batch.size or 1
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
    again = compared(session.images(size), session.images(size))
    yield "--deterministic, the same again", again


def script(name: str) -> Callable[[Session], Iterator[Row]]:
    """A step that runs another benchmark and takes over what it prints."""

    def run(session: Session) -> Iterator[Row]:
        args = session.args
        session.generator.release()
        words = [sys.executable, *SCRIPTS[name], NUMBERS[name][args.size]]
        words[1] = str(HERE / words[1])
        words += ["--device", args.device]
        if name == "judging":
            words += ["--dtype", args.dtype]
        if args.size == "tiny" and name == "embedding":
            words += ["--pixels", "64"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        lines = (done.stdout if done.returncode == 0 else done.stderr).splitlines()
        printed = [line for line in lines if line.strip() and not line.startswith("{")]
        for line in printed[-6:]:
            yield name, line.strip().replace("|", "/")

    return run


STEPS: dict[str, Callable[[Session], Iterator[Row]]] = {
    "speed": speed,
    "pixels": pixels,
    "halving": halving,
    "deterministic": deterministic,
    "embedding": script("embedding"),
    "judging": script("judging"),
}


def rows(args: argparse.Namespace, folder: Path) -> Iterator[Row]:
    began = time.monotonic()
    machine = platform.processor() or platform.machine()
    if args.device.startswith("cuda"):
        machine = torch.cuda.get_device_name()
    yield "machine", f"{machine}, torch {torch.__version__}"
    torch.manual_seed(0)
    pipeline = generate.built("sdxl", args, folder)
    saved = folder / "saved"
    pipeline.save_pretrained(saved, safe_serialization=True)
    del pipeline
    generator = created(args, saved)
    loaded = timed(generator.load)
    yield "seconds to load the pipeline", f"{loaded.seconds:.1f}"
    requests = [
        ImageRequest(
            "a photo of a nurse", index, image_seed(0, "a photo of a nurse", index)
        )
        for index in range(
            max(args.images, 64 if args.device.startswith("cuda") else 0)
        )
    ]
    session = Session(args, saved, requests, generator)
    for name, step in STEPS.items():
        if time.monotonic() - began > 60 * args.minutes:
            yield name, "not measured: the time is up"
            continue
        yield from step(session)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", choices=["sdxl", "tiny"], default="sdxl")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--dtype", help="bfloat16, or float32 on a CPU")
    parser.add_argument("--images", type=int, default=16, help="of each measure")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=6)
    parser.add_argument("--out", type=Path, default=Path("gpu.md"))
    args = parser.parse_args()
    args.dtype = args.dtype or ("float32" if args.device == "cpu" else "bfloat16")
    lines = ["| what | value |", "| --- | --- |"]
    with tempfile.TemporaryDirectory() as name:
        for what, value in rows(args, Path(name)):
            print(f"{what}: {value}", flush=True)
            lines.append(f"| {what} | {value} |")
            # Whatever ends it, what was measured is there.
            args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
