"""An evidence.db that lies elsewhere; results, hashes and thumbnails stay in the folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from t2ibench.apps.leaderboard.bounds import LARGEST, plain_files
from t2ibench.apps.leaderboard.evidence import NAME
from t2ibench.apps.leaderboard.submission import Evidence, read_manifest
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.addresses import addresses, is_public
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import write_text

_WAIT = 60.0  # seconds for a connection, and between two parts of an answer
_LONGEST = 900.0  # seconds for all of it
_REDIRECTS = 5
_BLOCK = 1 << 20
_PORTS = {"http": 80, "https": 443}
_ALLOW = "--local reads it"


def send(folder: Path, to: str, url: str | None = None, home: Path | None = None) -> Evidence:
    """Move a submission's evidence.db elsewhere, so that its folder is small.

    `home` is where the folder will lie, if not where it is.
    """
    if "://" in to:
        raise T2IBenchError(
            f"'{to}' is no path.",
            "Write a file with --evidence-to, upload it, and say where with --evidence-url.",
        )
    away = Path(to) / f"{folder.name}.db" if to.endswith("/") or Path(to).is_dir() else Path(to)
    manifest, source = read_manifest(folder), folder / NAME
    with disk_errors(away):
        away.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, away)
    seen = Path(os.path.relpath(away, home or folder)).as_posix()
    evidence = Evidence(url=url or seen, sha256=manifest.files[NAME], bytes=source.stat().st_size)
    source.unlink()
    manifest.evidence = evidence
    write_text(folder / "submission.json", manifest.model_dump_json(indent=1) + "\n")
    return evidence


@contextmanager
def materialised(folder: Path, local: bool = False) -> Iterator[Path]:
    """A submission with all of its files; of private networks and this disk only if allowed."""
    files, problems = plain_files(folder)
    evidence = None if problems else read_manifest(folder).evidence
    if evidence is None:
        yield folder
        return
    if NAME in files:
        raise T2IBenchError(f"{NAME} lies elsewhere, and is there too")
    with tempfile.TemporaryDirectory(prefix="t2ibench-") as scratch:
        target = Path(scratch) / folder.name
        shutil.copytree(folder, target)
        _fetch(evidence, folder, target / NAME, local)
        yield target


def _fetch(evidence: Evidence, folder: Path, to: Path, local: bool) -> None:
    """Copy the evidence, at most as many bytes as submission.json says."""
    if evidence.bytes > LARGEST:
        raise T2IBenchError(
            f"its evidence has {evidence.bytes / 1e6:.0f} MB; {LARGEST / 1e6:.0f} are accepted"
        )
    url, digest, size = evidence.url, hashlib.sha256(), 0
    shown, until = " ".join(url.split())[:200], monotonic() + _LONGEST
    try:
        with closing(_blocks(url, folder, local)) as blocks, to.open("wb") as file:
            for block in blocks:
                size += len(block)
                if monotonic() > until:
                    raise T2IBenchError(f"{shown} takes more than {_LONGEST:.0f} seconds")
                if size > evidence.bytes:
                    raise T2IBenchError(f"{shown} has more than {evidence.bytes} bytes")
                digest.update(block)
                file.write(block)
    except T2IBenchError:
        raise
    except Exception as error:  # of the network
        why = f"{type(error).__name__}: {first_line(error)}"
        raise T2IBenchError(f"its evidence cannot be fetched from {shown} ({why})") from None
    if size != evidence.bytes or digest.hexdigest() != evidence.sha256:
        raise T2IBenchError(f"{shown} is not the evidence that submission.json names")


def _blocks(url: str, folder: Path, local: bool) -> Generator[bytes, None, None]:
    """What lies at an address, a block at a time."""
    scheme = urlsplit(url).scheme.lower() if "://" in url else "file"
    if scheme in _PORTS:
        yield from _web(url, local)
        return
    if scheme != "file":
        raise ValueError(f"expected http, https or file, not {scheme}")
    if not local:
        raise ValueError(f"it is a file outside of the submission; {_ALLOW}")
    path = Path(unquote(urlsplit(url).path)) if "://" in url else folder / url
    # Neither a pipe nor a device, which never end.
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError("it is not a plain file")
    with path.open("rb") as source:
        yield from iter(lambda: source.read(_BLOCK), b"")


def _web(url: str, local: bool) -> Iterator[bytes]:
    """The parts of an answer as they come; redirects stay on the web, without this user's keys."""
    import httpx

    with httpx.Client(timeout=_WAIT, headers={"Accept-Encoding": "identity"}) as client:
        for _ in range(_REDIRECTS + 1):
            parts = urlsplit(url)
            if parts.scheme.lower() not in _PORTS or not parts.hostname:
                raise ValueError("it leads away from the web")
            request = client.build_request("GET", url)
            if not local:  # the very one that was checked, whatever the name means by now
                request.extensions["sni_hostname"] = parts.hostname
                request.url = request.url.copy_with(host=_public(parts))
            answer = client.send(request, stream=True)
            if not answer.has_redirect_location:
                answer.raise_for_status()
                yield from answer.iter_raw()
                return
            url = urljoin(url, answer.headers["Location"])
        raise ValueError("it is redirected too often")


def _public(parts: SplitResult) -> str:
    found = addresses(parts.hostname or "", parts.port or _PORTS[parts.scheme.lower()])
    if not found or not all(map(is_public, found)):
        raise ValueError(f"it is in a private network; {_ALLOW}")
    return found[0]
