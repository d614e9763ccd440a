"""How near embedding images comes to what the encoder, or decoding, alone could do.

    python benchmarks/observe.py                        # CLIP ViT-B/32 of random weights, toy-clip
    python benchmarks/observe.py --images 4096 --pixels 1024 --architecture ViT-L-14

Embedding can be no faster than the encoder on ready tensors ('encoder alone'), nor than the cores
can decode and preprocess its files ('decoding', by as many threads, or processes, as there are
cores). What t2ibench makes of that is measured twice: with the encoder, and with one that
prepares images in the same way and costs nothing ('no encoder'), which shows what is lost between
decoding and encoding whatever the encoder. The peer is the loop that clip-retrieval and timm use: a
torch DataLoader whose workers decode and preprocess.

Where encoder and decoding share the cores, the processor seconds of both are what a run cannot do
without; the last figure of a line is their share in the processor seconds of the run.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from timing import Timed, timed
from torch.utils.data import DataLoader, Dataset

from t2ibench.identity import ImageKey
from t2ibench.machine import cores
from t2ibench.models.encoders import create_encoder
from t2ibench.pipeline.embedding import embedded_images, missing_embeddings
from t2ibench.store.database import Database
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import ImageStore, StoredImage


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--pixels", type=int, default=512)
    parser.add_argument("--architecture", default="ViT-B-32-quickgelu")
    parser.add_argument(
        "--device", default="cuda" if torch.cuda.is_available() else "cpu"
    )
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(vars(args), f"torch threads {torch.get_num_threads()}, cores {cores()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large = images(folder / "large", args.images, args.pixels)
        small = images(folder / "small", 4 * args.images, 64)
        weights = open_clip_weights(args.architecture, folder)
        for spec, files in ((weights, large), ("toy-clip", small)):
            encoder = create_encoder(spec, device=args.device)
            report(encoder, files, best_of(args.rounds, encoder, files, folder))


@dataclass(frozen=True)
class Rates:
    """Images a second, and processor seconds an image.

    Attributes:
        run: Of t2ibench with the encoder.
        without_encoder: Of t2ibench with an encoder that costs nothing.
        encoder: Of the encoder on ready tensors.
        threads: Of decoding and preprocessing in a thread for each core.
        processes: The same in processes.
        loader: Of a DataLoader and the encoder.
        run_work: Processor seconds an image of the run.
        encoder_work: The same of the encoder.
        decoding_work: The same of decoding and preprocessing in one thread.
    """

    run: float
    without_encoder: float
    encoder: float
    threads: float
    processes: float
    loader: float
    run_work: float
    encoder_work: float
    decoding_work: float

    @property
    def decoding(self) -> float:
        """What the cores can decode."""
        return max(self.threads, self.processes)

    @property
    def limit(self) -> float:
        """What no run could exceed: the slower of encoder and decoding."""
        return min(self.encoder, self.decoding)


class Free:
    """An encoder that prepares images as another one does, and gives rows without computing."""

    embeds_images = True

    def __init__(self, encoder: Any) -> None:
        self.name = f"nothing after {encoder.name}"
        self.fingerprint = f"{encoder.fingerprint[:-1]}."
        self.batch_size = encoder.batch_size
        self.prepare = encoder.prepare

    def encode_images(self, prepared: Sequence[Any]) -> Any:
        return np.full((len(prepared), 4), 0.5, dtype=np.float32)


class Files(Dataset[Any]):
    """The data set of an encoding loop."""

    def __init__(
        self, files: Sequence[StoredImage], prepare: Callable[[Any], Any]
    ) -> None:
        self._files = files
        self._prepare = prepare

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, number: int) -> Any:
        with Image.open(self._files[number].path) as image:
            return self._prepare(image.convert("RGB"))


def best_of(
    n_rounds: int, encoder: Any, files: Sequence[StoredImage], folder: Path
) -> Rates:
    """Return the best rates of several rounds, in each of which everything is measured once."""
    encode_ready(encoder, files)
    rounds = [measured(encoder, files, folder / f"{n}") for n in range(n_rounds)]
    best: dict[str, float] = {}
    for field in fields(Rates):
        values = [getattr(rates, field.name) for rates in rounds]
        best[field.name] = min(values) if field.name.endswith("_work") else max(values)
    return Rates(**best)


def measured(encoder: Any, files: Sequence[StoredImage], folder: Path) -> Rates:
    n_images = len(files)
    run = embed(encoder, files, folder)
    free = embed(Free(encoder), files, folder)
    alone = encode_ready(encoder, files)
    single = decode_in_threads(encoder, files, 1)
    return Rates(
        run=n_images / run.seconds,
        without_encoder=n_images / free.seconds,
        encoder=alone.result / alone.seconds,
        threads=n_images / decode_in_threads(encoder, files, cores()).seconds,
        processes=n_images / decode_in_processes(encoder, files).seconds,
        loader=n_images / encode_from_loader(encoder, files).seconds,
        run_work=run.busy / n_images,
        encoder_work=alone.busy / alone.result,
        decoding_work=single.busy / n_images,
    )


def embed(encoder: Any, files: Sequence[StoredImage], folder: Path) -> Timed:
    """Embed files as a run does, storing the rows."""
    store = EvidenceStore(
        Database(folder / encoder.fingerprint), encoder.name, encoder.fingerprint
    )

    def run() -> None:
        todo = missing_embeddings(files, [store])
        for part in embedded_images(todo, {store.name: encoder}, {}):
            store.add("images", *part.rows[store.name])

    timing = timed(run)
    assert all(store.has("images", image.sha256) for image in files)
    return timing


def encode_ready(encoder: Any, files: Sequence[StoredImage]) -> Timed:
    """Encode prepared images, as many as there are files; the result is their number."""
    some = files[: 2 * encoder.batch_size]
    ready = [encoder.prepare(image.read()) for image in some]
    times = -(-len(files) // len(ready))

    def run() -> int:
        for _ in range(times):
            encoder.encode_images(ready)
        return times * len(ready)

    return timed(run)


def decode_in_threads(
    encoder: Any, files: Sequence[StoredImage], n_threads: int
) -> Timed:
    """Decode and prepare files in threads, and nothing else."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(n_threads) as pool:
            return timed(
                lambda: sum(
                    1 for _ in pool.map(lambda i: encoder.prepare(i.read()), files)
                )
            )
    finally:
        torch.set_num_threads(before)


