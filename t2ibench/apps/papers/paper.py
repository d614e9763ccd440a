"""A paper's data file, and the functions that build its tables and figures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from t2ibench.apps.papers.exhibits import Exhibit, rows
from t2ibench.apps.papers.schema import PaperFile
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.registry import Registry
from t2ibench.tasks.explain import explain
from t2ibench.tasks.source import read_yaml

T = TypeVar("T", bound=BaseModel)
Builder = Callable[[Exhibit], None]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper's published data, with a function that builds each table or figure."""

    name: str
    file: PaperFile
    builders: Mapping[str, Builder]

    @property
    def description(self) -> str:
        """One-line description of the paper for `t2ibench ls papers`."""
        return f"{self.file.title}: {', '.join(self.file.exhibits)}"


PAPERS: Registry[Paper] = Registry(
    "paper",
    {
        name: f"t2ibench.apps.papers.published.{name}:PAPER"
        for name in ("t2iat", "mcas", "openbias", "tibet", "vibex")
    },
    members=("name", "file", "builders"),
)


def read_paper(path: Path, *functions: Builder) -> Paper:
    """Return a paper from its data file; exhibits without a function list all rows of a task."""
    document = read_yaml(path)
    if document.problems:
        raise T2IBenchError(str(document.problems[0]))
    try:
        data = PaperFile.model_validate(document.data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = explain(first, PaperFile)
        raise T2IBenchError(str(document.problem(first["loc"], message))) from None
    tasks = [task.of for task in data.preset.tasks]
    named_builders = {
        function.__name__.replace("_", "-"): function for function in functions
    }
    builders: dict[str, Builder] = {}
    for name, entry in data.exhibits.items():
        for key, names, there in (
            ("tasks", entry.tasks, tasks),
            ("models", entry.published, entry.models),
            ("rows", [] if entry.rows else [name], named_builders),
        ):
            for entry_name in names:
                if entry_name not in there:
                    hint = did_you_mean(entry_name, list(there))
                    message = f"{key}: unknown '{shown(entry_name)}'.{hint}"
                    raise T2IBenchError(
                        str(document.problem(("exhibits", name, key), message))
                    )
        table = entry.rows
        builders[name] = (
            named_builders[name]
            if table is None
            else functools.partial(rows, wanted=table)
        )
    return Paper(path.stem, data, builders)
