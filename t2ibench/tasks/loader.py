"""Load and validate task files, and collect every problem of every file."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from t2ibench.errors import (
    T2IBenchError,
    TaskFileError,
    did_you_mean,
    first_line,
    shown,
    shown_path,
)
from t2ibench.methods import METHODS, method_of
from t2ibench.methods.core.schema import BaseTask, Identifier, Strict, Text
from t2ibench.store.user_paths import resolved
from t2ibench.tasks.choice import RESERVED
from t2ibench.tasks.explain import explain
from t2ibench.tasks.folders import (
    bundled_tasks,
    shipped_tasks,
    task_files,
    word_list_files,
)
from t2ibench.tasks.source import Document, Location, Problem, read_yaml

_NOT_SCORED = {
    "title",
    "description",
    "citation",
    "tags",
    "extended",
    "control",
    "notes",
    "published",
    "expected_warnings",
}


# Problems of each kind, errors and warnings, of one file that are listed; searching similar names
# for thousands takes minutes.
_MOST_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class LoadedTask:
    """A task read from a file, with its word lists filled in.

    Attributes:
        spec: The validated task.
        path: Its file.
        group: Its folder below the tasks folder, such as 't2iat'.
        hash: SHA-256 over everything that decides its score.
        line: The line of its id in the file.
        refused: Warnings that prevent a run from starting.
    """

    spec: BaseTask
    path: Path
    group: str
    hash: str
    line: int | None = None
    refused: tuple[Problem, ...] = ()

    @property
    def id(self) -> str:
        """The task's unique name."""
        return self.spec.id

    @property
    def tags(self) -> tuple[str, ...]:
        """Its names for `--tasks tag:NAME`."""
        return self.spec.tags

    @property
    def extended(self) -> bool:
        """Whether 'extended' chooses it, not 'all'."""
        return self.spec.extended


class ReferenceTable(Strict):
    """A table of known shares, from 0 to 1 for each word, in a stimuli file."""

    source: Text
    shares: dict[str, Annotated[float, Field(ge=0, le=1)]]


class StimuliFile(Strict):
    """A file of tasks/stimuli/: named lists of words and tables of shares, and their source."""

    source: Text
    lists: dict[Identifier, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default_factory=dict
    )
    references: dict[Identifier, ReferenceTable] = Field(default_factory=dict)


@dataclass(slots=True)
class Library:
    """The word lists and reference tables of one or more stimuli folders."""

    lists: dict[str, tuple[str, ...]]
    references: dict[str, dict[str, float]]
    problems: list[Problem]

    @property
    def context(self) -> dict[str, Any]:
        """The context for validation, in which names of lists are looked up."""
        return {"lists": self.lists, "references": self.references}


def task_hash(spec: BaseTask) -> str:
    """Return the SHA-256 over what decides a task's score, without titles, notes and tags."""
    # Captions decide the score; the file from which they were taken does not.
    excluded = _NOT_SCORED if spec.awaits is not None else _NOT_SCORED | {"pool"}
    content = spec.model_dump(mode="json", exclude=excluded)
    text = json.dumps(
        content, sort_keys=True, ensure_ascii=False, separators=(",", ":")
    )
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _WordListFile:
    """A file of tasks/stimuli/ as it was read; without its contents where it is invalid."""

    path: Path
    document: Document
    stimuli: StimuliFile | None
    problems: tuple[Problem, ...]


