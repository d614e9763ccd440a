"""Images and evidence on disk: atomic, resumable, unconfused by broken files."""

from __future__ import annotations

import errno
import io
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from safetensors.numpy import load_file, save_file

from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.store.answers import AnswerStore, StoredAnswer
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.files import remove_abandoned, set_aside, write_atomically, write_text
from t2ibench.store.images import Attempt, ImageStore, image_key, image_seed
from t2ibench.store.jsonl import append_rows, dump_rows, read_checked_rows, read_rows


def picture(colour: tuple[int, int, int] = (10, 200, 30)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), colour).save(buffer, format="PNG")
    return buffer.getvalue()


def test_a_key_depends_on_fingerprint_prompt_and_index() -> None:
    keys = {
        image_key("f", "a", 0),
        image_key("g", "a", 0),
        image_key("f", "b", 0),
        image_key("f", "a", 1),
        image_key("f", "a\0", 1),
    }
    assert len(keys) == 5


def test_a_seed_does_not_depend_on_the_model() -> None:
    assert image_seed(0, "a", 1) == image_seed(0, "a", 1)
    assert len({image_seed(s, p, i) for s in (0, 1) for p in "ab" for i in (0, 1)}) == 8
    assert 0 <= image_seed(0, "a", 1) < 2**63


def test_images_survive_a_restart_and_torn_lines(tmp_path: Path) -> None:
    store = ImageStore(tmp_path, "f")
    store.record([store.add_image("a", 0, 7, picture(), ".png")])
    with next(tmp_path.glob("*.jsonl")).open("a") as file:
        file.write('{"key": "torn')
    again = ImageStore(tmp_path, "f")
    attempt = again.get("a", 0)
    assert attempt is not None and attempt.seed == 7
    assert again.path(attempt).name == f"{image_key('f', 'a', 0)}.png"
    assert ImageStore(tmp_path, "other").get("a", 0) is None


@st.composite
def attempts(draw: st.DrawFn) -> Attempt:
    """An attempt at an image of the generator 'f', as a store records it."""
    text = st.text(st.characters(exclude_categories=["Cs"]))
    prompt, index = draw(text), draw(st.integers(0, 9999))
    key, seed = image_key("f", prompt, index), draw(st.integers(0, 2**63 - 1))
    status = draw(st.sampled_from(["ok", "refused", "filtered", "failed"]))
    if status == "ok":
        digest = draw(st.binary(min_size=32, max_size=32)).hex()
        return Attempt(key, prompt, index, seed, status, f"{key[:2]}/{key}.png", digest)
    return Attempt(key, prompt, index, seed, status, reason=draw(text))


