"""Export of a run's images and prompts, in a folder that the library `datasets` can read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import write_bytes
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import ImageStore, in_order
from t2ibench.store.jsonl import write_rows

Advance = Callable[[int], None]


def export(
    images: ImageStore, model: str, target: Path, advance: Advance = lambda _: None
) -> tuple[int, list[str]]:
    """Write a run's images to a new folder; return how many, and the paths of damaged files."""
    made = target.with_name(f".{target.name[:60]}.part")
    with disk_errors(target):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise T2IBenchError(
                f"{shown_path(target)} is there already.", "Name a new folder."
            )
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        try:
            count, damaged = _write(images, model, made, advance)
            if not count:
                raise T2IBenchError(
                    f"{images.root} holds no images that could be exported.",
                    "The run's own command with --generate-only generates them again.",
                )
            with suppress(OSError):  # the folder does not exist
                target.rmdir()
            made.replace(target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return count, damaged


def _write(
    images: ImageStore, model: str, folder: Path, advance: Advance
) -> tuple[int, list[str]]:
    rows = []
    damaged = []
    attempts = (attempt for attempt in images.all_attempts() if attempt.status == "ok")
    for attempt in in_order(attempts):
        advance(1)
        assert attempt.file is not None
        try:
            write_bytes(
                folder / attempt.file, images.image(attempt).data(), durable=False
            )
        except UnreadableImageError:
            damaged.append(str(images.path(attempt)))
            continue
        rows.append(
            {
                "file_name": attempt.file,
                # Arrow requires UTF-8, which half a surrogate pair does not have.
                "prompt": attempt.prompt.encode("utf-8", "backslashreplace").decode(),
                "index": attempt.index,
                "seed": attempt.seed,
                "model": model,
                "key": attempt.file_key,
                "sha256": attempt.sha256,
            }
        )
    write_rows(folder / "metadata.jsonl", rows)
    return len(rows), damaged
