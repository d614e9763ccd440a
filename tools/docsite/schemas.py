"""The files of a run, field by field, from the models that write them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import typing
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any

from pydantic import BaseModel

from docsite.text import code, escaped, table
from t2ibench.results.record import RunRecord
from t2ibench.results.schema import Results

_FILES = {
    "results.json": (
        Results,
        "results",
        "What a run found. Nothing in it is a time, and nothing "
        "depends on workers or the order of tasks: the same inputs give "
        "the same file, byte for byte. Files of schema 2 are read too.",
    ),
    "run.db": (RunRecord, "run", "What a run was made with, and how far it came."),
}
_FIELD = re.compile(r"^ {4}(\w+): (.*?)(?=^ {4}\w+: |^ {0,3}\S|\Z)", re.M | re.S)


def pages() -> dict[str, str | bytes]:
    """A page and a JSON Schema for each file."""
    made: dict[str, str | bytes] = {}
    for name, (model, stem, about) in _FILES.items():
        made[f"reference/{stem}.md"] = _page(name, model, stem, about)
        schema = json.dumps(
            model.model_json_schema(by_alias=True), indent=1, ensure_ascii=False
        )
        made[f"reference/{stem}.schema.json"] = schema + "\n"
    return made


def fields(kind: type) -> dict[str, str]:
    """The fields of a model or a dataclass, and what a file calls them."""
    if issubclass(kind, BaseModel):
        return {name: field.alias or name for name, field in kind.model_fields.items()}
    return {field.name: field.name for field in dataclasses.fields(kind)}


def meanings(model: type) -> dict[str, str]:
    """Field to meaning, from the docstrings of a model and of those that it extends."""
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if one not in {BaseModel, object}:
            _, _, attributes = inspect.cleandoc(one.__doc__ or "").partition(
                "Attributes:\n"
            )
            found |= {
                name: " ".join(text.split())
                for name, text in _FIELD.findall(attributes)
            }
    return found


def models(model: type[BaseModel]) -> list[type]:
    """A model and all that its fields are made of, each once, from the outside in."""
    found: list[type] = []
    waiting: list[type] = [model]
    while waiting:
        one = waiting.pop(0)
        if one in found:
            continue
        found.append(one)
        hints = typing.get_type_hints(one)
        waiting += [part for name in fields(one) for part in _within(hints[name])]
    return found


def _has_fields(kind: Any) -> bool:
    return isinstance(kind, type) and (
        issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)
    )


def _within(kind: Any) -> Iterator[type]:
    if _has_fields(kind):
        yield kind
    for part in typing.get_args(kind):
        yield from _within(part)


def _page(name: str, model: type[BaseModel], stem: str, about: str) -> str:
    parts = [
        f"# {name}",
        about,
        f"The same as [JSON Schema]({stem}.schema.json), for programs.",
    ]
    for one in models(model):
        parts.append(f"## {one.__name__} {{ #{one.__name__.lower()} }}")
        if one is not model:
            text = inspect.cleandoc(one.__doc__ or "")
            parts.append(escaped(text.partition("\n\nAttributes:")[0]))
        parts.append(table(["Field", "Type", "Meaning"], _rows(one)))
    return "\n\n".join(parts) + "\n"


def _rows(model: type) -> Iterator[list[str]]:
    told, hints = meanings(model), typing.get_type_hints(model)
    for name, written in fields(model).items():
        yield [code(written), _type(hints[name]), escaped(told[name])]


def _type(kind: Any) -> str:
    """A type as JSON has it, with links to the models of the page."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _type(parts[0])
    if origin in {typing.Union, UnionType}:
        return " or ".join(_type(part) for part in parts)
    if origin is typing.Literal:
        return " or ".join(code(json.dumps(part)) for part in parts)
    if origin is dict:
        return f"object of {_type(parts[1])}"
    if origin in {list, tuple}:
        return f"list of {_type(parts[0])}"
    if _has_fields(kind):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    plain = {str: "text", int: "whole number", float: "number", bool: "true or false"}
    return plain.get(kind, "null" if kind is NoneType else "anything")
