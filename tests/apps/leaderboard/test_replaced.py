"""Files and folders that are replaced: the earlier ones are never lost on the way."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from t2ibench.apps.leaderboard import site
from t2ibench.cli import leaderboard
from t2ibench.errors import T2IBenchError


def fail_at(monkeypatch: pytest.MonkeyPatch, number: int, *calls: int) -> None:
    """Let those calls of Path.replace fail with an error number, counted from 1."""
    replace = Path.replace
    done: list[Path] = []

    def limited(path: Path, target: Any) -> Path:
        done.append(path)
        if len(done) in calls:
            raise OSError(number, os.strerror(number), str(path))
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", limited)


def folder_with(path: Path, text: str) -> Path:
    path.mkdir(parents=True)
    (path / "submission.json").write_text(text)
    return path


@pytest.mark.parametrize("calls", [(1,), (2,)])
def test_an_earlier_submission_comes_back(
    calls: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = folder_with(tmp_path / "board" / "mine", "old")
    new = folder_with(tmp_path / "new" / "mine", "new")
    fail_at(monkeypatch, errno.ENOSPC, *calls)
    with pytest.raises(OSError, match="space"):
        leaderboard._replace_folder(new, target)
    assert (target / "submission.json").read_text() == "old"
    leaderboard._replace_folder(new, target)
    assert (target / "submission.json").read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def test_an_earlier_submission_that_cannot_come_back_is_named_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = folder_with(tmp_path / "board" / "mine", "old")
    new = folder_with(tmp_path / "new" / "mine", "new")
    fail_at(monkeypatch, errno.ENOSPC, 2, 3)
    with pytest.raises(T2IBenchError, match=r"earlier submission is in .*\.mine\.earl"):
        leaderboard._replace_folder(new, target)
    aside = target.with_name(".mine.earlier")
    assert (aside / "submission.json").read_text() == "old"
    leaderboard._replace_folder(new, target)
    assert (target / "submission.json").read_text() == "new"
    assert list(target.parent.iterdir()) == [target]


def built(folder: Path, *names: str) -> Path:
    """A built site of pages with these names."""
    for name in ("index.html", *names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{folder.name}: {name}")
    return folder


def pages(output: Path) -> list[str]:
    return sorted(path.name for path in output.glob("model/*.html"))


@pytest.mark.parametrize("call", [3, 4, 5])
def test_a_page_of_an_interrupted_build_goes_with_the_next(
    call: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "site"
    site._put_in_place(built(tmp_path / "first", "model/a.html"), output)
    with monkeypatch.context() as patched:
        fail_at(patched, errno.ENOSPC, call)
        with pytest.raises(OSError, match="space"):
            names = ("model/a.html", "model/b.html", "model/c.html")
            site._put_in_place(built(tmp_path / "second", *names), output)
    site._put_in_place(built(tmp_path / "third", "model/d.html"), output)
    assert pages(output) == ["d.html"]


def test_a_site_with_a_folder_on_another_disk_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    source = built(tmp_path / "first", "model/a.html")
    replace = Path.replace

    def within_one_disk(path: Path, target: Any) -> Path:
        if path.is_relative_to(source) and Path(target).parent.name == "model":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return replace(path, target)

    output.mkdir()
    elsewhere.mkdir()
    (output / "model").symlink_to(elsewhere)
    monkeypatch.setattr(Path, "replace", within_one_disk)
    site._put_in_place(source, output)
    assert (elsewhere / "a.html").read_text() == "first: model/a.html"


def test_with_a_damaged_list_nothing_is_removed(tmp_path: Path) -> None:
    output = built(tmp_path / "site", "pictures/trip/a.jpg")
    (output / "data.js").write_text("window.T2IBENCH = {};")
    (output / "data.json").write_text("{}")
    (output / "files.txt").write_bytes(b"\xff\xfe")
    site._put_in_place(built(tmp_path / "new"), output)
    assert (output / "pictures" / "trip" / "a.jpg").is_file()


@pytest.mark.parametrize("is_site", [True, False])
def test_an_old_site_is_known_by_its_data(is_site: bool, tmp_path: Path) -> None:
    output = built(tmp_path / "site", "model/a.html")
    (output / "data.js").write_text("window.T2IBENCH = {};" if is_site else "alert(1)")
    (output / "data.json").write_text("{}")
    site._put_in_place(built(tmp_path / "new"), output)
    assert (output / "model" / "a.html").is_file() != is_site
