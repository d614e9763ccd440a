"""How fast images are packed, opened and found, beside webdataset and plain files, at 10⁴ to 10⁶.

    python benchmarks/store.py                           10,000 and 100,000 images, from files on
    python benchmarks/store.py --packed 1000000          a million, written straight into packs
    python benchmarks/store.py --images 10000 --size 400000      images of 400 kB, as SDXL's are

Every figure is a time, with the ratio to a peer that does the same work in the same run:
webdataset's own writer and reader, or one look at each file. The peers are given the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import webdataset

from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.pending import unfinished
from t2ibench.store.attempts import Attempt, image_key
from t2ibench.store.images import ImageStore
from t2ibench.store.jsonl import dump_rows
from t2ibench.store.locks import locked
from t2ibench.store.pack_index import read_pack
from t2ibench.store.packing import MOST, SIZE, add_pack, pack
from t2ibench.store.unpacking import unpack

_PER_PROMPT = 20
_READS = 2_000
_PEER = 100_000  # of more images than these, the peer's time is that of these, times more
_PATTERN = bytes(range(256)) * 4096


def content(number: int, size: int) -> bytes:
    """Bytes that stand for an image; each is another one."""
    head = b"%020d" % number
    return head + _PATTERN[: max(size - len(head), 0)]


def requests(count: int) -> list[ImageRequest]:
    return [
        ImageRequest(f"a photo of occupation {n // _PER_PROMPT:07d}", n % _PER_PROMPT, n)
        for n in range(count)
    ]


def timed(work: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    value = work()
    return time.perf_counter() - start, value


def say(what: str, seconds: float, count: int, peer: tuple[str, float] | None = None) -> None:
    line = f"  {what:<44}{seconds:9.2f} s {1e6 * seconds / count:9.2f} µs/image"
    if peer:
        line += f"   {seconds / max(peer[1], 1e-9):7.2f} of {peer[0]} ({peer[1]:.2f} s)"
    print(line, flush=True)


def fill(root: Path, wanted: Sequence[ImageRequest], size: int) -> ImageStore:
    """Write image files and their rows as a run does."""
    store = ImageStore(root, "f")
    for start in range(0, len(wanted), 256):
        store.record(
            store._add_bytes(one.prompt, one.index, one.seed, content(one.seed, size), ".png")
            for one in wanted[start : start + 256]
        )
    return store


def straight(root: Path, wanted: Sequence[ImageRequest], size: int) -> None:
    """Write packs as `pack` does, of images that never were files."""

    def images() -> Iterator[tuple[Attempt, bytes]]:
        for one in wanted:
            data, key = content(one.seed, size), image_key("f", one.prompt, one.index)
            digest = hashlib.sha256(data).hexdigest()
            file = f"{key[:2]}/{key}.png"
            yield Attempt(key, one.prompt, one.index, one.seed, "ok", file, digest), data

    source = images()
    while add_pack(root / "packs", "f", source, size=SIZE, most=MOST):
        pass


def peer_write(folder: Path, wanted: Sequence[ImageRequest], size: int, root: Path | None) -> None:
    """webdataset's writer, with the same content; it reads the same files where there are any."""
    folder.mkdir()
    with webdataset.ShardWriter(
        str(folder / "%06d.tar"), maxcount=MOST, maxsize=SIZE, verbose=0
    ) as sink:
        for one in wanted:
            key = image_key("f", one.prompt, one.index)
            file = root / key[:2] / f"{key}.png" if root else None
            data = file.read_bytes() if file else content(one.seed, size)
            about = {"prompt": one.prompt, "index": one.index, "seed": one.seed}
            sink.write({"__key__": key, "png": data, "json": dump_rows([about])})


def peer_read(folder: Path) -> int:
    shards = sorted(map(str, folder.glob("*.tar")))
    read = webdataset.WebDataset(shards, shardshuffle=False, empty_check=False)
    return sum(len(sample["png"]) for sample in read)


def forget(folder: Path) -> None:
    """Write what is buffered, so that one measurement does not pay for another."""
    os.sync()


def resume(root: Path, wanted: Sequence[ImageRequest]) -> tuple[float, float]:
    """Seconds to open a store, and to find that nothing is left to generate."""
    opened, store = timed(lambda: ImageStore(root, "f"))
    assert isinstance(store, ImageStore)
    checked, left = timed(lambda: unfinished(wanted, store))
    assert left == []
    return opened, checked


def looks(root: Path, wanted: Sequence[ImageRequest]) -> float:
    """Seconds that one look at each file takes."""
    names = [image_key("f", one.prompt, one.index) for one in wanted]
    seconds, there = timed(
        lambda: sum(os.path.exists(f"{root}/{name[:2]}/{name}.png") for name in names)  # noqa: PTH110
    )
    assert there == len(wanted)
    return seconds


