"""From files to validated tasks. Every problem of every file is collected, not the first."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from t2ibench.errors import T2IBenchError, TaskFileError, did_you_mean
from t2ibench.tasks.checks import check_task
from t2ibench.tasks.schema import METHODS, AnyTask, StimuliFile
from t2ibench.tasks.source import Document, Location, Problem, read_yaml

_NOT_SCORED = {"title", "description", "citation", "tags", "notes", "published"}


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """A task as it stands in a file.

    Attributes:
        spec: The validated task, word lists put in.
        path: Its file.
        group: Its folder below the tasks folder, such as 't2iat'.
        hash: SHA-256 over everything that decides its score.
    """

    spec: AnyTask
    path: Path
    group: str
    hash: str

    @property
    def id(self) -> str:
        """The task's unique name."""
        return self.spec.id


@dataclass(slots=True)
class Library:
    """The word lists and reference tables of one or more stimuli folders."""

    lists: dict[str, tuple[str, ...]]
    references: dict[str, dict[str, float]]
    problems: list[Problem]

    @property
    def context(self) -> dict[str, Any]:
        """What validation looks names up in."""
        return {"lists": self.lists, "references": self.references}


def bundled_tasks() -> Path:
    """The folder of the tasks that come with t2ibench."""
    package = Path(__file__).resolve().parents[1]
    installed = package / "bundled" / "tasks"
    return installed if installed.is_dir() else package.parent / "tasks"


def task_hash(spec: AnyTask) -> str:
    """SHA-256 over what decides a task's score; titles, notes and tags do not."""
    content = spec.model_dump(mode="json", exclude=_NOT_SCORED)
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_library(roots: Iterable[Path]) -> Library:
    """Read every stimuli/*.yaml below the roots."""
    library = Library({}, {}, [])
    owners: dict[str, Path] = {}
    for root in roots:
        for path in sorted((root / "stimuli").glob("*.y*ml")):
            document = read_yaml(path)
            library.problems += document.problems
            if document.problems:
                continue
            stimuli = _validate(StimuliFile, document, {}, library.problems)
            if stimuli is None:
                continue
            for name, words in stimuli.lists.items():
                _own(name, path, owners, library, document, ("lists", name))
                library.problems += _list_problems(name, words, document)
                library.lists[name] = words
            for name, table in stimuli.references.items():
                _own(name, path, owners, library, document, ("references", name))
                library.references[name] = dict(table.shares)
    return library


def _own(
    name: str,
    path: Path,
    owners: dict[str, Path],
    library: Library,
    document: Document,
    at: Location,
) -> None:
    if name in owners:
        message = f"the name '{name}' is already used in {owners[name]}"
        library.problems.append(document.problem(at, message))
    owners[name] = path


def _list_problems(name: str, words: Sequence[str], document: Document) -> list[Problem]:
    problems, seen = [], set()
    for number, word in enumerate(words):
        at: Location = ("lists", name, number)
        if not word.strip() or word != word.strip():
            problems.append(document.problem(at, f"'{word}' is empty or has spaces around it"))
        if word in seen:
            problems.append(document.problem(at, f"'{word}' is in the list '{name}' twice"))
        seen.add(word)
    return problems


def _validate(
    model: type[Any], document: Document, context: dict[str, Any], problems: list[Problem]
) -> Any:
    if not isinstance(document.data, dict):
        problems.append(document.problem((), "expected a mapping of keys to values"))
        return None
    try:
        return model.model_validate(document.data, context=context)
    except ValidationError as error:
        for item in error.errors(include_url=False):
            problems.append(document.problem(item["loc"], _explain(item, model)))
    return None


