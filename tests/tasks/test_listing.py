"""The stored list of the shipped tasks."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from t2ibench.tasks import build_index, load_tasks, loader
from t2ibench.tasks import index as tasks_index
from t2ibench.tasks.choice import TaskIndex
from t2ibench.tasks.folders import bundled_tasks
from t2ibench.tasks.index import specs_of
from t2ibench.tasks.listing import (
    LIST,
    list_text,
    listed_task,
    shipped_list,
    stored_list,
)


def test_the_list_is_that_of_the_shipped_files() -> None:
    """Where this fails after a change of tasks: python tools/write_task_list.py."""
    index, _ = build_index()
    stored = (bundled_tasks() / LIST).read_text(encoding="utf-8")
    assert stored == list_text(bundled_tasks(), index.tasks.values())


def test_it_lists_every_task_as_its_file_does() -> None:
    index, _ = build_index()
    stored = shipped_list()
    assert stored is not None
    assert stored.tasks == {
        name: listed_task(task) for name, task in index.tasks.items()
    }
    assert stored.groups == index.groups and stored.tags == index.tags


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the shipped tasks."""
    return shutil.copytree(bundled_tasks(), tmp_path / "tasks")


def test_it_does_not_count_once_a_file_is_another(copied: Path) -> None:
    assert stored_list(copied) is not None
    words = next((copied / "stimuli").glob("*.yaml"))
    before = words.read_bytes()
    for change in (
        lambda: words.write_bytes(before + b"\n"),
        words.unlink,
        lambda: (
            words.write_bytes(before),
            (copied / "weat" / "new.yaml").write_text(""),
        ),
    ):
        change()
        assert stored_list(copied) is None
    (copied / "weat" / "new.yaml").unlink()
    assert stored_list(copied) is not None


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"files": 1}', '{"files": {}, "tasks": []}']
)
def test_a_damaged_list_is_no_list(copied: Path, text: str) -> None:
    (copied / LIST).write_text(text)
    assert stored_list(copied) is None
    (copied / LIST).unlink()
    assert stored_list(copied) is None


def test_a_list_of_another_version_is_no_list(copied: Path) -> None:
    """It may have been written before there was a name of a file in it."""
    stored = json.loads((copied / LIST).read_bytes())
    del stored["tasks"][0]["file"]
    (copied / LIST).write_text(json.dumps(stored))
    assert stored_list(copied) is None


@pytest.mark.parametrize("names", ["core", "weat_7_math_arts,tag:age", "*_gender"])
def test_named_tasks_are_those_of_the_index_from_their_files_alone(
    names: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, _ = build_index()
    chosen = index.select(names.split(","))
    read: list[Path] = []
    real = loader.load_file

    def load_file(path: Path, *arguments: Any) -> Any:
        read.append(path)
        return real(path, *arguments)

    monkeypatch.setattr(loader, "load_file", load_file)
    loader.load_bundled_file.cache_clear()
    assert load_tasks(names) == chosen
    assert sorted(read) == sorted(task.path for task in chosen)
    hashes = {task.id: task.hash for task in chosen} | {"changed": "0" * 64}
    assert specs_of(hashes) == {task.id: task.spec for task in chosen}
    # Without a list that fits the files, all are read.
    monkeypatch.setattr(tasks_index, "shipped_list", lambda: None)
    assert load_tasks(names) == chosen
    assert specs_of(hashes) == {task.id: task.spec for task in chosen}


def test_all_files_are_read_where_one_is_not_as_it_is_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = shipped_list()
    assert listed is not None
    name = "weat_7_math_arts"
    wrong = replace(listed.tasks[name], file="weat_8_science_arts.yaml")
    index = TaskIndex({**listed.tasks, name: wrong})
    monkeypatch.setattr(tasks_index, "shipped_list", lambda: index)
    assert [task.id for task in load_tasks(name)] == [name]
