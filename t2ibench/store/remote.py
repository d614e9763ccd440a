"""Runs in object storage: a working folder here, and a copy of it at a URL that fsspec opens.

Appending, locks and mapped files need a local file system, so a run always works in a local folder,
`~/.cache/t2ibench/remote/…`. What is there is pulled before it starts: records, evidence and the
indices of packs. Images go up as packs and stay there: one is fetched when its pixels are needed.
While the run works, what has changed is pushed every half minute, and once more at its end. A
machine that dies costs what it made since the last push; another one goes on from what is there.

One machine at a time works on a run: it leaves a claim beside it and renews it with each push. A
second one is refused. Where two start within the same second, or a claim is taken over from a
machine that was only asleep, the one that finds another's claim stops pushing and says so; no image
or embedding is damaged by both, because every writer's files have names of their own.

URLs hold no secrets: credentials are what fsspec finds (environment, profile, instance).
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from t2ibench.errors import T2IBenchError, first_line, shown
from t2ibench.store.address import (
    cache_folder,
    files_of,
    is_safe,
    is_url,
    make_parent,
    open_store,
    order_of,
    reaching,
    tag_of,
    time_of,
)
from t2ibench.store.files import write_text

__all__ = ["Remote", "is_url", "origin", "remote_at"]

CLAIM = ".claim.json"
STATE = ".remote.json"
STALE = 600.0  # seconds after which a claim that nobody renewed is free


@dataclass(slots=True)
class Remote:
    """A folder of runs at a URL, and its working folder here.

    Attributes:
        url: Where the runs are.
        folder: Where they are worked on.
        known: Path below `folder` to the version there, and size and time here, when both were
            last the same.
        packs: Path below `folder` to the bytes of a pack that is there.
        id: Of this working folder.
    """

    url: str
    folder: Path
    known: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    packs: dict[str, int] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def store(self) -> tuple[Any, str]:
        """The file system and the path in it; fsspec keeps one for all."""
        return open_store(self.url)

    def pull_records(self) -> None:
        """Fetch run.json of every run, by which a generator's folder is found."""
        system, root = self.store
        with reaching(self.url):
            names = [str(name) for name in system.glob(f"{root}/*/run.json")]
        for run in sorted({PurePosixPath(name).parent.name for name in names}):
            self._pull(run, lambda file: file == "run.json")

    def pull(self, run: str) -> None:
        """Fetch a run without its packs of images."""
        self._pull(run, lambda file: not file.endswith(".tar"))

    def _listing(self, run: str) -> dict[str, dict[str, Any]]:
        system, root = self.store
        with reaching(self.url):
            system.invalidate_cache()
            found = system.find(f"{root}/{run}", detail=True)
        start = len(f"{root}/{run}/")
        return {str(name)[start:]: info for name, info in found.items()}

    def _pull(self, run: str, wanted: Any) -> None:
        system, root = self.store
        base = self.folder / run
        for file, info in sorted(self._listing(run).items()):
            relative = f"{run}/{file}"
            if not is_safe(file) or file == CLAIM:
                continue
            if file.endswith(".tar"):
                self.packs[relative] = int(info.get("size") or 0)
            if not wanted(file) or not self._is_newer(relative, info):
                continue
            path = base / file
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.part")
            try:
                with reaching(f"{self.url}/{relative}"):
                    system.get_file(f"{root}/{relative}", str(part))
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
            self._note(relative, tag_of(info))
        self.save()

    def _is_newer(self, relative: str, info: dict[str, Any]) -> bool:
        """Whether what is there has to be fetched."""
        path, known = self.folder / relative, self.known.get(relative)
        if not path.is_file():
            return True
        if known is not None and known[0] == tag_of(info):
            return False
        if path.suffix in {".jsonl", ".safetensors", ".index"}:
            # Of one writer, and only ever longer.
            return int(info.get("size") or 0) > path.stat().st_size
        return known is not None or path.stat().st_mtime < time_of(info)

    def _note(self, relative: str, tag: str) -> None:
        status = (self.folder / relative).stat()
        self.known[relative] = (tag, status.st_size, status.st_mtime_ns)

    def push(self, run: str) -> int:
        """Copy what has changed here, packs first, records last."""
        self.claim(run)
        system, root = self.store
        count = 0
        files = sorted(files_of(self.folder / run), key=order_of)
        for file in files:
            relative = f"{run}/{file}"
            path = self.folder / relative
            try:
                status = path.stat()
            except FileNotFoundError:  # it was removed just now
                continue
            known = self.known.get(relative)
            if known is not None and known[1:] == (status.st_size, status.st_mtime_ns):
                continue
            with reaching(f"{self.url}/{relative}"):
                make_parent(system, f"{root}/{relative}")
                system.put_file(str(path), f"{root}/{relative}")
                info = system.info(f"{root}/{relative}")
            if file.endswith(".tar"):
                self.packs[relative] = status.st_size
            # As it was before the copy: what has come since is copied the next time.
            self.known[relative] = (tag_of(info), status.st_size, status.st_mtime_ns)
            count += 1
        self._forget(run, set(files))
        self.save()
        return count

    def _forget(self, run: str, files: set[str]) -> None:
        """Remove there what was removed here; packs that are only there stay."""
        system, root = self.store
        for relative in [name for name in self.known if name.startswith(f"{run}/")]:
            if relative[len(run) + 1 :] in files or relative.endswith(".tar"):
                continue
            with reaching(self.url):
                if system.exists(f"{root}/{relative}"):
                    system.rm_file(f"{root}/{relative}")
            del self.known[relative]

    def claim(self, run: str) -> None:
        """Take a run, or renew the claim."""
        self._refuse(run)
        system, root = self.store
        mine = {"id": self.id, "host": socket.gethostname(), "pid": os.getpid(), "at": time.time()}
        with reaching(self.url):
            make_parent(system, f"{root}/{run}/{CLAIM}")
            system.pipe_file(f"{root}/{run}/{CLAIM}", json.dumps(mine).encode())
        self._refuse(run)

    def _refuse(self, run: str) -> None:
        """Raise where another machine's claim is there and fresh."""
        system, root = self.store
        try:
            with reaching(self.url):
                try:
                    claim = json.loads(system.cat_file(f"{root}/{run}/{CLAIM}"))
                except FileNotFoundError:
                    return
                age = time.time() - float(claim["at"])
                theirs, who = str(claim["id"]), f"process {int(claim['pid'])} on {claim['host']}"
        except (ValueError, KeyError, TypeError):
            return
        if theirs != self.id and age < STALE:
            raise T2IBenchError(
                f"{shown(who)} works on {self.url}/{run}, as it said {max(age, 0):.0f} s ago.",
                f"Wait until it has ended; {STALE / 60:.0f} minutes after its last word the run is "
                "free. Everything that was made here is kept.",
            )

    def release(self, run: str) -> None:
        """Give a run back."""
        system, root = self.store
        with reaching(self.url):
            if system.exists(f"{root}/{run}/{CLAIM}"):
                system.rm_file(f"{root}/{run}/{CLAIM}")

    def read(self, relative: str, offset: int, size: int) -> bytes:
        """A part of a file that is there."""
        system, root = self.store
        try:
            return bytes(system.cat_file(f"{root}/{relative}", start=offset, end=offset + size))
        except Exception as error:  # every protocol has its own
            raise OSError(first_line(error)) from None

    def save(self) -> None:
        """Write down what is the same here and there."""
        data = {"url": self.url, "id": self.id, "known": self.known, "packs": self.packs}
        write_text(self.folder / STATE, json.dumps(data))