def _explain(item: Any, model: type[Any]) -> str:
    """A pydantic error in the words of a person who edits YAML."""
    location = ".".join(str(part) for part in item["loc"])
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        known = _fields_at(model, item["loc"][:-1])
        return f"unknown key '{item['loc'][-1]}'.{did_you_mean(str(item['loc'][-1]), known)}" + (
            f" Known here: {', '.join(sorted(known))}." if known else ""
        )
    if kind == "missing":
        return f"the key '{location}' is missing"
    if kind == "literal_error":
        given = str(item["input"])
        options = [option.strip("'") for option in context["expected"].split(" or ")]
        options = [part.strip("' ") for option in options for part in option.split(",")]
        return (
            f"{location}: '{given}' is not one of {context['expected']}."
            f"{did_you_mean(given, options)}"
        )
    if kind == "value_error":
        return f"{location}: {context['error']}"
    if kind == "string_type" and isinstance(item["input"], bool):
        word = str(item["input"]).lower()
        return f"{location}: expected text, found {word}; put words such as yes, no, on in quotes"
    message = str(item["msg"])
    return f"{location}: {message[0].lower()}{message[1:]} (found {item['input']!r})"[:400]


def _fields_at(model: Any, location: Sequence[str | int]) -> list[str]:
    """The keys a model knows at a location."""
    current: Any = model
    for part in location:
        if isinstance(part, int):
            continue
        fields = getattr(current, "model_fields", {})
        if part not in fields:
            return []
        current = _inner_model(fields[part].annotation)
    return list(getattr(current, "model_fields", {}))


def _inner_model(annotation: Any) -> Any:
    if hasattr(annotation, "model_fields"):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _inner_model(argument)
        if found is not None:
            return found
    return None


def load_file(path: Path, root: Path, library: Library) -> tuple[LoadedTask | None, list[Problem]]:
    """Read, validate and check one task file.

    Returns:
        The task, or None where it has errors, and its problems (warnings too).
    """
    document = read_yaml(path)
    problems = list(document.problems)
    if problems or not isinstance(document.data, dict):
        if not problems:
            problems.append(document.problem((), "expected a mapping of keys to values"))
        return None, problems
    method = document.data.get("method")
    if method not in METHODS:
        found = "the key 'method' is missing" if method is None else f"unknown method '{method}'"
        problems.append(
            document.problem(
                ("method",),
                f"{found}.{did_you_mean(str(method), METHODS)} Methods: {', '.join(METHODS)}.",
            )
        )
        return None, problems
    spec = _validate(METHODS[method], document, library.context, problems)
    if spec is None:
        return None, problems
    problems += check_task(spec, document)
    if any(not problem.warning for problem in problems):
        return None, problems
    parts = path.parent.relative_to(root).parts if path.is_relative_to(root) else ()
    return LoadedTask(spec, path, "/".join(parts) or method, task_hash(spec)), problems


@functools.lru_cache(maxsize=8)
def _bundled_library() -> Library:
    return read_library([bundled_tasks()])


def library_for(roots: Sequence[Path]) -> Library:
    """The word lists that tasks below the roots may use: always the bundled ones too."""
    extra = [root for root in roots if root.resolve() != bundled_tasks().resolve()]
    return read_library([bundled_tasks(), *extra]) if extra else _bundled_library()


def task_files(root: Path) -> list[Path]:
    """Every task file below a folder, word lists left out."""
    return sorted(
        path
        for path in root.rglob("*.y*ml")
        if path.suffix in {".yaml", ".yml"} and "stimuli" not in path.relative_to(root).parts
    )


def load_folder(root: Path, library: Library) -> tuple[list[LoadedTask], list[Problem]]:
    """Load every task below a folder.

    Raises:
        T2IBenchError: the folder does not exist.
    """
    if not root.is_dir():
        raise T2IBenchError(
            f"There is no folder '{root}'.", "Give --include-path a folder of task YAML files."
        )
    tasks, problems = [], []
    for path in task_files(root):
        task, found = load_file(path, root, library)
        problems += found
        if task:
            tasks.append(task)
    return tasks, problems


def raise_errors(problems: Sequence[Problem]) -> None:
    """Raise TaskFileError with every problem that is not a warning."""
    errors = [str(problem) for problem in problems if not problem.warning]
    if errors:
        raise TaskFileError(errors)
