"""Tasks as a data set: JSON Lines, task files, Croissant metadata, a card, the hub's eval.yaml.

Croissant is MLCommons' vocabulary for data sets (https://docs.mlcommons.org/croissant/), as
JSON-LD. The folder is what a dataset repository of the Hugging Face hub holds: eval.yaml registers
it there as a benchmark, to which results on models' pages then belong.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any

import yaml
from pydantic import BaseModel

from t2ibench.methods import needs
from t2ibench.reports.exports import check_new
from t2ibench.settings import Settings
from t2ibench.store.file_errors import disk_errors
from t2ibench.store.files import write_bytes
from t2ibench.store.jsonl import dump_rows
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


# The context that the format's specification gives.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
} | {
    name: f"cr:{name}"
    for name in (
        *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty"),
        *("fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key"),
        *("md5", "parentField", "path", "recordSet", "references", "regex", "repeated"),
        *("replace", "samplingRate", "separator", "source", "subField", "transform"),
    )
}
_FORMATS = {".jsonl": "application/jsonlines", ".yaml": "application/yaml"}


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


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of the data set: what a line is, what its columns hold, its lines of a task."""

    about: str
    columns: Mapping[str, str]
    rows: Callable[[LoadedTask], Iterator[Row]]


_WHOLE, _REPEATED = {"version", "images", "size"}, {"tags", "classes"}  # columns
_OF = {"task": "Id of the task."}
_AT = {
    "at": "Where the group stands in the task file, such as concepts.X.",
    "group": "Name of the group.",
}
_TABLES = {
    "tasks": _Table(
        "The tests, a line each.",
        _OF
        | {
            "version": "Raised with every change that changes a score.",
            "method": "How it is measured.",
            "group": "The folder of the task file.",
            "title": "One line.",
            "description": "What the score does and does not show.",
            "citation": "The publication it comes from.",
            "tags": "What it is about.",
            "sha256": "Over everything in the task that decides a score.",
        },
        _task,
    ),
    "prompts": _Table(
        "What images are generated of.",
        _OF
        | {
            "prompt": "The text.",
            "images": "How many images, by default.",
            "group": "What the prompt stands for in the task; may be empty.",
        },
        _prompts,
    ),
    "groups": _Table(
        "Named sets: concepts, attributes, groups of people, classes, targets.",
        _OF | _AT | {"size": "Number of its stimuli."},
        _groups,
    ),
    "stimuli": _Table(
        "The members of the groups, a line each.",
        _OF
        | _AT
        | {
            "kind": "What they are in the task file, such as words or classes.",
            "stimulus": "The word, class, caption or prompt.",
        },
        _stimuli,
    ),
    "questions": _Table(
        "What a judge is asked about every image.",
        _OF | {"question": "The question.", "classes": "What it can be answered with."},
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
    check_new(target)
    with disk_errors(target):
        target.mkdir(parents=True, exist_ok=True)
    rows = {
        name: [row for task in tasks for row in table.rows(task)] for name, table in _TABLES.items()
    }
    rows = {name: lines for name, lines in rows.items() if lines}
    files = {f"{name}.jsonl": dump_rows(lines) for name, lines in rows.items()}
    for task in tasks:  # with its word lists put in: it needs no other file
        content = task.spec.model_dump(mode="json", exclude_defaults=True)
        files[f"tasks/{task.group}/{task.id}.yaml"] = _yaml(content, width=100)
    bundled = bundled_tasks().resolve()
    ours = all(task.path.resolve().is_relative_to(bundled) for task in tasks)
    metadata = _croissant(tasks, files, list(rows), ours)
    files["croissant.json"] = (json.dumps(metadata, indent=1, ensure_ascii=False) + "\n").encode()
    # What registers a dataset repository as a benchmark (hub-docs, eval-results).
    benchmark = {
        "name": "t2ibench",
        "description": _ABOUT,
        "evaluation_framework": "t2ibench",
        "tasks": [{"id": task.id, "config": "prompts", "split": "test"} for task in tasks],
    }
    files["eval.yaml"] = _yaml(benchmark, width=100)
    files["README.md"] = _card(list(rows), tasks, ours)
    for name, data in files.items():
        write_bytes(target / name, data, durable=False)
    return {name: len(lines) for name, lines in rows.items()}


def _yaml(content: Any, width: int = 80) -> bytes:
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=width)
    return text.encode()


def _croissant(
    tasks: Sequence[LoadedTask], files: Mapping[str, bytes], tables: Sequence[str], ours: bool
) -> dict[str, Any]:
    """The metadata of the folder, as JSON-LD: Croissant 1.0."""
    cited = sorted({" ".join(task.spec.citation.split()) for task in tasks})
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "t2ibench tasks",
        "description": _ABOUT,
        "version": _version(tasks),
        **({"license": _LICENCE} if ours else {}),
        "citeAs": " ".join(["The t2ibench authors. t2ibench.", *cited]),
        "datePublished": _date(),
        "creator": {"@type": "sc:Organization", "name": "The t2ibench authors"},
        "keywords": ["text-to-image", "bias", "fairness", "benchmark"],
        "inLanguage": "en",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": path,
                "name": path,
                "contentUrl": path,
                "contentSize": f"{len(data)} B",
                "encodingFormat": _FORMATS[PurePosixPath(path).suffix],
                "sha256": hashlib.sha256(data).hexdigest(),
            }
            for path, data in files.items()
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": name,
                "name": name,
                "description": _TABLES[name].about,
                "field": [_field(name, column) for column in _TABLES[name].columns],
            }
            for name in tables
        ],
    }


def _field(table: str, column: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table}/{column}",
        "name": column,
        "description": _TABLES[table].columns[column],
        "dataType": "sc:Integer" if column in _WHOLE else "sc:Text",
        **({"repeated": True} if column in _REPEATED else {}),
        "source": {"fileObject": {"@id": f"{table}.jsonl"}, "extract": {"column": column}},
    }


def _version(tasks: Sequence[LoadedTask]) -> str:
    """Semantic, as Croissant wants; the build number is over what decides the scores."""
    text = "".join(f"{task.id} {task.hash}\n" for task in tasks)
    newest = max((task.spec.version for task in tasks), default=1)
    return f"{newest}.0.0+{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _date() -> str:
    """Today, or the day of SOURCE_DATE_EPOCH, which makes exports reproducible."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    when = float(given) if given.isdecimal() else None
    now = datetime.now(timezone.utc)
    return (now if when is None else datetime.fromtimestamp(when, timezone.utc)).date().isoformat()


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
    text = _yaml(front).decode()
    return (
        f"---\n{text}---\n# t2ibench tasks\n\n{_ABOUT}\n\n{len(tasks)} tests.\n\n{listed}\n"
        "- `tasks/`: the task files, word lists put in.\n"
        "- `croissant.json`: what the files hold, with their SHA-256.\n"
    ).encode()
