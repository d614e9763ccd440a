"""The rewriter `file:PATH`: looks rewritings up in a file, or in another run."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from t2ibench.arguments import Arguments, Columns, NotNegative, Text, expected, one_of
from t2ibench.errors import T2IBenchError, did_you_mean, shown, shown_path
from t2ibench.models.adapter import Adapter
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.language import Per, RewriteRequest, Rewriting
from t2ibench.models.locations import is_file
from t2ibench.store.database import NAME as RUN
from t2ibench.store.database import Database
from t2ibench.store.file_names import composed
from t2ibench.store.people_tables.cells import NOT_AVAILABLE
from t2ibench.store.people_tables.image_indexes import counted_from_one
from t2ibench.store.people_tables.reader import Table, read_table
from t2ibench.store.rewrites import RewriteStore
from t2ibench.store.user_paths import expanded

_EXAMPLE = '{"prompt": "a photo of a nurse", "rewritten": "a photo of a male nurse"}'
# A whole number with a decimal part, as pandas and spreadsheets may write it.
_WHOLE = re.compile(r"[0-9]+[.,]0*")
_NAMED = 3  # prompts that a message names


class FileArguments(Arguments):
    """The options of `file:PATH` that --rewriter-args accepts.

    `missing` decides about prompts that the file does not have: 'error', or 'keep' to leave them as
    they are. `columns` maps 'prompt', 'rewritten' and 'index' to headings; `sheet` names the sheet
    of a workbook.
    """

    missing: Annotated[Literal["error", "keep"], one_of("error", "keep")] = "error"
    columns: Columns = Field(default_factory=dict)
    sheet: Text | None = None


class _Row(Arguments):
    """A row of the file: a prompt and its rewriting, or several of which each image draws one."""

    prompt: Text
    rewritten: Annotated[
        tuple[Text, ...],
        BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    ] = ()
    index: NotNegative | None = None
    status: Literal["ok", "refused", "failed"] = "ok"
    reason: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> _Row:
        if self.status == "ok" and not self.rewritten:
            raise ValueError("'rewritten' has no text")
        if len(self.rewritten) > 1 and self.index is not None:
            raise ValueError(
                "a list of rewritings takes no 'index': images draw from it"
            )
        return self

    def rewriting(self, seed: int) -> Rewriting:
        """Return the rewriting for an image with this seed, or why the prompt was refused."""
        if self.status != "ok":
            return Rewriting("refused", reason=self.reason or "the rewriter declined")
        # A hash of its own, so that the choice is independent of the image's initial noise.
        digest = hashlib.sha256(f"rewriting\0{seed}".encode()).digest()
        number = int.from_bytes(digest[:8], "little") % len(self.rewritten)
        return Rewriting("ok", self.rewritten[number])


class FileRewriter:
    """Looks rewritings up in a file, or in another run's folder (see models.language.Rewriter).

    JSON Lines and CSV have 'prompt', 'rewritten' and, where an image has a rewriting of its own,
    'index'. In JSON Lines several rewritings of a prompt are a list, from which each image draws
    one by its seed. So the images of a prompt have the same distribution, as every interval and
    control assumes; taking the rewritings in turn would break this.
    """

    def __init__(
        self,
        path: Path,
        missing: str = "error",
        columns: Mapping[str, str] | None = None,
        sheet: str | None = None,
    ) -> None:
        of_run = (path / RUN).is_file()
        if not of_run and not is_file(path):
            raise T2IBenchError(
                f"No such file: '{shown_path(path)}'.", "Check the path after file:"
            )
        self.name = f"file:{path.name}"
        self._path = path
        self._missing = missing
        self._rows: dict[tuple[str, int | None], _Row] = {}
        if of_run:
            for row in _rows_of_run(path):
                self._take(shown_path(path), row)
        else:
            table = read_table(path, columns=columns, sheet=sheet, expected=_EXAMPLE)
            for line, cells in _named(table):
                self._take(table.where(line), cells)
        if not self._rows:
            raise T2IBenchError(
                f"{shown_path(path)} has no rewritings.", f"Expected {_EXAMPLE}."
            )
        rows = self._rows.items()
        per_image = any(
            index is not None or len(row.rewritten) > 1 for (_, index), row in rows
        )
        self.per: Per = "image" if per_image else "prompt"
        content = [
            sorted([row.prompt, *row.rewritten] for row in self._of_prompts()),
            sorted(
                [
                    row.prompt,
                    -1 if row.index is None else row.index,
                    row.status,
                    "".join(row.rewritten),
                ]
                for row in self._of_images()
            ),
        ]
        self.settings: Mapping[str, Any] = {
            "file": path.name,
            "content": fingerprint({"rows": content}),
            "missing": missing,
        }
        parts = {"adapter": "file rewriter 1", "rows": content, "missing": missing}
        self.fingerprint = fingerprint(parts)

    def _of_prompts(self) -> list[_Row]:
        return [
            row
            for row in self._rows.values()
            if row.index is None and row.status == "ok"
        ]

    def _of_images(self) -> list[_Row]:
        return [
            row
            for row in self._rows.values()
            if row.index is not None or row.status != "ok"
        ]

    def _take(self, where: str, cells: Mapping[str, Any]) -> None:
        try:
            row = _Row(**cells)
        except ValidationError as error:
            item = error.errors(include_url=False)[0]
            name = ".".join(map(str, item["loc"]))
            fields = _Row.model_fields
            near = "" if name in fields else did_you_mean(name, fields)
            what = f"{shown(name)}: " if name else ""
            raise T2IBenchError(
                f"{where}: {what}{expected(item)}.{near}",
                f"A row is such as {_EXAMPLE}, with an 'index' where images differ; several texts "
                "are a list.",
            ) from None
        if row.status == "failed":  # a run has no rewriting of it
            return
        key = (_plain(row.prompt), row.index)
        if key in self._rows:
            which = "" if row.index is None else f"image {row.index} of "
            raise T2IBenchError(
                f"{where}: {which}'{shown(row.prompt)}' occurs twice.",
                "Keep one of them.",
            )
        self._rows[key] = row

    def _find(self, request: RewriteRequest) -> Rewriting | None:
        prompt = request.prompt
        row = self._row_of(request)
        if row is not None:
            return row.rewriting(request.seed)
        if self._missing != "keep":
            return None
        blank = Rewriting("failed", reason="the prompt is empty")
        return Rewriting("ok", prompt) if prompt.strip() else blank

    def _row_of(self, request: RewriteRequest) -> _Row | None:
        """Return the row about a request's image, or else about all images of its prompt."""
        prompt = _plain(request.prompt)
        of_image = self._rows.get((prompt, request.index))
        return of_image or self._rows.get((prompt, None))

    def check(self, requests: Sequence[RewriteRequest]) -> None:
        """Raise an error for prompts without a rewriting (see models.language.ChecksPrompts)."""
        if requests and not any(map(self._row_of, requests)):
            raise T2IBenchError(
                f"{shown_path(self._path)} rewrites no prompt of these tasks: it begins with "
                f"'{shown(next(iter(self._rows.values())).prompt)}', and they with "
                f"'{shown(requests[0].prompt)}'.",
                "Write the prompts as they are in the tasks; case counts.",
            )
        self._check_first_index(requests)
        missing = [request for request in requests if self._find(request) is None]
        if not missing:
            return
        names = ", ".join(map(_described, missing[:_NAMED]))
        more = ", …" if len(missing) > _NAMED else ""
        raise T2IBenchError(
            f"{shown_path(self._path)} lacks {len(missing)} of the {len(requests)} rewritings that "
            f"these tasks need, of {names}{more}.",
            "Add them (a list is for images to draw from), name fewer tasks, or leave prompts as "
            "they are: --rewriter-args missing=keep.",
        )

    def _check_first_index(self, requests: Sequence[RewriteRequest]) -> None:
        """Raise an error for image indexes that start at 1, which would shift rewritings by one."""
        counts = Counter(_plain(request.prompt) for request in requests)
        indexes = [index for _, index in self._rows if index is not None]
        beyond = [
            prompt for prompt, count in counts.items() if (prompt, count) in self._rows
        ]
        if indexes and min(indexes) == 1 and beyond:
            where = shown_path(self._path)
            example = beyond[0]
            raise counted_from_one(
                where, indexes, example, counts[example], "Count from 0."
            )

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[Rewriting]:
        """Return the rewriting of each request, looked up in the file."""
        not_there = Rewriting(
            "failed", reason=f"{self._path.name} has no rewriting of it"
        )
        return [self._find(request) or not_there for request in requests]


