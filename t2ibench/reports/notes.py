"""An auditor's notes on a run: accept, query or reject, test by test, in notes.json beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.store.files import write_text

FILE = "notes.json"
SCHEMA = 1
Decision = Literal["accept", "query", "reject"]
DECISIONS: tuple[Decision, ...] = ("accept", "query", "reject")
_EXAMPLE = "Write --note 'TASK=query: run 50 images a prompt first'."


class Note(BaseModel):
    """What an auditor says of one test.

    Attributes:
        decision: 'accept', 'query' or 'reject'.
        text: Why.
        by: Who says so.
        date: When, as YYYY-MM-DD.
    """

    model_config = ConfigDict(extra="forbid")

    decision: Decision
    text: Annotated[str, Field(max_length=5000)] = ""
    by: Annotated[str, Field(max_length=200)] = ""
    date: Annotated[str, Field(max_length=40)] = ""


class Notes(BaseModel):
    """notes.json.

    Attributes:
        schema_version: Version of this schema ('schema' in the file).
        notes: Task id to note.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    notes: dict[str, Note] = Field(default_factory=dict)


def read_notes(file: Path) -> Notes:
    """Read a file of notes."""
    if not file.exists():
        return Notes()
    try:
        return Notes.model_validate_json(file.read_text(encoding="utf-8"))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise T2IBenchError(
            f"{file} is not a file of notes: {where}: {first['msg']}.",
            "Save it from the report's page, or see docs/reports.md.",
        ) from None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise T2IBenchError(f"{file} cannot be read: {type(error).__name__}.") from None


def parse_note(text: str, tasks: Iterable[str], by: str) -> tuple[str, Note]:
    """One --note of the command line."""
    task, _, rest = text.partition("=")
    decision, _, why = rest.partition(":")
    known = list(tasks)
    task, decision = task.strip(), decision.strip().lower()
    if task not in known:
        raise T2IBenchError(f"The run has no task '{task}'.{did_you_mean(task, known)}", _EXAMPLE)
    for one in DECISIONS:
        if decision == one:
            today = date.today().isoformat()
            try:
                return task, Note(decision=one, text=why.strip(), by=by, date=today)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                what = {"text": "The note", "by": "The name in --by"}[str(first["loc"][0])]
                raise T2IBenchError(f"{what} on '{task}' is too long: {first['msg']}.") from None
    raise T2IBenchError(
        f"'{decision}' is no decision: accept, query or reject.{did_you_mean(decision, DECISIONS)}",
        _EXAMPLE,
    )


def save_notes(file: Path, new: dict[str, Note]) -> Notes:
    """Add notes to those of a run; a newer note on a task replaces the one before."""
    notes = Notes(notes=dict(sorted({**read_notes(file).notes, **new}.items())))
    data = notes.model_dump(mode="json", by_alias=True)
    write_text(file, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    return notes
