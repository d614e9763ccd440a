"""An evidence.db that lies elsewhere; results, hashes and thumbnails stay in the folder."""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from t2ibench.apps.leaderboard.bounds import LARGEST, LARGEST_JSON, plain_files
from t2ibench.apps.leaderboard.evidence import NAME
from t2ibench.apps.leaderboard.submission import Evidence, Manifest, read_manifest
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.models.addresses import addresses, is_public
from t2ibench.store.files import write_bytes, write_text

RESULTS = "results.json.xz"
LARGEST_IN_GIT = 500_000  # bytes of a submission whose evidence lies elsewhere
_WAIT = 60.0  # seconds for a connection, and between two parts of an answer
_LONGEST = 900.0  # seconds for all of it
_REDIRECTS = 5
_BLOCK = 1 << 20
_PORTS = {"http": 80, "https": 443}
_ALLOW = "--local reads it"
# What fsspec may open for a stranger: stores of files, nothing that chains or reads archives.
_STORES = ("hf", "s3", "gs", "az", "abfs")


def send(folder: Path, to: str, url: str | None = None, home: Path | None = None) -> Evidence:
    """Move a submission's evidence.db elsewhere, and compress its results; the folder is small.

    `home` is where the folder will lie, if not where it is.
    """
    if to.endswith("/") or Path(to).is_dir():
        to = f"{to.rstrip('/')}/{folder.name}.db"
    manifest, source = read_manifest(folder), folder / NAME
    _put(source, to)
    seen = to if "://" in to else Path(os.path.relpath(to, home or folder)).as_posix()
    evidence = Evidence(url=url or seen, sha256=manifest.files[NAME], bytes=source.stat().st_size)
    source.unlink()
    results = (folder / "results.json").read_bytes()
    write_bytes(folder / RESULTS, lzma.compress(results, preset=9 | lzma.PRESET_EXTREME))
    (folder / "results.json").unlink()
    manifest.evidence = evidence
    write_text(folder / "submission.json", manifest.model_dump_json(indent=1) + "\n")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > LARGEST_IN_GIT:
        raise T2IBenchError(
            f"What is left in '{folder}' has {size / 1e3:.0f} kB; {LARGEST_IN_GIT / 1e3:.0f} are "
            "accepted.",
            "Leave --thumbnails out, or use fewer of them.",
        )
    return evidence


def _put(file: Path, to: str) -> None:
    scheme = urlsplit(to).scheme if "://" in to else "file"
    if scheme in {"http", "https"}:
        raise T2IBenchError(
            f"'{to}' cannot be written over {scheme}.",
            "Write a file with --evidence-to, upload it, and say where with --evidence-url.",
        )
    try:
        if scheme == "file":
            target = Path(unquote(urlsplit(to).path) if "://" in to else to)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
            return
        with _store(scheme, to, "wb") as written, file.open("rb") as source:
            shutil.copyfileobj(source, written, _BLOCK)
    except (OSError, ValueError, ImportError) as error:
        raise T2IBenchError(f"'{to}' cannot be written: {first_line(error)}.") from None


def is_small(folder: Path) -> bool:
    """Whether a submission's evidence lies elsewhere."""
    return (folder / RESULTS).is_file()


@contextmanager
def materialised(folder: Path, local: bool = False) -> Iterator[Path]:
    """A submission with all of its files; of private networks and this disk only if allowed."""
    if not is_small(folder):
        yield folder
        return
    manifest = _small(folder)
    if manifest.evidence is None:
        raise T2IBenchError(f"{RESULTS} is there, and submission.json names no evidence elsewhere")
    with tempfile.TemporaryDirectory(prefix="t2ibench-") as scratch:
        target = Path(scratch) / folder.name
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns(RESULTS))
        write_bytes(target / "results.json", unpacked(folder))
        _fetch(manifest.evidence, folder, target / NAME, local)
        yield target


def _small(folder: Path) -> Manifest:
    """The manifest of a folder that holds little."""
    files, problems = plain_files(folder)
    size = sum(path.stat().st_size for path in (folder / "submission.json", *files.values()))
    twice = [name for name in ("results.json", NAME) if name in files]
    problems += [f"{name} lies elsewhere, and is there too" for name in twice]
    if size > LARGEST_IN_GIT:
        problems.append(
            f"it has {size / 1e3:.0f} kB beside its evidence; {LARGEST_IN_GIT / 1e3:.0f} are "
            "accepted"
        )
    if problems:
        raise T2IBenchError(problems[0])
    return read_manifest(folder)


def unpacked(folder: Path) -> bytes:
    """Compressed results; never more than a results.json may have."""
    reader = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=200_000_000)
    try:
        data = reader.decompress((folder / RESULTS).read_bytes(), max_length=LARGEST_JSON + 1)
    except lzma.LZMAError as error:
        raise T2IBenchError(f"{RESULTS} is damaged ({first_line(error)})") from None
    if len(data) > LARGEST_JSON or not reader.eof or reader.unused_data:
        raise T2IBenchError(f"{RESULTS} is too large, or more than one file")
    return data


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
    except Exception as error:  # of the network and of plug-ins of fsspec
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
    if scheme == "file":
        if not local:
            raise ValueError(f"it is a file outside of the submission; {_ALLOW}")
        path = Path(unquote(urlsplit(url).path)) if "://" in url else folder / url
        # Neither a pipe nor a device, which never end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError("it is not a plain file")
        source: Any = path.open("rb")
    elif scheme in _STORES:
        source = _store(scheme, url, "rb")
    else:
        raise ValueError(f"expected http, https, file or {', '.join(_STORES)}, not {scheme}")
    with source:
        yield from iter(lambda: source.read(_BLOCK), b"")


def _store(scheme: str, url: str, mode: str) -> Any:
    import fsspec

    if scheme not in _STORES or "::" in url:
        raise ValueError(f"expected a path, or an address of {', '.join(_STORES)}")
    return fsspec.open(url, mode).open()


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
