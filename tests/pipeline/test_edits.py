"""Runs with edits: source images are made first, and edited in the same command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from t2ibench import evaluate
from t2ibench.results.schema import Results
from tests.pipeline import editing
from tests.pipeline.editing import Editor, write_task

MODELS: dict[str, Any] = {"encoder": "toyland", "judge": "toyland"}
FEW: dict[str, Any] = {"n_permutations": 100, "n_bootstrap": 100}


def edited(folder: Path, model: Any = editing.MODEL, **settings: Any) -> Results:
    """The results of a run of the task in folder/tasks."""
    given = {"tasks": "edited", **MODELS, **FEW, **settings}
    return evaluate(
        model, output_dir=folder / "runs", include_path=[folder / "tasks"], **given
    )


def test_sources_are_made_first_and_edited_once(tmp_path: Path) -> None:
    write_task(tmp_path / "tasks")
    results = edited(tmp_path)
    task = results.tasks["edited"]
    assert task.reason is None and task.n_images == 12
    assert results.folder is not None
    assert (results.folder / "sources" / "run.db").exists()
    editor = Editor()
    edited(tmp_path, editor)
    assert not editor.seen


def test_refusals_are_counted_by_group(tmp_path: Path) -> None:
    edits = {"doctor": "as a doctor", "suit": "refuse women"}
    write_task(tmp_path / "tasks", edits=edits)
    task = edited(tmp_path).tasks["edited"]
    whole, women, men = task.prompt_outcomes
    assert (whole.group, women.group, men.group) == (None, "women", "men")
    assert (women.refused.count, women.refused.total) == (3, 6)
    assert (men.refused.count, men.n_prompts, whole.refused.count) == (0, 3, 3)
    assert task.details["women"] == {"refused": 3} and task.details["men"] == {}
    assert task.excluded_because == {"refused": {"no women, please": 3}}
