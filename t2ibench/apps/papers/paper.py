"""A paper: its data file, and the functions that build its exhibits."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, create_model

from t2ibench.apps.papers.exhibits import Exhibit, rows
from t2ibench.apps.papers.schema import PaperFile
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core.schema import Strict
from t2ibench.registry import Registry
from t2ibench.tasks.explain import explain
from t2ibench.tasks.source import Document, Location, read_yaml

T = TypeVar("T", bound=BaseModel)
Builder = Callable[[Exhibit], None]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its data, and from the name of an exhibit to the function that builds it."""

    name: str
    file: PaperFile
    builders: Mapping[str, Builder]

    @property
    def description(self) -> str:
        """One line, for `t2ibench ls papers`."""
        return f"{self.file.title}: {', '.join(self.file.exhibits)}"


PAPERS: Registry[Paper] = Registry(
    "paper",
    {
        name: f"t2ibench.apps.papers.published.{name}:PAPER"
        for name in ("t2iat", "mcas", "openbias", "tibet", "vibex")
    },
    members=("name", "file", "builders"),
)


def read_paper(path: Path, *functions: Callable[..., None]) -> Paper:
    """Read the data of a paper, and find the function of each exhibit: its own, or `rows`."""
    document = read_yaml(path)
    if document.problems:
        raise T2IBenchError(str(document.problems[0]))
    data = _checked(PaperFile, document.data, document, ())
    tasks = [task.of for task in data.preset.tasks]
    known: dict[str, Callable[..., None]] = {one.__name__: one for one in (rows, *functions)}
    builders: dict[str, Builder] = {}
    for name, entry in data.exhibits.items():
        kind = entry.kind or name.replace("-", "_")
        for key, names, there in (
            ("tasks", entry.tasks, tasks),
            ("models", entry.published, entry.models),
            ("kind", [kind], known),
        ):
            for one in names:
                if one not in there:
                    message = f"{key}: unknown '{shown(one)}'.{did_you_mean(one, list(there))}"
                    raise T2IBenchError(str(document.problem(("exhibits", name, key), message)))
        hints = typing.get_type_hints(known[kind])
        _, *takes = inspect.signature(known[kind]).parameters.values()
        fields: dict[str, Any] = {
            one.name: (hints[one.name], ... if one.default is one.empty else one.default)
            for one in takes
        }
        model = create_model(kind, __base__=Strict, **fields)
        values = _checked(model, entry.arguments, document, ("exhibits", name, "arguments"))
        given = {one: getattr(values, one) for one in fields}
        builders[name] = functools.partial(known[kind], **given)
    return Paper(path.stem, data, builders)


def _checked(model: type[T], values: object, document: Document, location: Location) -> T:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = document.problem((*location, *first["loc"]), explain(first, model))
        raise T2IBenchError(str(problem)) from None
