"""How near embedding images comes to what the encoder alone could do, decoding included.

    python benchmarks/observe.py                        # CLIP ViT-B/32 of random weights, toy-clip
    python benchmarks/observe.py --images 4096 --pixels 1024 --architecture ViT-L-14

Peers, in the same process and on the same PNG files: the encoder alone on ready tensors ('alone'),
and the loop that clip-retrieval and timm use: a torch DataLoader whose workers decode and
preprocess ('loader'), which is given as many workers as there are cores. Decoding alone is
measured, too: where encoder and decoding share the cores, the CPU seconds of both are what a run
cannot do without.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from timing import timed
from torch.utils.data import DataLoader, Dataset

from t2ibench.identity import ImageKey
from t2ibench.models.encoders import create_encoder
from t2ibench.pipeline.embedding import embedded_images, missing_embeddings
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import ImageStore, StoredImage


def images(folder: Path, count: int, pixels: int) -> list[StoredImage]:
    """Smooth images with some noise, which compress about as photographs do."""
    store, rng = ImageStore(Database(folder), "0" * 64), np.random.default_rng(0)
    attempts = []
    for number in range(count):
        coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
        smooth = np.asarray(
            coarse.resize((pixels, pixels), Image.Resampling.BICUBIC), dtype=int
        )
        noisy = np.clip(smooth + rng.normal(0, 3, smooth.shape), 0, 255).astype(
            np.uint8
        )
        buffer = io.BytesIO()
        Image.fromarray(noisy).save(buffer, format="PNG", compress_level=4)
        attempts.append(
            store.add_image(
                ImageKey.of("a photo", number), number, buffer.getvalue(), ".png"
            )
        )
    store.record(attempts)
    return [store.image(attempt) for attempt in attempts]


class Files(Dataset[Any]):
    """The data set of an encoding loop."""

    def __init__(self, found: list[StoredImage], prepare: Callable[[Any], Any]) -> None:
        self.found, self.prepare = found, prepare

    def __len__(self) -> int:
        return len(self.found)

    def __getitem__(self, number: int) -> Any:
        with Image.open(self.found[number].path) as image:
            return self.prepare(image.convert("RGB"))


def measure(
    spec: str, found: list[StoredImage], folder: Path, args: argparse.Namespace
) -> None:
    encoder: Any = create_encoder(spec, device=args.device)
    batch = encoder._batch
    ready = [encoder.prepare(image.read()) for image in found[: 2 * encoder.batch_size]]
    times = -(-len(found) // len(ready))

    def alone() -> None:
        for _ in range(times):
            encoder.encode_images(ready)

    def decode() -> None:
        for image in found:
            encoder.prepare(image.read())

    def loader() -> None:
        workers = min(os.cpu_count() or 1, 16)
        cuda = args.device == "cuda"
        data = DataLoader(
            Files(found, encoder.prepare),
            batch,
            num_workers=workers,
            pin_memory=cuda,
            # An encoder takes prepared images one by one: an adapter's may be mappings.
            collate_fn=list,
        )
        for prepared in data:
            encoder.encode_images(prepared)

    alone()
    rounds = []
    for number in range(args.rounds):
        database = Database(folder / f"{encoder.fingerprint[:8]}-{number}")
        store = EvidenceStore(database, encoder.name, encoder.fingerprint)

        def run(store: EvidenceStore = store) -> None:
            todo = missing_embeddings(found, [store])
            for part in embedded_images(todo, {store.name: encoder}, {}):
                store.add("images", *part.rows[store.name])

        one = timed(alone).seconds * len(found) / (times * len(ready))
        ours = timed(run)
        assert all(store.has("images", image.sha256) for image in found)
        theirs, decoded, alone_busy = timed(loader), timed(decode), timed(alone)
        rounds.append(
            (
                one,
                ours.seconds,
                theirs.seconds,
                decoded.busy,
                alone_busy.busy,
                ours.busy,
            )
        )
    best = [min(column) for column in zip(*rounds, strict=True)]
    one, ours, theirs, decoded, alone_busy, busy = best
    count = len(found)
    needed = decoded + alone_busy * count / (times * len(ready))
    print(
        f"{spec.partition('/')[0]}: {count / ours:.1f} images/s; encoder alone "
        f"{count / one:.1f}, ratio {one / ours:.2f}; DataLoader {count / theirs:.1f}, ratio "
        f"{theirs / ours:.2f}; decoding on one core {count / decoded:.1f}; CPU seconds of decoding "
        f"and of the encoder over those of the run {needed / busy:.2f}",
        flush=True,
    )


def open_clip_weights(architecture: str, folder: Path) -> str:
    import open_clip
    from safetensors.torch import save_file

    torch.manual_seed(0)
    save_file(
        open_clip.create_model(architecture).state_dict(),
        folder / "weights.safetensors",
    )
    return f"open_clip:{architecture}/{folder / 'weights.safetensors'}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--pixels", type=int, default=512)
    parser.add_argument("--architecture", default="ViT-B-32-quickgelu")
    parser.add_argument(
        "--device", default="cuda" if torch.cuda.is_available() else "cpu"
    )
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(
        vars(args), f"torch threads {torch.get_num_threads()}, cores {os.cpu_count()}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "runs").mkdir()
        large = images(folder / "large", args.images, args.pixels)
        small = images(folder / "small", 4 * args.images, 64)
        measure(
            open_clip_weights(args.architecture, folder), large, folder / "runs", args
        )
        measure("toy-clip", small, folder / "runs", args)


if __name__ == "__main__":
    main()
