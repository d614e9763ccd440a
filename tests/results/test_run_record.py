"""run.json: typed, versioned, migrated, mended."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.results.record import RUN_SCHEMA, GeneratorRecord, HistoryEntry, RunRecord
from t2ibench.results.run import BrokenRecordError, RunFolder, open_run, run_folder
from t2ibench.settings import RunSettings

# As t2ibench 0.1.0 wrote it before records had a type.
SCHEMA_1: dict[str, Any] = {
    "schema": 1,
    "generator": {
        "name": "toyland", "revision": "world 2", "fingerprint": "a" * 64,
        "settings": {"size": 64}, "model": "toyland", "model_args": {"all.skin.dark": "0.5"},
    },
    "encoders": {"toyland": "b" * 64, "vectors:glove.txt": "c" * 64},
    "judges": {"toyland": "d" * 64},
    "judge_args": {},
    "tasks": ["weat_1_flowers_insects"],
    "include_paths": [],
    "settings": {
        "images_per_prompt": 10, "guided_images_per_prompt": 3, "limit": None, "seed": 0,
        "n_permutations": 100000, "n_bootstrap": 10000, "level": 0.95,
    },
    "history": [
        {"command": "t2ibench", "started": "2026-01-01T00:00:00+00:00",
         "finished": "2026-01-01T00:01:00+00:00", "drawn": {"ok": 5}},
    ],
}  # fmt: skip


def record(fingerprint: str = "a" * 64) -> RunRecord:
    generator = GeneratorRecord(name="org/model", model="org/model", fingerprint=fingerprint)
    return RunRecord(generator=generator)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    entry = HistoryEntry(command="t2ibench", started="then", finished="now", generated={"ok": 2})
    settings = RunSettings(model="toy", tasks="all", model_args={"negative_prompt": 'don\'t, "x"'})
    written = record().model_copy(
        update={"history": [entry], "settings": settings, "status": "complete"}
    )
    RunFolder(tmp_path, written).save()
    assert open_run(tmp_path).record == written


def test_schema_1_is_migrated(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(SCHEMA_1))
    migrated = open_run(tmp_path).record
    assert migrated.schema_version == RUN_SCHEMA and migrated.status == "complete"
    assert migrated.measurement.images_per_prompt == 10
    assert migrated.encoders["toyland"].embeds_images
    assert not migrated.encoders["vectors:glove.txt"].embeds_images
    assert migrated.history[0].generated == {"ok": 5}
    command = (migrated.repeatable() or RunSettings()).command()
    assert command[command.index("--model-args") + 1] == "all.skin.dark=0.5"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 99}, r"is of schema 99; this t2ibench reads 1 to 2\. Upgrade"),
        ({"surprise": 1}, r"a key that this t2ibench does not know: surprise\. "),
        ({"settings": {"sed": 1}}, r"a key that this t2ibench does not know: settings\.sed\."),
    ],
)
def test_an_unknown_version_or_key_is_one_line(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    data = record().model_dump(mode="json", by_alias=True) | change
    (tmp_path / "run.json").write_text(json.dumps(data))
    with pytest.raises(T2IBenchError, match=message) as raised:
        open_run(tmp_path)
    assert not isinstance(raised.value, BrokenRecordError)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text", ["{", "[]", "null", '{"schema": "2"}', '{"schema": 1}', '{"schema": 2, "tasks": 3}']
)
def test_a_broken_record_is_set_aside_and_begun_anew(text: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    file = tmp_path / "model" / "run.json"
    for number in (1, 2):
        file.write_text(text)
        with pytest.raises(BrokenRecordError, match=r"run\.json cannot be read"):
            open_run(file.parent)
        folder, warnings = run_folder(tmp_path, "model", "a" * 64, plain=True)
        assert folder.record == RunRecord() and not file.exists()
        (line,) = warnings
        kept = "run.json.broken" if number == 1 else "run.json.broken-2"
        assert f"kept as {kept}" in line and "\n" not in line
        assert (file.parent / kept).read_text() == text


def test_no_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(T2IBenchError, match="not a run folder"):
        open_run(tmp_path)


def test_run_folders_do_not_mix_settings(tmp_path: Path) -> None:
    def name(fingerprint: str, plain: bool) -> str:
        return run_folder(tmp_path, "org/model", fingerprint, plain)[0].path.name

    assert name("a" * 64, True) == "org-model"
    RunFolder(tmp_path / "org-model", record()).save()
    assert name("a" * 64, True) == "org-model"
    assert name("b" * 64, True) == "org-model-bbbbbbbb"
    assert name("a" * 64, False) == "org-model-aaaaaaaa"


def test_a_disk_that_does_not_answer_leaves_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunFolder(tmp_path / "toyland").save()

    def fails(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fails)
        with pytest.raises(T2IBenchError, match=r"run\.json cannot be read: the disk reports"):
            run_folder(tmp_path, "toyland", None, plain=True)
    assert [path.name for path in (tmp_path / "toyland").iterdir()] == ["run.json"]
    assert open_run(tmp_path / "toyland").record.status == "running"
