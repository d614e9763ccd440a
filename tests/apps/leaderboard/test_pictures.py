"""Pictures of a submission: chosen by a rule, bounded, encoded anew, and made again on demand."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from t2ibench.apps.leaderboard import picture_encoding, pictures
from t2ibench.apps.leaderboard.board import Board, read_board
from t2ibench.apps.leaderboard.compared import MOST_PICTURES
from t2ibench.apps.leaderboard.packing import pack
from t2ibench.apps.leaderboard.pictures import file_of
from t2ibench.apps.leaderboard.site import build
from t2ibench.apps.leaderboard.submission import Card
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.pipeline.progress import SilentReporter
from tests.apps.leaderboard.forging import edit, refusal, seal, set_in


@pytest.fixture(scope="module")
def pictured(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The honest submission, with pictures."""
    card = Card(pictures="CC0-1.0")
    return pack(run, tmp_path_factory.mktemp("pictured"), SilentReporter(), None, card)


@pytest.fixture
def changed(pictured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(pictured, tmp_path / pictured.name))


def files(folder: Path) -> list[Path]:
    return sorted((folder / "pictures").iterdir())


def jpeg(colour: str, size: tuple[int, int] = (64, 64), **options: Any) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size, colour).save(buffer, "JPEG", **options)
    return buffer.getvalue()


def test_the_process_that_reads_a_strangers_pictures_imports_no_mathematics() -> None:
    """Each check of a submission with pictures starts it."""
    code = f"import sys, {picture_encoding.__name__}; print(*sys.modules)"
    said = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert not {"numpy", "pydantic", "scipy", "torch"} & set(said.split())


def test_pictures_are_small_few_and_of_every_test(pictured: Path) -> None:
    verdict = verify(pictured)
    assert verdict.level == "recomputed", verdict.problems
    assert len(verdict.pictures) == len(files(pictured)) == pictures.MOST
    for picture in verdict.pictures:
        with Image.open(io.BytesIO(picture.data)) as image:
            assert image.format == "JPEG" and max(image.size) <= pictures.SIDE
    tests = {test for picture in verdict.pictures for test in picture.tasks}
    assert tests == {"occupations_t2iat", "openbias_examples"}


def test_without_a_licence_there_are_none(packed: Path) -> None:
    assert not (packed / "pictures").exists() and verify(packed).pictures == []


def test_pictures_without_a_licence_are_refused(changed: Path) -> None:
    edit(changed, "submission.json", set_in("card", "pictures", value=None))
    assert "names no licence for them" in refusal(changed)


