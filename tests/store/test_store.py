"""Images and evidence on disk: atomic, resumable, unconfused by broken files."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from t2ibench.errors import T2IBenchError
from t2ibench.store.evidence import EvidenceStore, text_key
from t2ibench.store.files import write_text
from t2ibench.store.images import Attempt, ImageStore, image_key, image_seed


def picture(colour: tuple[int, int, int] = (10, 200, 30)) -> Image.Image:
    return Image.new("RGB", (8, 8), colour)


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
    store.record([store.add_image("a", 0, 7, picture())])
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
    attempt = store.add_image("a", 0, 7, picture())  # killed before the row was written
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
    again.record([again.add_image("a", 0, 1, picture())])
    again.record([again.add_missing("a", 0, 1, "failed", "a slower worker")])
    assert ImageStore(tmp_path, "f").get("a", 0).status == "ok"


def test_two_writers_share_a_folder(tmp_path: Path) -> None:
    one, two = ImageStore(tmp_path, "f"), ImageStore(tmp_path, "f")
    one.record([one.add_image("a", 0, 1, picture())])
    two.record([two.add_image("b", 0, 1, picture())])
    both = ImageStore(tmp_path, "f")
    assert both.is_done("a", 0) and both.is_done("b", 0)
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


@pytest.mark.parametrize("file", ["../../etc/passwd", "/etc/passwd", "ab/other.png", "x.exe"])
def test_rows_of_a_foreign_run_cannot_point_outside(tmp_path: Path, file: str) -> None:
    row = {"key": image_key("f", "a", 0), "prompt": "a", "index": 0, "seed": 1, "status": "ok"}
    (tmp_path / "evil.jsonl").write_text(json.dumps({**row, "file": file, "sha256": "0"}) + "\n")
    assert ImageStore(tmp_path, "f").get("a", 0) is None


def test_an_existing_picture_is_copied_byte_for_byte(tmp_path: Path) -> None:
    source = tmp_path / "x.JPG"
    picture().save(source, format="JPEG")
    store = ImageStore(tmp_path / "images", "f")
    attempt = store.add_file("a", 0, 1, source)
    assert store.path(attempt).suffix == ".jpg"
    assert store.path(attempt).read_bytes() == source.read_bytes()


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
