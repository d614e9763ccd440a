"""Everything that a disk can answer, as one line with a next step."""

from __future__ import annotations

import csv
import errno
import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.store.file_errors import disk_errors, reading
from t2ibench.store.files import natural_key, write_bytes, write_text
from t2ibench.store.jsonl import append_rows, read_rows
from t2ibench.store.people_tables.reader import read_table

# What is said of each, beside the path.
WRITING = {
    errno.ENOSPC: "disk is full",
    errno.EDQUOT: "disk is full",
    errno.EACCES: "permission denied",
    errno.EROFS: "read-only",
    errno.ENAMETOOLONG: "too long",
    errno.EISDIR: "is a folder",
    errno.ENOENT: "no such file",
    errno.EMFILE: "too many open files",
    # another command has written the folder meanwhile
    errno.ENOTEMPTY: "it exists already",
}


@pytest.mark.parametrize("number", WRITING, ids=[errno.errorcode[n] for n in WRITING])
def test_every_answer_of_the_disk_is_one_line(number: int, tmp_path: Path) -> None:
    path = tmp_path / "x"
    with pytest.raises(T2IBenchError) as caught, disk_errors(path):
        raise OSError(number, os.strerror(number))
    told = str(caught.value)
    assert WRITING[number] in told and str(path) in told and "\n" not in told
    with pytest.raises(T2IBenchError) as caught, reading(path):
        raise OSError(number, os.strerror(number))
    assert "cannot be read" in str(caught.value) and str(path) in str(caught.value)


def test_a_reader_that_has_gone_is_no_error_of_the_disk(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), disk_errors(tmp_path):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


WRITERS: dict[str, Callable[[Path], object]] = {
    "text": lambda path: write_text(path, "x"),
    "bytes": lambda path: write_bytes(path, b"x"),
    "rows": lambda path: append_rows(path, [{"a": 1}]),
}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("file/x", "'{root}/file' is a file, not a folder"),
        ("gone/x", "'{root}/gone' is a link that leads nowhere"),
        ("loop/x", "'{root}/loop' is a link that leads nowhere"),
        ("folder", "it is a folder, where a file is expected"),
        ("n" * 300, "file name too long"),
        ("a\0b", "no file of this system has such a name"),
    ],
)
@pytest.mark.parametrize("writer", WRITERS)
def test_paths_that_cannot_be_written(
    name: str, message: str, writer: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("kept")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(T2IBenchError) as caught:
        WRITERS[writer](tmp_path / name)
    assert message.format(root=tmp_path) in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "kept"


def test_text_that_utf8_cannot_hold_is_written_and_read_again(tmp_path: Path) -> None:
    append_rows(tmp_path / "rows.jsonl", [{"a": "male\udcff 😀"}])
    assert list(read_rows(tmp_path / "rows.jsonl")) == [{"a": "male\udcff 😀"}]
    write_text(tmp_path / "x.md", "a \udcff")
    assert (tmp_path / "x.md").read_bytes() == b"a \\udcff"


KINDS = (OverflowError, ValueError, EOFError, csv.Error, zlib.error, OSError)
RAISED = {kind("this is why"): "this is why" for kind in KINDS} | {
    RecursionError("maximum recursion depth exceeded"): "nested too deeply",
    MemoryError(): "does not fit into memory",
}


@pytest.mark.parametrize("error", RAISED)
def test_whatever_a_reader_raises_is_one_line(error: Exception, tmp_path: Path) -> None:
    with (
        pytest.raises(T2IBenchError) as caught,
        reading(tmp_path / "x.csv", "Give a CSV."),
    ):
        raise error
    assert RAISED[error] in str(caught.value) and "x.csv" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 5000 + b'{"a": "\xe9\x81"}\n')
    with pytest.raises(T2IBenchError, match=r"rows\.jsonl:5001 is not UTF-8"):
        read_table(path)


def test_names_with_odd_digits_have_an_order() -> None:
    names = ["²", "2", "x²", "10", "٣", "½"]
    assert sorted(names, key=natural_key)[:3] == ["2", "٣", "10"]