def read_library(roots: Iterable[Path]) -> Library:
    """Return the word lists and reference tables in every stimuli/*.yaml below the roots.

    The bundled ones are read once per process.
    """
    library = Library({}, {}, [])
    owners: dict[str, Path] = {}
    for root in roots:
        is_bundled = root == bundled_tasks()
        for file in _bundled_word_lists() if is_bundled else _word_lists(root):
            document, stimuli = file.document, file.stimuli
            library.problems += file.problems
            if stimuli is None:
                continue
            for kind, names in (
                ("lists", stimuli.lists),
                ("references", stimuli.references),
            ):
                for name in names:
                    if name in owners:
                        message = f"the name '{shown(name)}' is already used in {owners[name]}"
                        library.problems.append(document.problem((kind, name), message))
                    owners[name] = file.path
            for name, words in stimuli.lists.items():
                of_list = _list_problems(name, words, document)
                library.problems += _first_of(of_list, document)
                # The first list of a name counts, so a clash changes no other folder's tasks.
                library.lists.setdefault(name, words)
            for name, table in stimuli.references.items():
                library.references.setdefault(name, dict(table.shares))
    return library


@functools.lru_cache(maxsize=1)
def _bundled_word_lists() -> list[_WordListFile]:
    return _word_lists(bundled_tasks())


def _word_lists(root: Path) -> list[_WordListFile]:
    """Return every stimuli/*.yaml below a folder, each with the problems of its contents."""
    files = []
    for path in word_list_files(root):
        document = read_yaml(path)
        problems = _first_of(document.problems, document)
        stimuli = None
        if not problems:
            stimuli = _validate(StimuliFile, document, {}, problems)
        files.append(_WordListFile(path, document, stimuli, tuple(problems)))
    return files


def _first_of(problems: Iterable[Problem], document: Document) -> list[Problem]:
    """Return the problems of a document, errors first; of very many of a kind, the first.

    Warnings are cut off apart from errors: however many they are, they refuse no file and hide
    no error, and one that prevents a run is never among those that are left out.
    """
    errors: list[Problem] = []
    preventing: list[Problem] = []
    warnings: list[Problem] = []
    for problem in problems:
        kind = errors
        if problem.warning:
            kind = preventing if problem.stops_run else warnings
        if len(kind) <= _MOST_PROBLEMS:
            kind.append(problem)
        if len(errors) > _MOST_PROBLEMS:
            break
    first = []
    for kind, what in (
        (errors, "problems"),
        (preventing, "warnings that prevent a run"),
        (warnings, "warnings"),
    ):
        first += kind[:_MOST_PROBLEMS]
        if len(kind) > _MOST_PROBLEMS:
            message = (
                f"has more {what} than these {_MOST_PROBLEMS}; correct these first"
            )
            line = document.line(())
            first.append(replace(kind[-1], line=line, message=message))
    return first


def _list_problems(
    name: str, words: Sequence[str], document: Document
) -> Iterator[Problem]:
    seen = set()
    for number, word in enumerate(words):
        at: Location = ("lists", name, number)
        if not word.strip() or word != word.strip():
            yield document.problem(
                at, f"'{shown(word)}' is empty or has spaces around it"
            )
        if word in seen:
            yield document.problem(
                at, f"'{shown(word)}' is in the list '{shown(name)}' twice"
            )
        seen.add(word)


def _validate(
    model: type[Any],
    document: Document,
    context: dict[str, Any],
    problems: list[Problem],
) -> Any:
    if not isinstance(document.data, dict):
        problems.append(document.problem((), "expected a mapping of keys to values"))
        return None
    try:
        return model.model_validate(document.data, context=context)
    except ValidationError as error:
        problems += _first_of(_invalid_values(error, model, document), document)
    return None


def _invalid_values(
    error: ValidationError, model: type[Any], document: Document
) -> Iterator[Problem]:
    for item in error.errors(include_url=False):
        if (
            item["type"] == "too_short"
            and len(item["input"]) >= item["ctx"]["min_length"]
        ):
            continue  # its entries are invalid, and each has an error of its own
        yield document.problem(item["loc"], explain(item, model))


