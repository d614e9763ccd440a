"""Images and files on disk: atomic, resumable, unconfused by broken ones."""

from __future__ import annotations

import errno
import io
import os
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from unittest.mock import Mock

import pytest
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.store.database import Database
from t2ibench.store.files import remove_abandoned, write_atomically, write_text
from t2ibench.store.images import Attempt, ImageStore, file_key, image_seed
from t2ibench.store.jsonl import append_rows, dump_rows, read_rows
from t2ibench.store.schema import row_checksum


def picture(colour: tuple[int, int, int] = (10, 200, 30)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(buffer, format="PNG")
    return buffer.getvalue()


def test_a_clock_that_jumps_takes_no_file_from_its_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is set right by years while a file is written."""

    def write(temporary: Path) -> None:
        temporary.write_text("half")
        real = time.time()
        with monkeypatch.context() as patch:
            patch.setattr("t2ibench.store.files.time.time", lambda: real + 10**9)
            assert remove_abandoned(tmp_path) == 0
        temporary.write_text("whole")

    write_atomically(tmp_path / "a.txt", write)
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_an_image_made_from_another_is_found_by_its_source_too(tmp_path: Path) -> None:
    store = ImageStore(Database(tmp_path), "f")
    plain = ImageKey.of("a", 0)
    edited = [ImageKey.of("a", 0, source * 64) for source in "89"]
    assert len({file_key("f", key) for key in (plain, *edited)}) == 3
    # A prompt that looks like a hash is a prompt.
    hashes = [ImageKey.of("8" * 64, 0), ImageKey.of("8" * 64, 0, "9" * 64)]
    keys = [plain, *edited, *hashes]
    store.record(Attempt(key, seed, "refused") for seed, key in enumerate(keys))
    again = ImageStore(Database(tmp_path), "f")
    stored = [again.get(key) for key in keys]
    assert [attempt.seed for attempt in stored if attempt] == [0, 1, 2, 3, 4]
    for attempt, key in zip(stored, keys, strict=True):
        assert (attempt.key.prompt, attempt.key.source) == (key.prompt, key.source)
    assert len(list(again.all_attempts())) == 5


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("sha256", b"\x00"),
        ("seed", "seven"),
        ("try", 1.5),
        ("number", b"0"),
        ("file", b"a.png"),
        ("status", b"ok"),
    ],
)
def test_a_value_of_another_type_is_no_image(
    tmp_path: Path, column: str, value: object
) -> None:
    """SQLite stores any type in any column, and a checksum fits what somebody wrote."""
    store = ImageStore(Database(tmp_path), "f")
    images = [
        store.add_image(ImageKey.of("a", k), k, picture(), ".png") for k in (0, 1)
    ]
    store.record(images)
    with closing(sqlite3.connect(tmp_path / "run.db")) as connection, connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute("SELECT * FROM attempts").fetchone()) | {
            column: value
        }
        connection.execute("DELETE FROM attempts WHERE number = 0")
        row["crc"] = row_checksum([*row.values()][:-1])
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO attempts VALUES ({marks})", (*row.values(),))
    attempts = ImageStore(Database(tmp_path), "f").attempts()
    assert [attempt.index for attempt in attempts] == [1]


def test_keys_depend_on_the_model_and_seeds_do_not() -> None:
    places = [
        ("f", "a", 0),
        ("g", "a", 0),
        ("f", "b", 0),
        ("f", "a", 1),
        ("f", "a\0", 1),
    ]
    assert len({file_key(model, ImageKey.of(*image)) for model, *image in places}) == 5
    assert image_seed(0, "a", 1) == image_seed(0, "a", 1)
    assert len({image_seed(s, p, i) for s in (0, 1) for p in "ab" for i in (0, 1)}) == 8
    assert 0 <= image_seed(0, "a", 1) < 2**63


def test_an_image_without_its_row_or_without_its_file_is_drawn_again(
    tmp_path: Path,
) -> None:
    store = ImageStore(Database(tmp_path), "f")
    # killed before the row was written
    attempt = store.add_image(ImageKey.of("a", 0), 7, picture(), ".png")
    assert ImageStore(Database(tmp_path), "f").get(ImageKey.of("a", 0)) is None
    store.record([attempt])
    store.path(attempt).unlink()
    again = ImageStore(Database(tmp_path), "f")
    assert again.get(ImageKey.of("a", 0)) == attempt and not again.is_done(
        ImageKey.of("a", 0)
    )
    assert again.attempts() == []


def test_a_failed_attempt_is_tried_again_a_filtered_one_is_not(tmp_path: Path) -> None:
    store = ImageStore(Database(tmp_path), "f")
    store.record([Attempt(ImageKey.of("a", 0), 1, "failed", reason="out of memory")])
    store.record([Attempt(ImageKey.of("a", 1), 1, "filtered", reason="black")])
    again = ImageStore(Database(tmp_path), "f")
    assert not again.is_done(ImageKey.of("a", 0))
    assert again.is_done(ImageKey.of("a", 1))
    done = [again.n_done(*first) for first in (("a", 1), ("a", 2), ("a", 9), ("b", 9))]
    assert done == [0, 1, 1, 0]
    again.record([again.add_image(ImageKey.of("a", 0), 1, picture(), ".png")])
    again.record([Attempt(ImageKey.of("a", 0), 1, "failed", reason="a slower worker")])
    last = ImageStore(Database(tmp_path), "f")
    assert last.get(ImageKey.of("a", 0)).status == "ok" and last.n_done("a", 9) == 2


def test_a_full_disk_is_one_line_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(tmp_path / "x.json", "old")
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(Path, "write_text", Mock(side_effect=full))
    with pytest.raises(T2IBenchError, match=r"disk is full.*kept"):
        write_text(tmp_path / "x.json", "new")
    monkeypatch.undo()
    assert (tmp_path / "x.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_pipes_and_devices_are_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "text")
    assert os.read(reader, 10) == b"text" and pipe.is_fifo()
    os.close(reader)
    write_text(Path("/dev/null"), "text")
    assert Path("/dev/null").is_char_device()
    script = "from pathlib import Path; from t2ibench.store.files import write_text"
    script += "; write_text(Path('/dev/stdout'), 'text')"
    # /dev/stdout is a link to a plain file now
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", script], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "text" and Path("/dev/stdout").is_symlink()
    with pytest.raises(
        T2IBenchError, match="'/' is a folder, where a file is expected"
    ):
        write_text(Path("/"), "text")


def test_temporary_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    seen: list[Path] = []
    write_atomically(
        tmp_path / "deep" / "x.json", lambda path: (seen.append(path), path.touch())
    )
    own = seen[0]
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    ours = own.name.replace(f".{os.getpid()}.", f".{process.pid}.")
    elsewhere = ".x.json.another-host.1.0.tmp"
    older = ".x.json.77.0.tmp"  # as older versions named them
    for name in (own.name, ours, elsewhere, older, ".mine.tmp", "notes.tmp"):
        (tmp_path / "deep" / name).touch()
    assert remove_abandoned(tmp_path) == 1
    assert not (tmp_path / "deep" / ours).exists()
    for path in set((tmp_path / "deep").iterdir()) - {tmp_path / "deep" / own.name}:
        os.utime(path, (1, 1))
    assert remove_abandoned(tmp_path) == 2
    left = {path.name for path in (tmp_path / "deep").iterdir()}
    assert left == {"x.json", own.name, ".mine.tmp", "notes.tmp"}


def test_a_file_system_that_cannot_sync_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        os, "fsync", Mock(side_effect=OSError(errno.EINVAL, "Invalid argument"))
    )
    write_text(tmp_path / "x", "1")
    append_rows(tmp_path / "rows", [{"a": 1}])
    assert (tmp_path / "x").read_text() == "1" and len(
        list(read_rows(tmp_path / "rows"))
    ) == 1


def test_an_interrupted_append_costs_its_own_row_alone(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    append_rows(file, [{"n": 1}])
    with file.open("ab") as out:
        out.write(dump_rows([{"n": 2, "text": "é" * 9}])[:15])
    append_rows(file, [{"n": 3}])
    assert [row["n"] for row in read_rows(file)] == [1, 3]


def test_results_are_on_the_disk_before_they_have_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        done.append("folder" if folder else "file")
        sync(descriptor)

    def rename(path: Path, target: Path) -> Path:
        done.append("rename")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", rename)
    write_text(tmp_path / "results.json", "{}")
    assert done == ["file", "rename", "folder"]
    done.clear()
    store = ImageStore(Database(tmp_path), "f")
    for index in range(3):
        store.add_image(ImageKey.of("a", index), 7, picture(), ".png")
    assert done == ["rename"] * 3  # their hashes tell if one is lost
