"""A run's images with their prompts, as other tools read them.

Prompts are data, never names: files are called by their number or their key. Images are copied byte
for byte, but for GenEval, which reads PNG alone.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import groupby
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, shown
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.jsonl import write_rows
from t2ibench.store.pixels import UnreadableImageError, read_image

_SHARD = 256 * 2**20  # bytes of images in one file
Advance = Callable[[int], None]
Pairs = Iterator[tuple[Attempt, bytes]]

_CARD = """---
license: other
pretty_name: {title}
configs:
- config_name: default
  data_files: data/*.parquet
---
Images of a run of t2ibench, with the prompts that they were generated for. Prompts may name
stereotypes in order to measure them.
"""


def export(
    images: ImageStore, model: str, form: str, target: Path, advance: Advance = lambda _: None
) -> tuple[int, list[str]]:
    """Write the images of a run; how many, and the files that are not as they were stored."""
    writers = {
        "imagefolder": _imagefolder, "datasets": _parquet, "webdataset": _tars, "geneval": _geneval
    }  # fmt: skip
    check_new(target)
    count, damaged = Counter[str](), list[str]()
    made = target.with_name(f".{target.name[:60]}.part")
    with disk_errors(target):
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        try:
            writers[form](_pairs(images, count, damaged, advance), model, made)
            if not count["images"]:
                raise T2IBenchError(
                    f"{images.root} holds no images that could be exported.",
                    "The run's own command with --generate-only generates them again.",
                )
            with suppress(OSError):  # there is none
                target.rmdir()
            made.replace(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return count["images"], damaged


def check_new(target: Path) -> None:
    """Check that a folder is not there, or empty."""
    with disk_errors(target):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise T2IBenchError(f"{shown(target, 400)} is there already.", "Name a new folder.")


def _pairs(images: ImageStore, count: Counter[str], damaged: list[str], advance: Advance) -> Pairs:
    """The images with their bytes, ordered by prompt and index, in constant memory."""
    known = (one for one in images.all_attempts() if one.status == "ok")
    for attempt in sorted(known, key=lambda one: (one.prompt, one.index)):
        advance(1)
        try:
            data = images.image(attempt).data()
        except UnreadableImageError:
            damaged.append(str(images.path(attempt)))
            continue
        count["images"] += 1
        yield attempt, data


def _row(attempt: Attempt, model: str) -> dict[str, Any]:
    return {
        # Half a surrogate pair has no UTF-8, which Arrow wants.
        "prompt": attempt.prompt.encode("utf-8", "backslashreplace").decode(),
        "index": attempt.index,
        "seed": attempt.seed,
        "model": model,
        "key": attempt.key,
        "sha256": attempt.sha256,
    }


def _imagefolder(pairs: Pairs, model: str, folder: Path) -> None:
    rows = []
    for attempt, data in pairs:
        assert attempt.file is not None
        write_bytes(folder / attempt.file, data, durable=False)
        rows.append({"file_name": attempt.file, **_row(attempt, model)})
    write_rows(folder / "metadata.jsonl", rows)


def _parquet(pairs: Pairs, model: str, folder: Path) -> None:
    from datasets import Dataset, Features, Image, Value, disable_progress_bars

    disable_progress_bars()  # what is done is shown already
    kinds = {"index": "int64", "seed": "int64"}
    names = ("prompt", "index", "seed", "model", "key", "sha256")
    columns = {name: Value(kinds.get(name, "string")) for name in names}
    features = Features({"image": Image(), **columns})
    (folder / "data").mkdir()
    parts: list[Path] = []
    rows: list[dict[str, Any]] = []

    def write() -> None:
        part = folder / "data" / f"{len(parts):05d}"
        Dataset.from_list(rows, features).to_parquet(str(part), batch_size=100)
        parts.append(part)
        rows.clear()

    size = 0
    for attempt, data in pairs:
        name = (attempt.file or "").rpartition("/")[2]
        rows.append({"image": {"bytes": data, "path": name}, **_row(attempt, model)})
        size += len(data)
        if size >= _SHARD:
            write()
            size = 0
    if rows:
        write()
    for number, part in enumerate(parts):
        part.replace(part.with_name(f"train-{number:05d}-of-{len(parts):05d}.parquet"))
    write_text(folder / "README.md", _CARD.format(title=json.dumps(f"Images by {model}")))


def _tars(pairs: Pairs, model: str, folder: Path) -> None:
    """WebDataset's layout: an image and its JSON, of one name, beside each other."""
    number, size = 0, _SHARD
    with ExitStack() as opened:
        for attempt, data in pairs:
            if size >= _SHARD:
                opened.close()
                path = folder / f"images-{number:06d}.tar"
                tar = opened.enter_context(tarfile.open(path, "w"))
                number, size = number + 1, 0
            row = json.dumps(_row(attempt, model)).encode()
            suffix = (attempt.file or "").rpartition(".")[2]
            for name, content in ((suffix, data), ("json", row)):
                member = tarfile.TarInfo(f"{attempt.key}.{name}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
            size += len(data)


def _geneval(pairs: Pairs, model: str, folder: Path) -> None:
    for number, (_, group) in enumerate(groupby(pairs, lambda pair: pair[0].prompt)):
        place = folder / f"{number:05d}"
        rows = []
        for attempt, stored in group:
            data = stored
            rows.append(_row(attempt, model))
            if not (attempt.file or "").endswith(".png"):
                buffer = io.BytesIO()
                read_image(data).save(buffer, format="PNG")
                data = buffer.getvalue()
            write_bytes(place / "samples" / f"{attempt.index:05d}.png", data)
        # GenEval reads one object a prompt.
        first = {"tag": "t2ibench", "include": [], "prompt": rows[0]["prompt"]}
        kept = [{name: row[name] for name in ("index", "seed", "sha256")} for row in rows]
        write_rows(place / "metadata.jsonl", [{**first, "model": model, "samples": kept}])
