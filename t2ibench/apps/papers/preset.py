"""A paper's preset, which is the settings of its run and its tests as task files."""

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
from t2ibench.tasks.index import build_index
from t2ibench.tasks.source import read_yaml


def with_preset(
    paper: Paper,
    given: Mapping[str, Any],
    exhibits: Sequence[str] | None = None,
    *,
    names_model: bool = True,
) -> RunSettings:
    """Return a run's settings with a paper's preset; what is in `given` takes precedence.

    Task files of the paper's own conventions are written to OUTPUT_DIR/presets/NAME. A model keeps
    an encoder or a judge of its own, and gets what it takes of the arguments and its alias leaves.
    """
    preset = paper.file.preset
    named = {name: value for name, value in given.items() if value is not None}
    if "model" not in named and names_model:
        named["model"] = preset.model
    checked = read_settings(named)
    chosen = _chosen(paper, checked, exhibits)
    folder = write_tasks(paper, chosen, Path(checked.output_dir) / "presets")
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


def _chosen(
    paper: Paper, settings: RunSettings, exhibits: Sequence[str] | None
) -> list[PresetTask]:
    """Return the preset's tasks that `exhibits` need, or else those that the settings name."""
    tasks = paper.file.preset.tasks
    if exhibits is not None:
        needed = {task for name in exhibits for task in paper.file.exhibits[name].tasks}
        return [task for task in tasks if task.of in needed]
    if not settings.tasks:
        return list(tasks)
    wanted: set[str] = set()
    for name in settings.tasks:
        wanted |= _matching(paper, name)
    return [task for task in tasks if task.name in wanted]


def _matching(paper: Paper, pattern: str) -> set[str]:
    """Return the names of the preset's tasks that match a pattern; raise an error if none does."""
    tasks = paper.file.preset.tasks
    names: dict[str, str] = {}
    for task in tasks:
        names[task.of] = task.name
        names[task.name] = task.name
    matches = list(names) if pattern == "all" else fnmatch.filter(names, pattern)
    if not matches:
        raise T2IBenchError(
            f"The preset '{paper.name}' has no task '{shown(pattern)}'."
            f"{did_you_mean(pattern, names)}",
            f"Its tasks: {', '.join(task.of for task in tasks)}.",
        )
    return {names[match] for match in matches}


def write_tasks(paper: Paper, tasks: Sequence[PresetTask], folder: Path) -> Path | None:
    """Write the task files that a paper changes, and return their folder; None if it has none."""
    target = folder / paper.name
    index = build_index()[0]
    shipped = {base.id: base for base in index.select([task.of for task in tasks])}
    changed = [task for task in tasks if task.set]
    for task in changed:
        base = shipped[task.of]
        data = read_yaml(base.path).data
        data |= {
            "id": task.name,
            "title": f"{base.spec.title} (as published)",
            "notes": [f"As published: {task.why}", *data.get("notes", [])],
            **task.set,
        }
        head = f"# Written by t2ibench: {task.of} as in {paper.file.title}.\n# {task.why}\n"
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=96)
        write_text(target / f"{task.name}.yaml", head + text)
    return target if changed else None