def decode_in_processes(encoder: Any, files: Sequence[StoredImage]) -> Timed:
    """Decode and prepare files in a process for each core, which send back numbers alone."""
    data = DataLoader(
        Files(files, encoder.prepare),
        batch_size=8,
        num_workers=cores(),
        collate_fn=len,
        persistent_workers=True,
    )

    def run() -> int:
        return sum(data)

    run()  # starts the processes
    return timed(run)


def encode_from_loader(encoder: Any, files: Sequence[StoredImage]) -> Timed:
    """Encode what the processes of a DataLoader have prepared."""
    data = DataLoader(
        Files(files, encoder.prepare),
        encoder.batch_size,
        num_workers=min(cores(), 16),
        pin_memory=torch.cuda.is_available(),
        # An encoder takes prepared images one by one: an adapter's may be mappings.
        collate_fn=list,
    )

    def run() -> None:
        for prepared in data:
            encoder.encode_images(prepared)

    return timed(run)


def report(encoder: Any, files: Sequence[StoredImage], rates: Rates) -> None:
    name = encoder.name.partition("/")[0]
    needed = rates.encoder_work + rates.decoding_work
    print(
        f"{name}, {len(files)} images: {rates.run:.0f} images/s; encoder alone "
        f"{rates.encoder:.0f}, decoding {rates.decoding:.0f}: ratio to the slower "
        f"{rates.run / rates.limit:.2f}; DataLoader {rates.loader:.0f}; processor seconds of "
        f"encoder and decoding over those of the run {needed / rates.run_work:.2f}",
        flush=True,
    )
    print(
        f"{name}, no encoder: {rates.without_encoder:.0f} images/s; decoding in {cores()} threads "
        f"{rates.threads:.0f}, in as many processes {rates.processes:.0f}, a core "
        f"{1 / rates.decoding_work:.0f}: ratio to the better "
        f"{rates.without_encoder / rates.decoding:.2f}",
        flush=True,
    )


def images(folder: Path, count: int, pixels: int) -> list[StoredImage]:
    """Store smooth images with some noise, which compress about as photographs do."""
    store = ImageStore(Database(folder), "0" * 64)
    with ThreadPoolExecutor(cores()) as pool:
        contents = pool.map(lambda number: png(number, pixels), range(count))
        attempts = [
            store.add_image(ImageKey.of("a photo", number), number, content, ".png")
            for number, content in enumerate(contents)
        ]
    store.record(attempts)
    return [store.image(attempt) for attempt in attempts]


def png(number: int, pixels: int) -> bytes:
    """Return the bytes of a PNG."""
    rng = np.random.default_rng(number)
    coarse = Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8))
    smooth = np.asarray(coarse.resize((pixels, pixels), Image.Resampling.BICUBIC))
    noise = 3 * rng.standard_normal(smooth.shape, dtype=np.float32)
    noisy = np.clip(smooth + noise, 0, 255).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(noisy).save(buffer, format="PNG", compress_level=4)
    return buffer.getvalue()


def open_clip_weights(architecture: str, folder: Path) -> str:
    import open_clip
    from safetensors.torch import save_file

    torch.manual_seed(0)
    save_file(
        open_clip.create_model(architecture).state_dict(),
        folder / "weights.safetensors",
    )
    return f"open_clip:{architecture}/{folder / 'weights.safetensors'}"


if __name__ == "__main__":
    main()
