"""What a folder of images may hold besides images: pipes, odd names, deep folders, long tables."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench.apps.explorer.album import open_album
from t2ibench.errors import T2IBenchError, shown
from t2ibench.models.fingerprint import file_hash
from t2ibench.models.generators import folder
from t2ibench.models.generators.image_folder import ImageFolder
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.progress import SilentReporter
from tests.models.test_folder import fill, made, manifest, notes_of

has_pipes = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="this system has no named pipes"
)
NO_FILES: dict[str, Callable[[Path], object]] = {
    "a pipe": lambda path: os.mkfifo(path),  # noqa: PLW0108  # not on Windows
    "a link to a pipe": lambda path: (
        os.mkfifo(path.with_suffix(".pipe")),
        path.symlink_to(path.with_suffix(".pipe").name),
    ),
}


@has_pipes
@pytest.mark.parametrize("name", NO_FILES)
def test_a_pipe_is_the_failure_of_one_image(name: str, tmp_path: Path) -> None:
    fill(tmp_path, ["a nurse/1.png"])
    NO_FILES[name](tmp_path / "a nurse" / "2.png")
    generator = made(tmp_path)
    requests = [ImageRequest("a nurse", index, 0) for index in range(2)]
    first, second = generator.generate(requests)
    assert (first.status, second.status) == ("ok", "failed")
    assert second.reason == "a nurse/2.png: there is no such file"


@has_pipes
def test_the_hash_of_what_has_no_end_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="no ordinary file"):
            file_hash(path)
    with pytest.raises(IsADirectoryError):
        file_hash(tmp_path)


@has_pipes
def test_the_explorer_leaves_out_what_is_no_image(tmp_path: Path) -> None:
    fill(tmp_path, ["1.png", "deep/er/2.png"])
    os.mkfifo(tmp_path / "3.png")
    (tmp_path / "4.png").symlink_to("nowhere.png")
    (tmp_path / "5.png").symlink_to("5.png")
    (tmp_path / "6.png").symlink_to("/dev/zero")
    album = open_album([tmp_path], SilentReporter())
    entries = album.sources[0].entries
    files = {entry.picture.path.name for entry in entries if entry.picture}
    assert files == {"1.png", "2.png"}


@pytest.mark.skipif(os.name == "nt", reason="names are of UTF-16 there")
@pytest.mark.parametrize("layout", ["folder", "table"])
def test_a_prompt_that_is_not_utf_8_disturbs_no_other(
    layout: str, tmp_path: Path
) -> None:
    fill(tmp_path, ["a nurse/1.png", "a chef/1.png"])
    if layout == "folder":
        odd = os.fsdecode(b"a \xff chef")
        (tmp_path / "a chef").rename(tmp_path / odd)
    else:
        rows = [("a nurse/1.png", "a nurse"), ("a chef/1.png", "a \ud800 chef")]
        manifest(tmp_path, [{"file": file, "prompt": text} for file, text in rows])
    generator = made(tmp_path)
    assert generator.available("a nurse") == 1
    assert made(tmp_path).fingerprint == generator.fingerprint


@pytest.mark.skipif(os.name == "nt", reason="paths are shorter there")
def test_folders_in_folders_need_no_calls_within_calls(tmp_path: Path) -> None:
    fill(tmp_path, ["a nurse/1.png"])
    (tmp_path / Path(*["d"] * 300)).mkdir(parents=True)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        generator = made(tmp_path, pattern="{prompt}/{index}.png")
    finally:
        sys.setrecursionlimit(limit)
    assert generator.available("a nurse") == 1


def test_endings_of_files_that_are_left_out_are_a_short_line(tmp_path: Path) -> None:
    fill(tmp_path, ["a nurse/1.png"])
    for number in range(40):
        (tmp_path / "a nurse" / f"file.x{number:02}").touch()
    (line,) = notes_of(tmp_path)
    assert ".x04" in line and ".x05" not in line
    assert line.endswith(" and 35 more are left out.")


def test_a_folder_that_may_not_be_read_is_one_line_with_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, ["a nurse/1.png", "a chef/1.png"])
    closed = tmp_path / "a nurse"
    listed = Path.iterdir

    def refuse(path: Path) -> object:
        if path == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    # The tests may run as root, for whom every folder can be read.
    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(T2IBenchError) as caught:
        ImageFolder(tmp_path).pictures()
    expected = f"'{shown(closed, 400)}' cannot be read: permission denied. "
    assert str(caught.value).startswith(expected)


def test_a_file_of_many_rows_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, ["sub/1.png"])
    read: list[Path] = []

    def hashed(path: Path) -> str:
        read.append(path)
        return "0" * 64

    monkeypatch.setattr(folder, "file_hash", hashed)
    names = ["sub/1.png"] * 50 + ["sub/nowhere.png"] * 50
    manifest(tmp_path, [{"file": name, "prompt": "a nurse"} for name in names])
    assert made(tmp_path).available("a nurse") == 100
    assert sorted(path.name for path in read) == ["1.png", "nowhere.png"]


@pytest.mark.parametrize(
    "name", ["../2.png", "sub/../../2.png", "link.png", "up/2.png", "sub/up/2.png"]
)
def test_each_row_is_kept_inside_though_its_folder_is_known(
    name: str, tmp_path: Path
) -> None:
    inside = tmp_path / "inside"
    fill(tmp_path, ["inside/sub/1.png", "inside/1.png", "2.png"])
    (inside / "up").symlink_to("..")
    (inside / "sub" / "up").symlink_to("../..")
    (inside / "link.png").symlink_to("../2.png")
    rows = [{"file": file, "prompt": "a nurse"} for file in ("1.png", "sub/1.png")]
    manifest(inside, rows)
    assert made(inside).available("a nurse") == 2
    manifest(inside, [*rows, {"file": name, "prompt": "a nurse"}])
    with pytest.raises(T2IBenchError, match="is outside"):
        made(inside)


@pytest.mark.parametrize("given", [None, "list.csv"])
def test_a_table_that_is_a_link_out_of_the_folder_is_not_read(
    given: str | None, tmp_path: Path
) -> None:
    inside = tmp_path / "inside"
    fill(tmp_path, ["inside/a nurse/1.png"])
    outside = tmp_path / "outside.csv"
    outside.write_text("file,prompt\na nurse/1.png,a secret\n", encoding="utf-8")
    (inside / (given or "prompts.csv")).symlink_to(outside)
    arguments = {} if given is None else {"table": given}
    with pytest.raises(T2IBenchError, match=r"table: .* is outside"):
        made(inside, **arguments)
    copied = inside / "copied.txt"
    copied.write_bytes(outside.read_bytes())
    (inside / (given or "prompts.csv")).unlink()
    (inside / (given or "prompts.csv")).symlink_to(copied)
    assert made(inside, **arguments).available("a secret") == 1