def at_random(root: Path, wanted: Sequence[ImageRequest]) -> float:
    """Seconds to read and check some images, anywhere."""
    store = ImageStore(root, "f")
    step = max(len(wanted) // _READS, 1)
    chosen = [wanted[(7919 * n) % len(wanted)] for n in range(0, len(wanted), step)][:_READS]

    def read() -> None:
        for one in chosen:
            attempt = store.get(one.prompt, one.index)
            assert attempt is not None
            store.image(attempt).data()

    read()  # the index of keys is made at the first one
    return timed(read)[0] / len(chosen)


def from_files(folder: Path, count: int, size: int) -> None:
    print(f"{count:,} images of {size:,} bytes, from files:", flush=True)
    wanted, root = requests(count), folder / "images"
    seconds, _ = timed(lambda: fill(root, wanted, size))
    say("write files and rows", seconds, count)
    forget(folder)
    looked = looks(root, wanted)
    opened, checked = resume(root, wanted)
    say("open a store of files", opened, count)
    say("resume check of files", checked, count, ("a look at each", looked))
    file_read = at_random(root, wanted)
    forget(folder)
    peer, _ = timed(lambda: peer_write(folder / "peer", wanted, size, root))
    forget(folder)
    store = ImageStore(root, "f")
    with locked(folder, "results"):
        seconds, report = timed(lambda: pack(store))
    assert report.images == count  # type: ignore[attr-defined]
    say("pack (written, flushed, read back, removed)", seconds, count, ("webdataset", peer))
    packed(folder, root, wanted, file_read)
    seconds, _ = timed(lambda: unpack(ImageStore(root, "f")))
    peer, _ = timed(lambda: plain(folder / "peer", folder / "plain"))
    say("unpack", seconds, count, ("webdataset to files", peer))


def plain(shards: Path, target: Path) -> None:
    """What unpacking is with webdataset: each image into a file."""
    read = webdataset.WebDataset(
        sorted(map(str, shards.glob("*.tar"))), shardshuffle=False, empty_check=False
    )
    for sample in read:
        folder = target / sample["__key__"][:2]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{sample['__key__']}.png").write_bytes(sample["png"])


def packed(
    folder: Path, root: Path, wanted: Sequence[ImageRequest], file_read: float | None
) -> None:
    """Open, check and read what is packed."""
    count = len(wanted)
    peer, _ = timed(lambda: peer_read(folder / "peer"))
    peer *= count / min(count, _PEER)
    opened, checked = resume(root, wanted)
    say("open a packed store", opened, count, ("webdataset, all read", peer))
    say("resume check of a packed store", checked, count, ("webdataset, all read", peer))
    seconds, size = timed(
        lambda: sum(
            len(data)
            for path in sorted((root / "packs").glob("*.tar"))
            if (one := read_pack(path))
            for row in range(len(one))
            for _, data in [one.read(row)]
        )
    )
    assert size
    say("read every image, by its row", seconds, count, ("webdataset", peer))
    one = at_random(root, wanted)
    line = f"  {'read one anywhere, with its hash':<44}{1e6 * one:9.1f} µs"
    print(line + (f"   {one / file_read:7.2f} of a file" if file_read else ""), flush=True)


def straight_into_packs(folder: Path, count: int, size: int) -> None:
    print(f"{count:,} images of {size:,} bytes, straight into packs:", flush=True)
    wanted, root = requests(count), folder / "images"
    part = wanted[:_PEER]
    peer, _ = timed(lambda: peer_write(folder / "peer", part, size, None))
    forget(folder)
    seconds, _ = timed(lambda: straight(root, wanted, size))
    peer *= count / len(part)
    say("write packs, flushed and read back", seconds, count, ("webdataset", peer))
    packed(folder, root, wanted, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--packed", type=int, nargs="*", default=[])
    parser.add_argument("--size", type=int, default=2_000, help="bytes of an image")
    parser.add_argument("--folder", help="where to work; by default a temporary folder")
    arguments = parser.parse_args()
    works = [(from_files, n) for n in arguments.images if not arguments.packed or n]
    if arguments.packed and "--images" not in sys.argv:
        works = []
    works += [(straight_into_packs, n) for n in arguments.packed]
    for work, count in works:
        folder = Path(tempfile.mkdtemp(dir=arguments.folder))
        try:
            work(folder, count, arguments.size)
        finally:
            with suppress(OSError):
                shutil.rmtree(folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"most memory: {peak:.2f} GiB")


if __name__ == "__main__":
    main()
