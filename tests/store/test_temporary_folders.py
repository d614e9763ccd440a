"""Folders for temporary files, where there is no place for them."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.store.temporary_folders import temporary_folder


def test_a_folder_exists_inside_its_context(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with temporary_folder() as folder:
        (folder / "file").write_text("content")
        assert folder.parent == tmp_path
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "missing"
    monkeypatch.setattr(tempfile, "tempdir", str(missing))
    with pytest.raises(T2IBenchError, match="missing cannot be written"):
        temporary_folder().__enter__()

    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(missing)])
    with pytest.raises(T2IBenchError, match="neither TMPDIR nor /tmp") as caught:
        temporary_folder().__enter__()
    assert "Set TMPDIR" in str(caught.value)
