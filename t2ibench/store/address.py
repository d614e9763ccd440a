"""URLs of stores of objects, as fsspec opens them, and what of a run is kept there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from t2ibench.errors import T2IBenchError, first_line, shown

_LEFT_OUT = {".locks", "export"}
_PACKAGES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs"}
_PACKAGES |= {"abfs": "adlfs", "abfss": "adlfs", "hf": "huggingface_hub"}


def is_url(place: str | Path) -> bool:
    """Whether a place is a URL, and not a path."""
    return "://" in str(place)


def cache_folder() -> Path:
    """Where working folders of remote runs are: T2IBENCH_CACHE, or ~/.cache/t2ibench."""
    named = os.environ.get("T2IBENCH_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "t2ibench"


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Turn whatever a store of objects raises into one line."""
    try:
        yield
    except (T2IBenchError, KeyboardInterrupt):
        raise
    except ImportError as error:
        package = _PACKAGES.get(urlsplit(url).scheme)
        raise T2IBenchError(
            f"'{shown(url)}' needs a package that is not installed: {first_line(error)}.",
            f"pip install {package}" if package else None,
        ) from None
    except Exception as error:  # every protocol has its own
        raise T2IBenchError(
            f"'{shown(url)}' cannot be reached: {first_line(error) or type(error).__name__}.",
            "Check the address, the network and the credentials; what is here is kept, and the "
            "same command goes on.",
        ) from None


def open_store(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query:
        raise T2IBenchError(
            f"The address of {parts.scheme}://{parts.hostname or ''} must not hold credentials.",
            "Put them where its client looks for them: the environment or its profile.",
        )
    if "::" in url or parts.scheme in {"http", "https"}:
        raise T2IBenchError(
            f"'{shown(url)}' cannot hold runs.", "Give s3://, gs://, az:// or the like."
        )
    import fsspec

    with reaching(url):
        # Listings are never remembered: others write there.
        system, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
        return system, str(path).rstrip("/")


def tag_of(info: dict[str, Any]) -> str:
    """What tells one version of an object from another."""
    names = ("ETag", "etag", "md5Hash", "LastModified", "mtime", "created")
    found = next((str(info[name]) for name in names if info.get(name)), "")
    return f"{info.get('size')} {found}"


def time_of(info: dict[str, Any]) -> float:
    """When an object was written."""
    found = info.get("LastModified") or info.get("mtime") or info.get("created")
    stamp = getattr(found, "timestamp", None)
    return float(stamp() if callable(stamp) else found or 0.0)


def is_safe(file: str) -> bool:
    """Whether a name that somebody else wrote stays inside of the folder."""
    path = PurePosixPath(file)
    odd = "\\" in file or "\0" in file or ":" in file
    return not (path.is_absolute() or odd or {"..", "."} & set(path.parts) or not file)


def files_of(folder: Path) -> Iterator[str]:
    """What of a run is copied: all but images of their own, locks, and what is not finished."""
    for base, folders, names in os.walk(folder):
        relative = Path(base).relative_to(folder)
        if relative == Path("images"):
            folders[:] = [name for name in folders if len(name) > 2]
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        yield from ((relative / name).as_posix() for name in names if not name.startswith("."))


def order_of(file: str) -> tuple[int, str]:
    """A key by which files are copied: each kind refers to those before it, records come last."""
    kinds = (".tar", ".index", ".safetensors", ".jsonl")
    kind = Path(file).suffix
    number = kinds.index(kind) if kind in kinds else len(kinds)
    return number + 9 * ("/" not in file), file


def make_parent(system: Any, path: str) -> None:
    """Make the folder of a file where there are folders; stores of objects have none."""
    if "file" in system.protocol:
        system.makedirs(path.rpartition("/")[0], exist_ok=True)