@settings(max_examples=25)
@given(rows=st.lists(attempts(), max_size=5, unique_by=lambda attempt: attempt.key))
def test_rows_come_back_as_they_were(
    rows: list[Attempt], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = ImageStore(tmp_path_factory.mktemp("rows"), "f")
    store.record(rows)
    for attempt in rows:
        if attempt.file:
            store.path(attempt).parent.mkdir(exist_ok=True)
            store.path(attempt).touch()
    again = ImageStore(store.root, "f")
    assert again.attempts() == sorted(rows, key=lambda attempt: (attempt.prompt, attempt.index))


def test_an_image_without_its_row_is_drawn_again_and_one_without_its_file_too(
    tmp_path: Path,
) -> None:
    store = ImageStore(tmp_path, "f")
    attempt = store.add_image("a", 0, 7, picture(), ".png")  # killed before the row was written
    assert ImageStore(tmp_path, "f").get("a", 0) is None
    store.record([attempt])
    store.path(attempt).unlink()
    assert not ImageStore(tmp_path, "f").is_done("a", 0)


def test_a_failed_attempt_is_tried_again_a_filtered_one_is_not(tmp_path: Path) -> None:
    store = ImageStore(tmp_path, "f")
    store.record([store.add_missing("a", 0, 1, "failed", "out of memory")])
    store.record([store.add_missing("a", 1, 1, "filtered", "black")])
    again = ImageStore(tmp_path, "f")
    assert not again.is_done("a", 0)
    assert again.is_done("a", 1)
    again.record([again.add_image("a", 0, 1, picture(), ".png")])
    again.record([again.add_missing("a", 0, 1, "failed", "a slower worker")])
    assert ImageStore(tmp_path, "f").get("a", 0).status == "ok"


def test_two_writers_share_a_folder(tmp_path: Path) -> None:
    one, two = ImageStore(tmp_path, "f"), ImageStore(tmp_path, "f")
    one.record([one.add_image("a", 0, 1, picture(), ".png")])
    two.record([two.add_image("b", 0, 1, picture(), ".png")])
    both = ImageStore(tmp_path, "f")
    assert both.is_done("a", 0) and both.is_done("b", 0)
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


@pytest.mark.parametrize("file", ["../../etc/passwd", "/etc/passwd", "ab/other.png", "x.exe"])
def test_rows_of_a_foreign_run_cannot_point_outside(tmp_path: Path, file: str) -> None:
    row = {"key": image_key("f", "a", 0), "prompt": "a", "index": 0, "seed": 1, "status": "ok"}
    (tmp_path / "evil.jsonl").write_text(json.dumps({**row, "file": file, "sha256": "0"}) + "\n")
    assert ImageStore(tmp_path, "f").get("a", 0) is None


def test_a_full_disk_is_one_line_and_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_text(tmp_path / "x.json", "old")

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(T2IBenchError, match=r"disk is full.*kept"):
        write_text(tmp_path / "x.json", "new")
    monkeypatch.undo()
    assert (tmp_path / "x.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_what_is_no_file_is_written_to_and_not_replaced(tmp_path: Path) -> None:
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
    with (tmp_path / "out").open("wb") as out:  # /dev/stdout is a link to a plain file now
        subprocess.run([sys.executable, "-c", script], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "text" and Path("/dev/stdout").is_symlink()
    with pytest.raises(T2IBenchError, match="'/' is a folder, where a file is expected"):
        write_text(Path("/"), "text")


def test_evidence_round_trip_and_broken_parts(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path, "open_clip:A/B", "f" * 64)
    keys = [text_key(text) for text in "abc"]
    rows = np.eye(3, 4, dtype=np.float32)
    store.add("texts", keys, rows)
    (store.folder / "texts-broken-000000.safetensors").write_bytes(b"half a file")
    again = EvidenceStore(tmp_path, "open_clip:A/B", "f" * 64)
    assert again.missing("texts", [*keys, text_key("d")]) == [text_key("d")]
    assert np.array_equal(again.get("texts", keys[1]), rows[1])
    assert not again.has("images", keys[0])
    other = EvidenceStore(tmp_path, "open_clip:A/B", "e" * 64)
    assert other.missing("texts", keys) == keys


def unit(n: int, width: int = 8) -> Float32Array:
    rows = np.random.default_rng(n).normal(size=(n, width))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


KEYS = [text_key(text) for text in "abcd"]


def opened(root: Path) -> EvidenceStore:
    return EvidenceStore(root, "e", "f" * 64)


def stored_part(root: Path) -> Path:
    store = opened(root)
    store.add("images", KEYS, unit(4))
    (path,) = store.folder.iterdir()
    return path


@pytest.mark.parametrize("tensor", ["keys", "embeddings", "checksums"])
def test_a_flipped_bit_in_a_part_costs_its_row_alone(tensor: str, tmp_path: Path) -> None:
    path = stored_part(tmp_path)
    tensors = load_file(path)
    tensors[tensor].reshape(-1).view(np.uint8)[-1] ^= 1  # in the last row
    save_file(tensors, path)
    store = opened(tmp_path)
    assert store.missing("images", KEYS) == KEYS[3:]
    assert str(store.damage) == "1 embedding by e"
    store.mend()
    again = opened(tmp_path)
    assert not store.damage and not again.damage
    assert again.missing("images", KEYS) == KEYS[3:] and len(load_file(path)["keys"]) == 3


def test_a_bit_flipped_anywhere_in_a_part_never_changes_a_row(tmp_path: Path) -> None:
    path = stored_part(tmp_path)
    data, rows = path.read_bytes(), unit(4)
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        store = opened(tmp_path)
        assert all(
            np.array_equal(store.get("images", key), row)
            for key, row in zip(KEYS, rows, strict=True)
            if store.has("images", key)
        )
        assert store.damage or not store.missing("images", KEYS)


def test_rows_of_another_width_and_rows_that_are_no_numbers_are_damage(tmp_path: Path) -> None:
    stored_part(tmp_path)
    opened(tmp_path).add("images", [text_key("wide")], unit(1, 9))
    opened(tmp_path).add("texts", [text_key("no vector")], np.full((1, 8), np.nan, np.float32))
    opened(tmp_path).add("images", [text_key("nan")], np.full((1, 8), np.nan, np.float32))
    store = opened(tmp_path)
    assert store.missing("images", [*KEYS, text_key("wide"), text_key("nan")]) == [
        text_key("wide"), text_key("nan"),
    ]  # fmt: skip
    assert store.has("texts", text_key("no vector"))
    assert str(store.damage) == "2 embeddings by e" and store.width == 8
    store.mend()
    assert not opened(tmp_path).damage


def test_parts_of_older_versions_and_of_submissions_are_read(tmp_path: Path) -> None:
    path = stored_part(tmp_path)
    tensors = load_file(path)
    del tensors["checksums"]
    for kind in (np.float32, np.float16):
        save_file(tensors | {"embeddings": unit(4).astype(kind)}, path)
        store = opened(tmp_path)
        assert not store.damage and not store.missing("images", KEYS)


def answer(number: int) -> StoredAnswer:
    return StoredAnswer(f"{number:064x}", "Which?", ("a", "b"), "a", "a \ud800 \x00 0.9")


def test_a_bit_flipped_anywhere_in_an_answer_never_changes_it(tmp_path: Path) -> None:
    rows = [answer(number) for number in range(3)]
    AnswerStore(tmp_path, "j", "f" * 64).add(rows)
    (path,) = (AnswerStore(tmp_path, "j", "f" * 64)).folder.iterdir()
    data = path.read_bytes()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        store = AnswerStore(tmp_path, "j", "f" * 64)
        found = [store.get(row.image, row.question, row.classes) for row in rows]
        assert all(one in (row, None) for one, row in zip(found, rows, strict=True))
        torn = at == len(data) - 1  # without its end, a line counts as being written
        assert store.damage or torn or None not in found


def test_damage_that_was_made_good_is_said_once(tmp_path: Path) -> None:
    store = AnswerStore(tmp_path, "j", "f" * 64)
    store.add([answer(1), answer(2)])
    (path,) = store.folder.iterdir()
    path.write_bytes(path.read_bytes().replace(b'"Which?"', b'"Whicx?"', 1))
    again = AnswerStore(tmp_path, "j", "f" * 64)
    assert str(again.damage) == "1 line of answers by j"
    again.mend()
    again.add([answer(1)])
    assert not AnswerStore(tmp_path, "j", "f" * 64).damage
    path.write_bytes(path.read_bytes().replace(b'"Which?"', b'"Whicx?"'))
    assert str(AnswerStore(tmp_path, "j", "f" * 64).damage) == "1 line of answers by j"


def test_a_row_with_another_key_is_another_image(tmp_path: Path) -> None:
    store = ImageStore(tmp_path, "f")
    store.record([store.add_missing("a nurse", 0, 1, "refused", "no")])
    (path,) = tmp_path.glob("*.jsonl")
    row = json.loads(path.read_text())
    del row["crc32"]
    path.write_text(json.dumps(row | {"prompt": "a nurze"}) + "\n")  # of an older version
    assert len(ImageStore(tmp_path, "f")) == 0
    path.write_text(json.dumps(row) + "\n")
    assert ImageStore(tmp_path, "f").get("a nurse", 0) is not None
    path.write_text(json.dumps(row | {"prompt": "\ud800"}) + "\n")
    assert len(ImageStore(tmp_path, "f")) == 0


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_an_interrupted_append_costs_its_own_row_alone(share: float, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    append_rows(file, [{"n": 1}], checked=True)
    with file.open("ab") as out:
        line = dump_rows([{"n": 2, "text": "é" * 9}], checked=True)
        out.write(line[: int(len(line) * share)])
    assert [row["n"] for row in read_checked_rows(file).rows] == [1]
    assert not read_checked_rows(file).damaged  # it may be being written
    append_rows(file, [{"n": 3}], checked=True)
    read = read_checked_rows(file)
    assert [row["n"] for row in read.rows] == [1, 3] and len(read.damaged) == 1
    assert [row["n"] for row in read_rows(file)] == [1, 3]


def test_rows_are_read_on_from_where_reading_stopped(tmp_path: Path) -> None:
    one, two = ImageStore(tmp_path, "f"), ImageStore(tmp_path, "f")
    for prompt in ("a", "b"):
        one.record([one.add_missing(prompt, 0, 1, "refused", "no")])
        two.refresh()
        assert two.is_done(prompt, 0)
    two.refresh()
    assert len(two) == 2
    first, second = opened(tmp_path), opened(tmp_path)
    first.add("texts", KEYS, unit(4))
    assert second.refresh() and not second.missing("texts", KEYS) and not second.refresh()
    assert not first.refresh()


def test_an_image_without_its_file_is_known_but_not_done(tmp_path: Path) -> None:
    store = ImageStore(tmp_path, "f")
    attempt = store.add_image("a", 0, 7, picture(), ".png")
    store.record([attempt])
    store.path(attempt).unlink()
    again = ImageStore(tmp_path, "f")
    assert again.get("a", 0) == attempt and not again.is_done("a", 0)
    assert again.attempts() == [] and again.removed() == 1


def test_temporary_files_of_dead_processes_are_removed(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    seen: list[Path] = []
    write_atomically(tmp_path / "deep" / "x.json", lambda path: (seen.append(path), path.touch()))
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
    for name in (elsewhere, older, ".mine.tmp", "notes.tmp"):
        os.utime(tmp_path / "deep" / name, (1, 1))
    assert remove_abandoned(tmp_path) == 2
    left = {path.name for path in (tmp_path / "deep").iterdir()}
    assert left == {"x.json", own.name, ".mine.tmp", "notes.tmp"}


def test_three_files_that_were_set_aside_are_kept(tmp_path: Path) -> None:
    for number in range(1, 7):
        (tmp_path / "run.json").write_text(str(number))
        set_aside(tmp_path / "run.json")
    kept = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert kept == {f"run.json.broken-{number}": str(number) for number in (4, 5, 6)}


def test_records_are_on_the_disk_before_they_have_their_name(
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
    now = time.monotonic()
    monkeypatch.setattr("t2ibench.store.rows.time.monotonic", lambda: now)
    write_text(tmp_path / "run.json", "{}")
    assert done == ["file", "rename", "folder"]
    done.clear()
    opened(tmp_path).add("images", KEYS, unit(4))
    assert done == ["file", "rename", "folder"]
    done.clear()
    store = ImageStore(tmp_path, "f")
    images = [store.add_image("a", index, 7, picture(), ".png") for index in range(3)]
    assert done == ["rename"] * 3  # their hashes tell if one is lost
    store.record(images)
    assert done[3:] == ["file", "folder"]
    done.clear()
    store.record([store.add_missing("b", 0, 7, "refused", "no")])
    assert done == []  # once a second is enough
    monkeypatch.setattr("t2ibench.store.rows.time.monotonic", lambda: now + 2)
    store.record([store.add_missing("b", 1, 7, "refused", "no")])
    assert done == ["file"]


def test_a_file_system_that_cannot_sync_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(_: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "fsync", no)
    write_text(tmp_path / "x", "1")
    append_rows(tmp_path / "rows", [{"a": 1}])
    assert (tmp_path / "x").read_text() == "1" and len(list(read_rows(tmp_path / "rows"))) == 1


def test_rows_that_are_not_held_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("t2ibench.store.evidence._HELD_BYTES", 100)  # three rows
    store, rows = opened(tmp_path), unit(4)
    for key, row in zip(KEYS, rows, strict=True):
        store.add("images", [key], row[None])
    for one in (store, opened(tmp_path)):
        for _ in range(2):
            assert all(
                np.array_equal(one.get("images", k), r) for k, r in zip(KEYS, rows, strict=True)
            )
        assert one.width == 8 and len({one.checksum("images", key) for key in KEYS}) == 4
    again = opened(tmp_path)
    for path in again.folder.iterdir():
        path.unlink()
    with pytest.raises(T2IBenchError, match="changed or deleted while it was in use"):
        for key in KEYS:
            again.get("images", key)
