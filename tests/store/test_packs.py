"""Packs: the same bytes, hashes and answers as files; a kill or a lost index loses none."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from t2ibench.store.attempts import Attempt
from t2ibench.store.files import remove_abandoned
from t2ibench.store.images import ImageStore
from t2ibench.store.packing import THREADS, pack
from t2ibench.store.pixels import UnreadableImageError
from t2ibench.store.unpacking import unpack

PROMPTS = ["a photo of a nurse", "zwölf\nBoxkämpfer", "half a pair: \ud83d", "../../etc/passwd"]


def picture(number: int) -> Image.Image:
    return Image.new("RGB", (8, 8), (number % 256, number // 256, 9))


def filled(root: Path, prompts: list[str] = PROMPTS, n: int = 3) -> ImageStore:
    """A store of images, one refusal and one failure."""
    store = ImageStore(root, "f")
    made = [
        store.add_image(prompt, index, 5, picture(10 * number + index))
        for number, prompt in enumerate(prompts)
        for index in range(n)
    ]
    refused = store.add_missing(prompts[0], n, 5, "refused", "no reason was given")
    store.record([*made, refused, store.add_missing(prompts[0], n + 1, 5, "failed", "memory")])
    return ImageStore(root, "f")


def content(store: ImageStore) -> dict[tuple[str, int], bytes]:
    return {
        (one.prompt, one.index): store.image(one).data()
        for one in store.attempts()
        if one.status == "ok"
    }


def known(store: ImageStore) -> list[Attempt]:
    return sorted(store.all_attempts(), key=lambda one: (one.prompt, one.index))


def own_files(root: Path) -> list[Path]:
    return sorted(root.glob("??/*"))


def test_packing_changes_no_byte_and_no_answer(tmp_path: Path) -> None:
    before = filled(tmp_path)
    files, attempts = content(before), known(before)
    report = pack(before, most=5)
    assert (report.images, report.packs, report.damaged) == (12, 3, [])
    assert not own_files(tmp_path)
    after = ImageStore(tmp_path, "f")
    assert known(after) == attempts and content(after) == files and len(after) == 14
    assert after.is_done(PROMPTS[0], 2) and after.is_done(PROMPTS[0], 3)
    assert not after.is_done(PROMPTS[0], 4) and not after.is_done(PROMPTS[1], 3)
    assert after.removed() == 0
    assert len(list(tmp_path.glob("*.jsonl"))) == 1  # of what gave no image
    packs = {path: path.read_bytes() for path in after.packs.folder.iterdir()}
    assert pack(after, most=5).images == 0
    assert {path: path.read_bytes() for path in after.packs.folder.iterdir()} == packs

    assert unpack(after).images == 12
    again = ImageStore(tmp_path, "f")
    assert known(again) == attempts and content(again) == files and not again.packs.packs
    assert [path.read_bytes() for path in own_files(tmp_path)] == [
        files[one.prompt, one.index]
        for one in sorted(attempts, key=lambda one: one.file or "")
        if one.file
    ]


def test_the_same_images_give_the_same_packs(tmp_path: Path) -> None:
    for name in ("one", "two"):
        pack(filled(tmp_path / name, PROMPTS if name == "one" else PROMPTS[::-1]))
    names = [
        sorted(path.name for path in (tmp_path / n / "packs").iterdir()) for n in ("one", "two")
    ]
    assert names[0] == names[1] == ["images-000000.index", "images-000000.tar"]


@pytest.mark.slow
def test_other_tools_read_packs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from datasets import load_dataset

    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    store = filled(tmp_path / "images", PROMPTS[:2])
    files = content(store)
    pack(store, most=4)
    packs = sorted(map(str, (tmp_path / "images/packs").glob("*.tar")))
    names: list[str] = []
    for path in packs:
        with tarfile.open(path) as tar:
            names += tar.getnames()
    assert len(names) == 12 and {Path(name).suffix for name in names} == {".png", ".json"}
    read = load_dataset(
        "webdataset", data_files={"train": packs}, split="train", cache_dir=str(tmp_path / "cache")
    )
    assert len(read) == 6
    for row in read:
        about = row["json"]
        assert (
            row["png"].tobytes()
            == picture(10 * PROMPTS.index(about["prompt"]) + about["index"]).tobytes()
        )
        assert hashlib.sha256(files[about["prompt"], about["index"]]).hexdigest() == about["sha256"]


def test_new_images_lie_beside_the_packs_until_they_are_packed(tmp_path: Path) -> None:
    pack(filled(tmp_path))
    store = ImageStore(tmp_path, "f")
    store.record([store.add_image("new", 0, 1, picture(99))])
    again = ImageStore(tmp_path, "f")
    assert (
        again.is_done("new", 0) and again.is_done(PROMPTS[0], 0) and len(own_files(tmp_path)) == 1
    )
    assert pack(again).images == 1
    last = ImageStore(tmp_path, "f")
    assert len(last.packs.packs) == 2 and len(content(last)) == 13 and not own_files(tmp_path)


def forked(work: Callable[[], object], die_at: int, folder: Path) -> bool:
    """Do something in a process that is killed before its nth change of a folder.

    Args:
        work: What to do.
        die_at: Which change, from 1.
        folder: The folder.

    Returns:
        Whether it came to its end.
    """
    process = os.fork()
    if process:
        return os.waitpid(process, 0)[1] == 0
    left = die_at

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        changes = event in {"os.rename", "os.remove", "os.rmdir", "os.mkdir"}
        writes = event == "open" and isinstance(arguments[1], str) and arguments[1][0] in "wa"
        if (changes or writes) and str(arguments[0]).startswith(str(folder)):
            left -= 1
            if left == 0:
                os._exit(9)

    sys.addaudithook(count)
    try:
        work()
    except BaseException:
        os._exit(1)
    os._exit(0)


@pytest.mark.slow
@pytest.mark.parametrize("packed_before", [False, True])
def test_a_kill_at_any_moment_loses_nothing(packed_before: bool, tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole", PROMPTS[:3], 2)
    files, attempts = content(whole), known(whole)
    if packed_before:
        pack(whole, most=2)
    work = unpack if packed_before else (lambda store: pack(store, most=2))
    finished, moment = False, 0
    while not finished:
        moment += 1
        root = tmp_path / f"{moment}"
        shutil.copytree(tmp_path / "whole", root)
        finished = forked(lambda: work(ImageStore(root, "f")), moment, root)  # noqa: B023
        found = ImageStore(root, "f")
        assert known(found) == attempts and content(found) == files, moment
        assert remove_abandoned(root) <= (THREADS if packed_before else 1)  # one a writer
        pack(found, most=2)
        again = ImageStore(root, "f")
        assert known(again) == attempts and content(again) == files and not own_files(root)
        unpack(again)
        assert content(ImageStore(root, "f")) == files and len(own_files(root)) == 6
        shutil.rmtree(root)
    assert moment > 10


def test_a_damaged_member_counts_as_missing_and_the_new_file_is_taken(tmp_path: Path) -> None:
    pack(filled(tmp_path))
    (tar,) = tmp_path.glob("packs/*.tar")
    store = ImageStore(tmp_path, "f")
    found, row = store.packs.find(PROMPTS[0], 1)
    member = found.member(row, PROMPTS[0])
    data = bytearray(tar.read_bytes())
    data[member.offset + 20] ^= 1
    tar.write_bytes(data)
    attempt = ImageStore(tmp_path, "f").get(PROMPTS[0], 1)
    with pytest.raises(UnreadableImageError, match="since it was packed"):
        store.image(attempt).data()
    store.record([store.add_image(PROMPTS[0], 1, 5, picture(1))])
    new = ImageStore(tmp_path, "f")
    assert new.get(PROMPTS[0], 1).tries == 1 and len(content(new)) == 12
    pack(new)
    assert not own_files(tmp_path)
    last = ImageStore(tmp_path, "f")
    assert last.get(PROMPTS[0], 1).tries == 1 and len(content(last)) == 12 and len(last) == 14
    report = unpack(last)
    assert not report.damaged and len(content(ImageStore(tmp_path, "f"))) == 12


def test_what_lies_behind_a_torn_end_is_missing(tmp_path: Path) -> None:
    pack(filled(tmp_path))
    (tar,) = tmp_path.glob("packs/*.tar")
    tar.write_bytes(tar.read_bytes()[: tar.stat().st_size // 2])
    store = ImageStore(tmp_path, "f")
    done = [store.is_done(one.prompt, one.index) for one in store.all_attempts() if one.file]
    assert len(done) == 12 and 0 < sum(done) < 12 and store.removed() == 12 - sum(done)
    (tmp_path / "packs/images-000000.index").unlink()
    assert len(content(ImageStore(tmp_path, "f"))) == sum(done)


def test_the_hashes_stay_when_the_tar_is_removed(tmp_path: Path) -> None:
    attempts = known(filled(tmp_path))
    pack(ImageStore(tmp_path, "f"))
    (tmp_path / "packs/images-000000.tar").unlink()
    store = ImageStore(tmp_path, "f")
    assert known(store) == attempts and store.removed() == 12 and not store.is_done(PROMPTS[0], 0)
    assert unpack(store).images == 0
    assert known(ImageStore(tmp_path, "f")) == attempts


@pytest.mark.parametrize("share", [None, 0.0, 0.01, 0.2, 0.5, 0.8, 0.999])
def test_a_lost_index_is_read_from_the_tar(share: float | None, tmp_path: Path) -> None:
    store = filled(tmp_path)
    files, attempts = content(store), known(store)
    pack(store)
    index = tmp_path / "packs/images-000000.index"
    whole = index.read_bytes()
    if share is None:
        index.unlink()
    else:
        place = int(share * len(whole))
        index.write_bytes(whole[:place] + bytes([whole[place] ^ 8]) + whole[place + 1 :])
    found = ImageStore(tmp_path, "f")
    assert known(found) == attempts and content(found) == files
    pack(found)  # writes it anew
    assert index.read_bytes() == whole


def test_packs_of_another_generator_are_left_alone(tmp_path: Path) -> None:
    pack(filled(tmp_path))
    other = ImageStore(tmp_path, "another")
    assert len(other) == 0 and other.get(PROMPTS[0], 0) is None
    assert pack(other).images == 0 and unpack(other).packs == 0
    assert len(content(ImageStore(tmp_path, "f"))) == 12


def test_a_damaged_file_is_not_packed(tmp_path: Path) -> None:
    store = filled(tmp_path)
    path = store.path(store.get(PROMPTS[1], 0))
    path.write_bytes(b"something else")
    report = pack(store)
    assert report.images == 11 and report.damaged == [str(path)]
    assert path.read_bytes() == b"something else"
    assert ImageStore(tmp_path, "f").get(PROMPTS[1], 0).status == "ok"  # its hash is known


def test_rows_that_come_while_packing_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path)
    other = ImageStore(tmp_path, "f")
    other.record([other.add_image("early", 0, 1, picture(50))])
    store.reload()
    other.record([other.add_image("late", 0, 1, picture(51))])
    pack(store)
    found = ImageStore(tmp_path, "f")
    assert found.is_done("early", 0) and found.is_done("late", 0) and len(content(found)) == 14


def test_a_reader_that_was_there_before_finds_what_was_packed_and_unpacked(tmp_path: Path) -> None:
    reader = filled(tmp_path)
    images = [reader.image(one) for one in reader.attempts() if one.status == "ok"]
    pack(ImageStore(tmp_path, "f"), most=2)
    data = [image.data() for image in images]
    unpack(ImageStore(tmp_path, "f"))
    assert [image.data() for image in images] == data
    pack(ImageStore(tmp_path, "f"), most=7)
    assert [image.data() for image in images] == data


def test_a_store_is_opened_without_a_look_at_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path, [f"prompt {number}" for number in range(100)])
    looks = 0
    stat = os.stat

    def counted(*arguments: object, **named: object) -> os.stat_result:
        nonlocal looks
        looks += 1
        return stat(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", counted)
    store = ImageStore(tmp_path, "f")
    assert all(
        store.is_done(f"prompt {number}", index) for number in range(100) for index in (0, 1)
    )
    assert looks < 20
    store.path(store.get("prompt 7", 1)).unlink()
    fresh = ImageStore(tmp_path, "f")
    assert not fresh.is_done("prompt 7", 1) and fresh.is_done("prompt 7", 0)
    fresh.record([fresh.add_image("prompt 7", 1, 5, picture(71))])
    assert fresh.is_done("prompt 7", 1)
