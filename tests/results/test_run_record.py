"""The record of a run: typed, stored field by field, mended."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.results.record import GeneratorRecord, HistoryEntry, RunRecord
from t2ibench.results.run import (
    BrokenRecordError,
    RunFolder,
    open_run,
    run_folder,
    versions,
)
from t2ibench.settings import RunSettings
from t2ibench.store.database import Database
from tests import hand


def record() -> RunRecord:
    generator = GeneratorRecord(
        name="org/model", model="org/model", fingerprint="a" * 64
    )
    return RunRecord(generator=generator)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    entry = HistoryEntry(
        command="t2ibench", started=noon, finished=noon, generated={"ok": 2}
    )
    settings = RunSettings(
        model="toy", tasks="all", model_args={"negative_prompt": 'don\'t, "x"'}
    )
    changes = {"history": [entry], "settings": settings, "status": "complete"}
    written = record().model_copy(update=changes)
    RunFolder(tmp_path, written).save()
    assert open_run(tmp_path).record == written


def test_a_folder_of_an_older_version_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema": 2}')
    line = r"was made by an earlier t2ibench, which kept a run in many files\. Choose another"
    with pytest.raises(T2IBenchError, match=line):
        open_run(tmp_path)
    with pytest.raises(T2IBenchError, match=line):
        run_folder(tmp_path.parent, tmp_path.name, "a" * 64, plain=True)


def test_a_value_of_another_type_is_an_error_of_one_line(tmp_path: Path) -> None:
    RunFolder(tmp_path, record()).save()
    Database(tmp_path).write("run", [("settings", '{"sed": 1}')])
    with pytest.raises(
        BrokenRecordError, match=r"cannot be read \(settings\.sed: "
    ) as raised:
        open_run(tmp_path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("UPDATE run SET value = '3' WHERE key = 'tasks'", True),
        ("UPDATE run SET key = 'x' WHERE key = 'generator'", False),
        ("DELETE FROM run WHERE key = 'generator'", False),
        ("DELETE FROM run", False),
    ],
)
def test_a_damaged_record_is_restarted_with_its_readable_fields(
    statement: str, kept: bool, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "model", record().model_copy(update={"tasks": ["a"]}))
    folder.save()
    folder.database.close()
    hand.damage(folder.path, statement)
    lacks = (
        "has no record" if statement.endswith("run") else "is damaged: its record lacks"
    )
    with pytest.raises(BrokenRecordError, match=rf"run\.db {lacks}"):
        open_run(folder.path)
    again, warnings = run_folder(tmp_path, "model", "a" * 64, plain=True)
    (line,) = warnings
    assert "and a new one is begun" in line and "\n" not in line
    assert again.path == folder.path and again.record.tasks == (
        [] if kept else again.record.tasks
    )
    assert (again.record.generator is not None) == kept
    again.save()
    assert open_run(folder.path).record == again.record


def test_a_run_that_was_moved_without_its_log_says_so_and_comes_back_with_it(
    tmp_path: Path,
) -> None:
    there = RunFolder(tmp_path / "there", record())
    there.database.add_texts(["a nurse"])
    there.database.begin_run()
    there.save()
    alone = tmp_path / "alone"
    both = tmp_path / "both"
    for moved in (alone, both):
        moved.mkdir()
        shutil.copy(there.database.path, moved)
    with pytest.raises(BrokenRecordError, match=r"moved without run\.db-wal") as caught:
        open_run(alone)
    assert "damaged" not in str(caught.value) and "Bring that file" in str(caught.value)
    shutil.copy(there.path / "run.db-wal", both)
    assert open_run(both).record == there.record
    there.database.end_run()


def test_run_folders_do_not_mix_settings(tmp_path: Path) -> None:
    def name(letter: str, plain: bool = True) -> str:
        return run_folder(tmp_path, "org/model", letter * 64, plain)[0].path.name

    assert name("a") == "org-model"
    RunFolder(tmp_path / "org-model", record()).save()
    assert (name("a"), name("b")) == ("org-model", "org-model-bbbbbbbb")
    assert name("a", plain=False) == "org-model-aaaaaaaa"


@pytest.mark.parametrize("cost", [-1e9, float("nan"), float("inf")])
def test_no_record_raises_what_a_limit_of_cost_allows(cost: float) -> None:
    """A record may be somebody else's, and what it says was spent counts towards --max-cost."""
    with pytest.raises(ValueError, match="cost"):
        GeneratorRecord(name="m", fingerprint="f", model="m", cost=cost)


def test_a_library_that_is_installed_later_has_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a notebook, between two runs of one process."""
    monkeypatch.syspath_prepend(str(tmp_path))
    assert versions(["forgotten-library"]) == {}
    metadata = tmp_path / "forgotten_library-1.2.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text(
        "Metadata-Version: 2.1\nName: forgotten-library\nVersion: 1.2\n"
    )
    assert versions(["forgotten-library"]) == {"forgotten-library": "1.2"}
