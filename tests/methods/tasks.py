"""Tasks made by hand: what every task file says, and then what a test is about."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel

_Task = TypeVar("_Task", bound=BaseModel)


def task_by_hand(schema: type[_Task], method: str, **parts: object) -> _Task:
    """A valid task of a method; `parts` are the keys that its schema adds, or replaces."""
    header = {
        "id": "hand",
        "version": 1,
        "method": method,
        "title": "by hand",
        "description": "by hand",
        "citation": "by hand",
    }
    return schema.model_validate({**header, **parts})
