"""Tasks as a data set: JSON Lines, task files, Croissant metadata, a card, the hub's eval.yaml.

Croissant is MLCommons' vocabulary for data sets (https://docs.mlcommons.org/croissant/), as
JSON-LD. The folder is what a dataset repository of the Hugging Face hub holds: eval.yaml registers
it there as a benchmark, to which results on models' pages then belong.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods import needs
from t2ibench.reports.croissant import Column, RecordSet, croissant
from t2ibench.settings import Settings
from t2ibench.store.files import write_bytes
from t2ibench.store.jsonl import dump_rows
from t2ibench.store.problems import disk_errors
from t2ibench.tasks.loader import LoadedTask, bundled_tasks

_LICENCE = "https://www.apache.org/licenses/LICENSE-2.0"
_ABOUT = (
    "Prompts, words and groups of tests of social bias in text-to-image models. Each test names "
    "its publication. Tests name stereotypes in order to measure them; groups are what prompts "
    "name, and say nothing about real people. Many published word lists know two genders only."
)
# What compares with a task, and is no stimulus of it.
_BESIDE = {"published", "reference", "expected", "proposal"}
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of the data set: a line each task, prompt, group, stimulus or question."""

    about: str
    columns: tuple[Column, ...]
    rows: Callable[[LoadedTask], Iterator[Row]]


def _task(task: LoadedTask) -> Iterator[Row]:
    spec = task.spec
    yield {
        "task": task.id,
        "version": spec.version,
        "method": spec.method,
        "group": task.group,
        "title": spec.title,
        "description": " ".join(spec.description.split()),
        "citation": " ".join(spec.citation.split()),
        "tags": list(spec.tags),
        "sha256": task.hash,
    }


def _prompts(task: LoadedTask) -> Iterator[Row]:
    need = needs(task.spec, Settings())
    for prompt, images in need.images_by_prompt.items():
        group = need.groups[prompt]
        yield {"task": task.id, "prompt": prompt, "images": images, "group": group}


def _groups(task: LoadedTask) -> Iterator[Row]:
    for at, name, texts in _named(task.spec):
        yield {"task": task.id, "at": at, "group": name, "size": len(texts)}


def _stimuli(task: LoadedTask) -> Iterator[Row]:
    for at, name, texts in _named(task.spec):
        for kind, text in texts:
            yield {"task": task.id, "at": at, "group": name, "kind": kind, "stimulus": text}


def _questions(task: LoadedTask) -> Iterator[Row]:
    asked = {(q.question, q.classes): None for q in needs(task.spec, Settings()).questions}
    for question, classes in asked:
        yield {"task": task.id, "question": question, "classes": list(classes)}


_TEXT, _WHOLE = "sc:Text", "sc:Integer"
_OF = Column("task", _TEXT, "Id of the task.")
_AT = Column("at", _TEXT, "Where the group stands in the task file, such as concepts.X.")
_GROUP = Column("group", _TEXT, "Name of the group.")
_TABLES = {
    "tasks": _Table(
        "The tests, a line each.",
        (
            _OF,
            Column("version", _WHOLE, "Raised with every change that changes a score."),
            Column("method", _TEXT, "How it is measured."),
            Column("group", _TEXT, "The folder of the task file."),
            Column("title", _TEXT, "One line."),
            Column("description", _TEXT, "What the score does and does not show."),
            Column("citation", _TEXT, "The publication it comes from."),
            Column("tags", _TEXT, "What it is about.", repeated=True),
            Column("sha256", _TEXT, "Over everything in the task that decides a score."),
        ),
        _task,
    ),
    "prompts": _Table(
        "What images are generated of.",
        (
            _OF,
            Column("prompt", _TEXT, "The text."),
            Column("images", _WHOLE, "How many images, by default."),
            Column("group", _TEXT, "What the prompt stands for in the task; may be empty."),
        ),
        _prompts,
    ),
    "groups": _Table(
        "Named sets: concepts, attributes, groups of people, classes, targets.",
        (_OF, _AT, _GROUP, Column("size", _WHOLE, "Number of its stimuli.")),
        _groups,
    ),
    "stimuli": _Table(
        "The members of the groups, a line each.",
        (
            _OF,
            _AT,
            _GROUP,
            Column("kind", _TEXT, "What they are in the task file, such as words or classes."),
            Column("stimulus", _TEXT, "The word, class, caption or prompt."),
        ),
        _stimuli,
    ),
    "questions": _Table(
        "What a judge is asked about every image.",
        (
            _OF,
            Column("question", _TEXT, "The question."),
            Column("classes", _TEXT, "What it can be answered with.", repeated=True),
        ),
        _questions,
    ),
}