def _plain(prompt: str) -> str:
    """Return a prompt with single spaces and composed letters, to compare it."""
    return " ".join(composed(prompt).split())


def _described(request: RewriteRequest) -> str:
    """Return a request's prompt for messages, with the index of its image if it has one."""
    prompt = f"'{shown(request.prompt)}'"
    return prompt if request.index is None else f"{prompt} (image {request.index})"


def _named(table: Table) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number of each row of a table, and its cells keyed by field of `_Row`."""
    # Unknown keys are errors in JSON, but a sheet may have further columns.
    if table.is_json:
        yield from table.rows
        return
    columns = {name: table.find(name) for name in _Row.model_fields}
    for role in ("prompt", "rewritten"):
        columns[role] = table.need(role, "each row needs a prompt and its rewriting")
    for line, row in table.rows:
        cells = {
            name: row.get(column)
            for name, column in columns.items()
            if column is not None
        }
        index = cells.get("index")
        if index and _WHOLE.fullmatch(index):
            cells["index"] = index.replace(",", ".").partition(".")[0]
        several = _several(cells.get("rewritten") or "")
        yield (
            line,
            {
                name: several if several and name == "rewritten" else value
                for name, value in cells.items()
                if value and value != NOT_AVAILABLE
            },
        )


def _several(text: str) -> list[str] | None:
    """Return the texts of a cell with a list, as pandas and JSON write it; None for other cells."""
    if not text.startswith("["):
        return None
    try:
        texts = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    is_list = isinstance(texts, list) and all(isinstance(item, str) for item in texts)
    return texts if is_list and texts else None


def _rows_of_run(path: Path) -> Iterator[dict[str, Any]]:
    database = Database(path)
    for (made_by,) in database.read(
        "SELECT fingerprint FROM models WHERE role = 'rewriter'"
    ):
        for rewriting in RewriteStore(database, str(made_by)):
            row = {key: getattr(rewriting, key) for key in _Row.model_fields}
            yield {key: value for key, value in row.items() if value is not None}


ADAPTER = Adapter(
    create=lambda request: FileRewriter(
        expanded(request.source),
        request.args.missing,
        request.args.columns,
        request.args.sheet,
    ),
    form="file:PATH",
    description="rewritings from CSV, XLSX or JSON, or those of another run, its folder",
    Args=FileArguments,
)