_opened: dict[str, Remote] = {}


def remote_at(url: str) -> Remote:
    """The working folder of a URL; it is made where there is none."""
    url = url.rstrip("/")
    folder = cache_folder() / "remote" / hashlib.sha256(url.encode()).hexdigest()[:16]
    known = _opened.get(str(folder))
    if known is not None and (folder / STATE).is_file():
        return known
    open_store(url)
    remote = Remote(url, folder)
    try:
        data = json.loads((folder / STATE).read_text(encoding="utf-8"))
        remote.id = str(data["id"])
        remote.known = {str(k): (str(v[0]), int(v[1]), int(v[2])) for k, v in data["known"].items()}
        remote.packs = {str(k): int(v) for k, v in data["packs"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        remote.save()
    _opened[str(folder)] = remote
    return remote


def origin(path: Path) -> tuple[Remote, str] | None:
    """Where a file of a working folder comes from."""
    if len(path.parents) < 4:
        return None
    folder = path.parents[3]
    if folder.parent != cache_folder() / "remote":  # only what is ours is believed
        return None
    remote = _opened.get(str(folder))
    if remote is None:
        try:
            url = json.loads((folder / STATE).read_text(encoding="utf-8"))["url"]
            remote = remote_at(str(url))
        except (OSError, ValueError, KeyError, TypeError, T2IBenchError):
            return None
    relative = path.relative_to(folder).as_posix()
    return (remote, relative) if relative in remote.packs else None