def _named(model: BaseModel, at: str = "") -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Every named set of a task: lists of words, and what has a name and a prompt of its own."""
    for field in type(model).model_fields:
        if field in _BESIDE:
            continue
        value = getattr(model, field)
        inner = value if isinstance(value, tuple) else (value,)
        for number, one in enumerate(inner):
            if isinstance(one, BaseModel):
                here = f"{field}.{number}" if isinstance(value, tuple) else field
                yield from _named(one, f"{at}.{here}" if at else here)
    name = getattr(model, "name", None)
    if at and isinstance(name, str):
        texts = [
            (field, text)
            for field in type(model).model_fields
            if isinstance(value := getattr(model, field), tuple)
            for text in value
            if isinstance(text, str)
        ]
        prompt = getattr(model, "prompt", None)
        if isinstance(prompt, str):
            texts.insert(0, ("prompt", prompt))
        yield at, name, texts


def write_taskset(tasks: Sequence[LoadedTask], target: Path) -> dict[str, int]:
    """Write tasks as a data set."""
    with disk_errors(target):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise T2IBenchError(f"{shown(target, 400)} is there already.", "Name a new folder.")
        target.mkdir(parents=True, exist_ok=True)
    rows = {
        name: [row for task in tasks for row in table.rows(task)] for name, table in _TABLES.items()
    }
    files = {f"{name}.jsonl": dump_rows(lines) for name, lines in rows.items() if lines}
    files |= {f"tasks/{task.group}/{task.id}.yaml": _task_file(task) for task in tasks}
    ours = all(_is_ours(task) for task in tasks)
    metadata = croissant(
        name="t2ibench tasks",
        about=_ABOUT,
        version=_version(tasks),
        licence=_LICENCE if ours else None,
        cite=_citations(tasks),
        date=_date(),
        files={name: _hashed(data) for name, data in files.items()},
        records=[
            RecordSet(name, _TABLES[name].about, f"{name}.jsonl", _TABLES[name].columns)
            for name, lines in rows.items()
            if lines
        ],
    )
    files["croissant.json"] = _json(metadata)
    files["eval.yaml"] = _eval_yaml(tasks)
    files["README.md"] = _card([name for name, lines in rows.items() if lines], tasks, ours)
    for name, data in files.items():
        write_bytes(target / name, data, durable=False)
    return {name: len(lines) for name, lines in rows.items() if lines}


def _task_file(task: LoadedTask) -> bytes:
    """The task with its word lists put in: it needs no other file."""
    content = task.spec.model_dump(mode="json", exclude_defaults=True)
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    return str(text).encode()


def _is_ours(task: LoadedTask) -> bool:
    return task.path.resolve().is_relative_to(bundled_tasks().resolve())


def _version(tasks: Sequence[LoadedTask]) -> str:
    """Semantic, as Croissant wants; the build number is over what decides the scores."""
    text = "".join(f"{task.id} {task.hash}\n" for task in tasks)
    newest = max((task.spec.version for task in tasks), default=1)
    return f"{newest}.0.0+{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _citations(tasks: Sequence[LoadedTask]) -> str:
    cited = sorted({" ".join(task.spec.citation.split()) for task in tasks})
    return " ".join(["The t2ibench authors. t2ibench.", *cited])


def _date() -> str:
    """Today, or the day of SOURCE_DATE_EPOCH, which makes exports reproducible."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    when = float(given) if given.isdecimal() else None
    now = datetime.now(timezone.utc)
    return (now if when is None else datetime.fromtimestamp(when, timezone.utc)).date().isoformat()


def _hashed(data: bytes) -> tuple[str, int]:
    return hashlib.sha256(data).hexdigest(), len(data)


def _json(content: Any) -> bytes:
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode()


def _eval_yaml(tasks: Sequence[LoadedTask]) -> bytes:
    """What registers a dataset repository as a benchmark (hub-docs, eval-results)."""
    content = {
        "name": "t2ibench",
        "description": _ABOUT,
        "evaluation_framework": "t2ibench",
        "tasks": [{"id": task.id, "config": "prompts", "split": "test"} for task in tasks],
    }
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)).encode()


def _card(tables: Sequence[str], tasks: Sequence[LoadedTask], ours: bool) -> bytes:
    front = {
        "license": "apache-2.0" if ours else "other",
        "pretty_name": "t2ibench tasks",
        "language": ["en"],
        "tags": ["text-to-image", "bias", "fairness", "benchmark", "t2ibench"],
        "configs": [
            {"config_name": name, "data_files": [{"split": "test", "path": f"{name}.jsonl"}]}
            for name in tables
        ],
    }
    listed = "\n".join(f"- `{name}.jsonl`: {_TABLES[name].about}" for name in tables)
    text = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    return (
        f"---\n{text}---\n# t2ibench tasks\n\n{_ABOUT}\n\n{len(tasks)} tests.\n\n{listed}\n"
        "- `tasks/`: the task files, word lists put in.\n"
        "- `croissant.json`: what the files hold, with their SHA-256.\n"
    ).encode()
