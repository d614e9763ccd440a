"""A paper's settings, as settings of a run, and its tests, as task files."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from t2ibench.apps.papers.paper import Paper
from t2ibench.apps.papers.schema import PresetTask
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.models.encoders import DEFAULT_ENCODER
from t2ibench.models.generators import default_encoder, default_judge, free_arguments
from t2ibench.models.judges import DEFAULT_JUDGE
from t2ibench.settings import RunSettings, read_settings
from t2ibench.store.files import write_text
from t2ibench.store.syncing import working_folder
from t2ibench.tasks.index import build_index
from t2ibench.tasks.source import read_yaml

FOLDER = "presets"
_HEAD = """\
# Written by t2ibench: {of} as in {title}.
# {why}
"""


def with_preset(
    paper: Paper,
    given: Mapping[str, Any],
    exhibits: Sequence[str] | None = None,
    *,
    names_model: bool = True,
) -> RunSettings:
    """Settings of a run with a paper's preset: what is given wins, setting by setting.

    Task files of the paper's own conventions are written to OUTPUT_DIR/presets/NAME.

    A model with an encoder (or a judge) of its own, such as one of a drawn world, keeps it. Of the
    paper's arguments of the model, a model gets those that it takes and that its alias leaves open.
    """
    preset = paper.file.preset
    named = {name: value for name, value in given.items() if value is not None}
    if "model" not in named and names_model:
        named["model"] = preset.model
    checked = read_settings(named)
    chosen = _with_captions(_chosen(paper, checked.tasks, exhibits), checked)
    folder = write_tasks(paper, chosen, working_folder(checked.output_dir) / FOLDER)
    values = {**preset.settings, **named}
    if "encoder" not in named and default_encoder(checked.model) != DEFAULT_ENCODER:
        values.pop("encoder", None)
    if "judge" not in named and default_judge(checked.model) != DEFAULT_JUDGE:
        values.pop("judge", None)
        values.pop("judge_args", None)
    free = free_arguments(str(checked.model)) if names_model else frozenset()
    fitting = {name: value for name, value in preset.model_args.items() if name in free}
    values["model_args"] = {**fitting, **checked.model_args}
    values["tasks"] = [task.name for task in chosen]
    if folder is not None:
        values["include_path"] = [*checked.include_path, str(folder)]
    return read_settings(values)


def _chosen(paper: Paper, names: Sequence[str], exhibits: Sequence[str] | None) -> list[PresetTask]:
    """The preset's tasks that are wanted, in its order."""
    preset = paper.file.preset
    if exhibits is not None:
        entries = [paper.file.exhibits[name] for name in exhibits]
        needed = {task for entry in entries for task in (*entry.tasks, *entry.pools)}
        return [task for task in preset.tasks if task.of in needed]
    known = {name: task for task in preset.tasks for name in (task.of, task.name)}
    wanted = set()
    for name in names:
        matches = list(known) if name == "all" else fnmatch.filter(known, name)
        if not matches:
            raise T2IBenchError(
                f"The preset '{paper.name}' has no task '{shown(name)}'."
                f"{did_you_mean(name, known)}",
                f"Its tasks: {', '.join(task.of for task in preset.tasks)}.",
            )
        wanted |= {known[match].name for match in matches}
    return [task for task in preset.tasks if task.name in wanted or not names]


def _with_captions(tasks: Sequence[PresetTask], settings: RunSettings) -> list[PresetTask]:
    """Without those that wait for captions that are not given, unless they are named."""
    index, _ = build_index()

    def wanted(task: PresetTask) -> bool:
        found = index.tasks.get(task.of)
        pool = None if found is None else found.spec.awaits
        return pool is None or pool.name in settings.captions or task.name in settings.tasks

    return [task for task in tasks if wanted(task)]


def write_tasks(paper: Paper, tasks: Sequence[PresetTask], folder: Path) -> Path | None:
    """Write the task files of a preset."""
    changed = [task for task in tasks if task.name != task.of]
    index, _ = build_index()
    for task in tasks:
        if task.of not in index.tasks:
            raise T2IBenchError(
                f"The preset '{paper.name}' is of the task '{task.of}', which is not there."
            )
    target = folder / paper.name
    for task in changed:
        base = index.tasks[task.of]
        data = dict(read_yaml(base.path).data)
        data |= {
            "id": task.name,
            "title": f"{base.spec.title} (as published)",
            "notes": [f"As published: {task.why}", *data.get("notes", [])],
            **task.set,
        }
        head = _HEAD.format(of=task.of, title=paper.file.title, why=task.why)
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=96)
        write_text(target / f"{task.name}.yaml", head + text)
    return target if changed else None