def test_pictures_of_images_that_existed_are_refused(
    changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows who is in the photographs of a folder."""
    monkeypatch.setattr(pictures, "can_regenerate", lambda model: False)
    assert "who is in them" in refusal(changed)


def test_a_submitter_cannot_choose_pictures(changed: Path) -> None:
    first, *_ = files(changed)
    first.unlink()
    seal(changed)
    assert "not those that the rule chooses" in refusal(changed)


def replace_first(folder: Path, data: bytes) -> None:
    files(folder)[0].write_bytes(data)
    seal(folder)


def bomb() -> bytes:
    """A JPEG of a few bytes whose header promises 65,535 x 65,535 pixels."""
    data = bytearray(jpeg("red"))
    start = data.index(b"\xff\xc0")
    data[start + 5 : start + 9] = b"\xff" * 4
    return bytes(data)


def png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (9, 9)).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: b"", "is not a JPEG"),
        (lambda: b"<svg onload='alert(1)'/>", "is not a JPEG"),
        (png, "is not a JPEG"),
        (bomb, "is not a JPEG|more than 256 pixels a side"),
        (lambda: jpeg("red", (257, 9)), "more than 256 pixels a side"),
        (lambda: jpeg("red")[:-20], "cannot be read as an image"),
        (lambda: jpeg("red") + bytes(60_000), "more than 60,000 bytes"),
    ],
)
def test_a_file_that_is_no_small_picture(
    made: Callable[[], bytes], message: str, changed: Path
) -> None:
    replace_first(changed, made())
    assert re.search(message, refusal(changed))


def test_a_reader_that_dies_refuses_this_submission_alone(
    changed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "t2ibench.apps.leaderboard.verify.content_problem", lambda _: None
    )
    monkeypatch.setattr(
        "t2ibench.apps.leaderboard.bounded_process._READER", "import os; os._exit(7)"
    )
    assert "a picture cannot be read (it ended the reader: 7)" in refusal(changed)


def test_nothing_but_pixels_reaches_the_site(changed: Path, tmp_path: Path) -> None:
    """Comments and what stands behind the picture may be anything, such as a script."""
    verdict = verify(changed)
    target = verdict.pictures[0]
    with Image.open(changed / file_of(target.sha256)) as image:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", comment=b"<script>alert(1)</script>")
    (changed / file_of(target.sha256)).write_bytes(buffer.getvalue() + b"PK\3\4 secret")
    seal(changed)
    site = tmp_path / "site"
    build(read_board(changed.parent, verify), site)
    written = sorted((site / "pictures").rglob("*.jpg"))
    assert len(written) == pictures.MOST
    content = b"".join(path.read_bytes() for path in written)
    assert b"script" not in content and b"secret" not in content


def test_the_site_shows_them_with_rule_and_licence(
    pictured: Path, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    board: Board = read_board(pictured.parent, verify)
    build(board, site)
    page = (site / "model" / f"{pictured.name}.html").read_text()
    assert page.count("<figure") >= pictures.MOST and "CC0-1.0" in page
    assert "drawn test by test by a hash of the model" in page
    # Without --draw any picture may stand under the right name, and each says so.
    assert page.count("not checked against the model") == pictures.MOST
    answers = (site / "answers" / f"{pictured.name}.js").read_text()
    assert answers.count("not checked against the model") == MOST_PICTURES
    (entry,) = board.entries
    assert f"{pictures.MOST} of {entry.verdict.n_images:,} images" in page
    test = (site / "task" / "occupations_t2iat.html").read_text()
    assert "not checked against the model" in test
    assert f'src="../pictures/{pictured.name}/' in test
    # A model that is refused later leaves none of its pictures behind.
    build(Board([]), site)
    assert not list((site / "pictures").rglob("*.jpg"))


def test_a_picture_of_something_else_is_found_when_images_are_made_again(
    changed: Path,
) -> None:
    for path in files(changed):
        path.write_bytes(jpeg("red", (256, 256)))
    seal(changed)
    assert verify(changed).level == "recomputed"  # pixels alone say nothing
    assert "shows something else than the model makes here" in refusal(changed, 8)


def test_honest_pictures_are_made_again(pictured: Path) -> None:
    verdict = verify(pictured, 8, 0)
    assert verdict.problems == [] and "reproduced" in verdict.level
    names = {picture.sha256 for picture in verdict.pictures}
    assert len(verdict.checked_pictures) >= 8 and names >= set(verdict.checked_pictures)
    # Which images have pictures is known beforehand: a forger would leave those alone.
    assert len(verdict.at_random) == 8 < len(verdict.compared)
    assert 1 - 0.32 < 0.05 ** (1 / 8) < 1 - 0.31
    assert any("with 32 % of its images forged" in note for note in verdict.notes)


def test_only_pictures_that_were_made_again_are_called_checked(
    pictured: Path, tmp_path: Path
) -> None:
    verdict = verify(pictured)
    assert verdict.checked_pictures == []
    first, *others = (picture.sha256 for picture in verdict.pictures)
    site = tmp_path / "site"
    judge = partial(replace, verdict, checked_pictures=[first])
    build(read_board(pictured.parent, lambda _: judge()), site)
    page = (site / "model" / f"{pictured.name}.html").read_text()
    shown = page.partition(f"{first}.jpg")[2].partition("</figure>")[0]
    assert "not checked" not in shown
    assert page.count("not checked against the model") == len(others)