def check_task(task: BaseTask, document: Document) -> list[Problem]:
    """Return the problems of a task that its schema cannot express."""
    problems = []
    if task.id in RESERVED or task.id in METHODS:
        message = f"'{task.id}' names a choice of tasks, so it cannot be the id of one"
        problems.append(document.problem(("id",), message))
    try:
        of_method = (
            document.problem(
                finding.at, finding.message, finding.warning, finding.stops_run
            )
            for finding in method_of(task).check(task)
            if finding.kind not in task.expected_warnings
        )
        return problems + _first_of(of_method, document)
    # A defect of one method must not hide the problems of other files.
    except Exception as error:
        message = f"the method's own check failed with {type(error).__name__}: {first_line(error)}"
        return [*problems, document.problem(("method",), message)]


def load_file(
    path: Path, root: Path, library: Library
) -> tuple[LoadedTask | None, list[Problem]]:
    """Return the task in a file, validated and checked, and every problem of the file.

    Returns:
        The task, None if the file has errors, and every problem, warnings included.
    """
    document = read_yaml(path)
    problems = _first_of(document.problems, document)
    if problems or not isinstance(document.data, dict):
        if not problems:
            problems.append(
                document.problem((), "expected a mapping of keys to values")
            )
        return None, problems
    method = document.data.get("method")
    if not isinstance(method, str) or method not in METHODS:
        unknown = (
            f"unknown method '{shown(method)}'.{did_you_mean(str(method), METHODS)}"
        )
        problem = "the key 'method' is missing." if method is None else unknown
        message = f"{problem} Methods: {', '.join(METHODS.names())}."
        return None, [document.problem(("method",), message)]
    try:
        model = METHODS.get(method).Task
    except T2IBenchError as error:
        return None, [*problems, document.problem(("method",), str(error))]
    spec = _validate(model, document, library.context, problems)
    if spec is None:
        return None, problems
    problems += check_task(spec, document)
    if any(not problem.warning for problem in problems):
        return None, problems
    parts = path.parent.relative_to(root).parts if path.is_relative_to(root) else ()
    group = "/".join(parts) or method
    refused = tuple(problem for problem in problems if problem.stops_run)
    line = document.line(("id",))
    return LoadedTask(spec, path, group, task_hash(spec), line, refused), problems


@functools.lru_cache(maxsize=8)
def _bundled_library() -> Library:
    return read_library([bundled_tasks()])


def library_for(roots: Sequence[Path]) -> Library:
    """Return the word lists that tasks below the roots may use: theirs and the bundled ones."""
    shipped = shipped_tasks(roots)
    extra = [root for root in roots if resolved(root) != resolved(shipped)]
    if not extra and shipped == bundled_tasks():
        return _bundled_library()
    return read_library([shipped, *extra])


def load_folder(root: Path, library: Library) -> tuple[list[LoadedTask], list[Problem]]:
    """Return every task below a folder, and all problems of their files.

    A bundled file is read once per process.
    """
    if not root.is_dir():
        raise T2IBenchError(
            f"No such folder: '{shown_path(root)}'.",
            "Give --include-path a folder of task YAML files.",
        )
    tasks, problems = [], []
    for path in task_files(root):
        # Lists of other folders do not change the bundled tasks.
        task, complaints = (
            load_bundled_file(path)
            if root == bundled_tasks()
            else load_file(path, root, library)
        )
        problems += complaints
        if task:
            tasks.append(task)
    return tasks, problems


@functools.cache
def load_bundled_file(path: Path) -> tuple[LoadedTask | None, list[Problem]]:
    """Return what `load_file` does of a bundled file, which is read once per process."""
    return load_file(path, bundled_tasks(), _bundled_library())


def raise_refused(tasks: Iterable[LoadedTask]) -> None:
    """Raise one error with every warning that prevents a run from starting."""
    raise_errors(
        [replace(problem, warning=False) for task in tasks for problem in task.refused]
    )


def raise_errors(problems: Sequence[Problem]) -> None:
    """Raise one error that lists every problem that is not a warning, if there are any."""
    errors = [problem for problem in problems if not problem.warning]
    if errors:
        raise TaskFileError(map(str, errors))
