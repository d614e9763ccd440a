"""Hashes of large files are kept, and count only for the file as it was."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench.models import fingerprint, hash_cache
from t2ibench.models.fingerprint import file_hash, folder_hash, in_background
from t2ibench.models.hash_cache import FOLDER, cached_hash

CONTENT = b"weights" * 1000


class Counted:
    """Counts the files that are hashed."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, path: Path) -> str:
        self.calls += 1
        return path.read_bytes().hex()


@pytest.fixture
def count() -> Counted:
    return Counted()


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is large enough, and was written long ago, by the clock of these tests."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "cache"))
    monkeypatch.setattr(hash_cache, "LEAST_BYTES", 1000)
    path = tmp_path / "model.safetensors"
    path.write_bytes(CONTENT)
    later(monkeypatch)
    return path


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr("t2ibench.models.hash_cache.time.time", lambda: now + 60)


def test_a_hash_is_computed_once(weights: Path, count: Counted) -> None:
    first = cached_hash(weights, count)
    assert cached_hash(weights, count) == first == CONTENT.hex()
    link = weights.with_name("link")
    link.symlink_to(weights)
    assert cached_hash(link, count) == first
    assert count.calls == 1


def replace(path: Path) -> None:
    status = path.stat()
    other = path.with_name("other")
    other.write_bytes(CONTENT[::-1])
    other.replace(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def in_place(path: Path) -> None:
    """The same size, the same inode, and the time of the change set back."""
    status = path.stat()
    with path.open("r+b") as file:
        file.write(CONTENT[::-1])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


@pytest.mark.parametrize("change", [replace, in_place, appended])
def test_another_content_is_hashed_again(
    weights: Path,
    count: Counted,
    change: Callable[[Path], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cached_hash(weights, count)
    change(weights)
    later(monkeypatch)
    assert cached_hash(weights, count) == weights.read_bytes().hex() != CONTENT.hex()


def test_a_file_that_has_just_changed_is_not_stored(
    weights: Path, count: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could change again within the same tick of the clock."""
    monkeypatch.undo()
    monkeypatch.setenv(FOLDER, str(weights.with_name("cache")))
    monkeypatch.setattr(hash_cache, "LEAST_BYTES", 1000)
    weights.write_bytes(CONTENT)
    cached_hash(weights, count)
    cached_hash(weights, count)
    assert count.calls == 2


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"state": null}', "\0"])
def test_a_damaged_cache_costs_only_time(
    weights: Path, count: Counted, text: str
) -> None:
    first = cached_hash(weights, count)
    (stored,) = (weights.with_name("cache") / "hashes").iterdir()
    stored.write_text(text)
    assert cached_hash(weights, count) == first
    assert count.calls == 2


def test_a_cache_that_cannot_be_written_is_none(weights: Path, count: Counted) -> None:
    weights.with_name("cache").write_text("a file where a folder should be")
    assert cached_hash(weights, count) == cached_hash(weights, count)
    assert count.calls == 2


def test_no_hash_has_changed(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fingerprints of runs that exist depend on these values."""
    assert file_hash(weights) == (
        "a86d68622f7f02a150c8f7a4a4696b4c15be894ff9f75e556cdd7a8fc17716b3"
    )
    monkeypatch.setattr(fingerprint, "_WHOLE", 1000)
    monkeypatch.setattr(fingerprint, "_BLOCK", 100)
    appended(weights)
    assert (
        file_hash(weights)
        == "921a3e8a67a21d5870357deeee2831e92d7bea5211263c3149b593a34f3a9229"
    )
    folder = weights.with_name("model")
    (folder / "unet").mkdir(parents=True)
    for name in ("b.json", "a.json", "unet/a.json", ".hidden", "readme.md"):
        (folder / name).write_text(name)
    assert (
        folder_hash(folder)
        == "6f927c95c9d9b7814c764ffdd00f1f42f72f7e7c3ab5643dfc1749adfab0bfca"
    )


def test_what_fails_in_the_background_fails_where_it_is_wanted() -> None:
    def fail() -> str:
        raise OSError("unreadable")

    assert in_background(lambda: 3)() == 3
    with pytest.raises(OSError, match="unreadable"):
        in_background(fail)()
