"""Keeping a run and its copy elsewhere the same while it is worked on."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from t2ibench.errors import T2IBenchError
from t2ibench.store.images import ImageStore
from t2ibench.store.locks import SILENT, Notices, locked
from t2ibench.store.packing import collect
from t2ibench.store.remote import Remote, is_url, remote_at

EVERY = 30.0  # seconds between two pushes
PART = 64 * 2**20  # bytes of images that are worth a pack
LONGEST = 300.0  # seconds that fewer wait for one


def working_folder(output: str) -> Path:
    """The local folder of all runs: the one that was named, or that of a URL, with its records."""
    if not is_url(output):
        return Path(output)
    remote = remote_at(output)
    remote.pull_records()
    return remote.folder


def fetch_run(output: str, folder: Path) -> None:
    """Fetch what is stored of a run elsewhere; nothing to do for a path."""
    if is_url(output):
        remote_at(output).pull(folder.name)


def local_run(named: str) -> Path:
    """A run by its path or its URL, to be read."""
    if not is_url(named):
        return Path(named)
    parent, _, run = named.rstrip("/").rpartition("/")
    if not run or not urlsplit(parent).scheme or parent.endswith(":/"):
        raise T2IBenchError(f"'{named}' names no run.", "Give one such as s3://bucket/runs/toy.")
    remote = remote_at(parent)
    remote.pull(run)
    if not (remote.folder / run / "run.json").is_file():
        raise T2IBenchError(
            f"'{named}' is not a run folder: it has no run.json.",
            "Give a folder that `t2ibench run --output-dir URL` made.",
        )
    return remote.folder / run


@contextmanager
def pushed(
    output: str,
    folder: Path,
    fingerprint: str | None,
    notices: Notices = SILENT,
) -> Iterator[None]:
    """Claim a run elsewhere, and copy to it what is made here; nothing to do for a path."""
    if not is_url(output):
        yield
        return
    remote, run = remote_at(output), folder.name
    remote.claim(run)
    stopped = threading.Event()

    collected = time.monotonic()

    def push(last: bool) -> None:
        nonlocal collected
        if fingerprint is not None:
            now = time.monotonic()
            least = 0 if last or now - collected >= LONGEST else PART
            with locked(folder, "packs", notices):
                images = ImageStore(folder / "images", fingerprint)
                if collect(images, least=least):
                    collected = now
        remote.push(run)

    def work() -> None:
        while not stopped.wait(EVERY):
            try:
                push(last=False)
            except T2IBenchError as error:
                notices.warn(f"{error} It is tried again.")

    thread = threading.Thread(target=work, name="push", daemon=True)
    thread.start()
    try:
        yield
    except BaseException:
        stopped.set()
        thread.join()
        try:  # what went wrong first is what is said
            push(last=True)
            remote.release(run)
        except T2IBenchError as error:
            notices.warn(str(error))
        raise
    stopped.set()
    thread.join()
    push(last=True)
    with suppress(T2IBenchError):
        remote.release(run)


def push_now(named: str) -> None:
    """Copy what a command has written into a run that was fetched by `local_run`."""
    if is_url(named):
        parent, _, run = named.rstrip("/").rpartition("/")
        remote: Remote = remote_at(parent)
        remote.push(run)
        remote.release(run)
