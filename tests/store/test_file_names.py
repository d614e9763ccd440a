"""Walks through folders, some of which cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from t2ibench.store import file_names
from t2ibench.store.file_names import visible_files
from t2ibench.store.images import image_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an image, and a subfolder that cannot be read."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "open").mkdir()
    (tmp_path / "open/a.png").touch()
    right = file_names.visible_entries

    def entries(place: Path) -> list[Path]:
        if place.name == "closed":
            raise PermissionError(13, "Permission denied", str(place))
        return right(place)

    monkeypatch.setattr(file_names, "visible_entries", entries)
    return tmp_path


def test_images_are_found_beside_a_subfolder_that_cannot_be_read(folder: Path) -> None:
    assert image_files(folder) == [folder / "open/a.png"]
    with pytest.raises(PermissionError):
        image_files(folder / "closed")


def test_whoever_needs_every_file_hears_of_a_subfolder_that_cannot_be_read(
    folder: Path,
) -> None:
    with pytest.raises(PermissionError):
        list(visible_files(folder))
