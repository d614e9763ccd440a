"""The judge `answers:FILE`: answers that people or another tool gave."""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.fingerprint import file_hash, fingerprint
from t2ibench.models.locations import is_file
from t2ibench.models.protocols import Answer, Query
from t2ibench.store.answers import ANSWERS_BY
from t2ibench.store.file_errors import reading
from t2ibench.store.images import StoredImage
from t2ibench.store.jsonl import read_rows_strictly
from t2ibench.store.labels import labeller_name
from t2ibench.store.tables import read_table

_DIGITS = 9  # of an index
_HASH = "SHA-256"
_SHA256 = re.compile("[0-9a-f]{64}")
_NAMED = ("image", "sha256", "file", "file_name", "path")
_NOT_ASKED = {"id", "prompt", "index", "classes", *_NAMED}
_Key = tuple[str, str]  # 'SHA-256', 'file' or 'prompt', and its value


@dataclass(slots=True)
class _Given:
    """What the rows about one image say: question (or column) to answer."""

    lines: list[int] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)


class AnswersJudge:
    """Looks answers up in CSV with a header or JSON Lines (see models.protocols.Judge and LooksUp).

    Each row names its image by 'file' (relative to the file of answers), by 'sha256', or by
    'prompt' and 'index'. It holds an 'answer', with its 'question' where several are asked; or each
    question has a column of its own, headed by the question or by a word of it ('gender'). Runs
    that the same people, `by`, answered about can be compared.
    """

    def __init__(self, path: Path, by: str = "") -> None:
        if not is_file(path):
            raise T2IBenchError(f"No such file: '{shown(path)}'.", "Check the path after answers:")
        self.name = f"{ANSWERS_BY}{by}" if by else f"answers:{path.name}"
        self.batch_size = 256
        self.fingerprint = fingerprint({"adapter": "answers 2", "file": file_hash(path)})
        self._path = path
        self._rows: dict[_Key, _Given] = {}
        self._column_of = cache(self._column)
        as_json = path.suffix.lower() in {".jsonl", ".json"}
        rows: list[tuple[int, Mapping[str, Any]]] = (
            list(read_rows_strictly(path, '{"prompt": "…", "index": 0, "answer": "…"}'))
            if as_json
            else list(read_table(path).rows)
        )
        self._columns = sorted({name for _, row in rows for name in row} - _NOT_ASKED)
        self._wide = "answer" not in self._columns
        for line, row in rows:
            answers = self._answers(row, line)
            if answers:
                self._merge(self._rows, self._key(row, line), _Given([line], answers))

    def _answers(self, row: Mapping[str, Any], line: int) -> dict[str, str]:
        """The answers of a row; an empty cell is an answer that is not there."""
        if self._wide:
            given = {name: row.get(name) for name in self._columns}
        else:
            given = {"question": row.get("question"), "answer": row.get("answer")}
        for text in given.values():
            if not isinstance(text, str | None):
                raise T2IBenchError(f"{self._path}:{line}: '{shown(text)}' is not text.")
        if not self._wide:
            given = {given["question"] or "": given["answer"]}
        return {key.strip(): text.strip() for key, text in given.items() if text and text.strip()}

    def _key(self, row: Mapping[str, Any], line: int) -> _Key:
        """How a row names its image."""
        name = next((str(row[key]).strip() for key in _NAMED if row.get(key)), "")
        if name:
            sha256 = name.lower()
            return (_HASH, sha256) if _SHA256.fullmatch(sha256) else ("file", name)
        prompt, index = row.get("prompt"), str(row.get("index") or "0").strip()
        if prompt and index.isascii() and index.isdecimal() and len(index) <= _DIGITS:
            return _prompt_key(str(prompt), int(index))
        raise T2IBenchError(
            f"{self._path}:{line}: a row needs its image ('file', 'sha256', or 'prompt' and "
            "'index') and an 'answer', or columns headed by what is asked."
        )

    def _merge(self, rows: dict[_Key, _Given], key: _Key, new: _Given) -> None:
        known = rows.setdefault(key, _Given())
        for question, answer in new.answers.items():
            if known.answers.setdefault(question, answer) != answer:
                raise T2IBenchError(
                    f"{self._path}:{new.lines[0]}: answered before (line {known.lines[0]}), and "
                    "differently.",
                    "Keep one answer to each question about an image; one file for each person.",
                )
        known.lines += new.lines

    @cached_property
    def _by_image(self) -> dict[_Key, _Given]:
        """The rows, with SHA-256 in place of the names of files that are there."""
        found: dict[_Key, _Given] = {}
        folders: dict[Path, dict[str, Path]] = {}
        for (kind, value), given in self._rows.items():
            key = (kind, value)
            if kind == "file":
                file = _file_named(self._path.parent / value, folders)
                if file is not None:
                    with reading(file):
                        key = (_HASH, hashlib.sha256(file.read_bytes()).hexdigest())
            self._merge(found, key, given)
        return found

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """What the file says; a class in another case counts as that class."""
        return [self._answer_query(query) for query in queries]

    def _answer_query(self, query: Query) -> Answer:
        for key in _keys(query):
            given = self._by_image.get(key)
            if given is not None:
                answers = given.answers
                column = (
                    self._column_of(query.question, query.classes) if self._wide else query.question
                )
                text = answers.get(column or "") or answers.get("")
                if text is not None:
                    by_lower = {name.lower(): name for name in query.classes}
                    answer = by_lower.get(text.lower(), UNKNOWN) if by_lower else text
                    return Answer(answer, text)
        return Answer(None, reason="the file has no answer")

    def _column(self, question: str, classes: tuple[str, ...]) -> str | None:
        """The column headed by a question or by a word of it, or the one that has its classes."""
        asked, wanted = question.casefold(), {name.casefold() for name in classes}

        def heads(name: str) -> bool:
            return _heading(name) == asked

        def is_word(name: str) -> bool:
            return re.search(rf"\b{re.escape(_heading(name))}\b", asked) is not None

        def has_classes(name: str) -> bool:
            given = (one.answers.get(name, "") for one in self._rows.values())
            return any(answer.casefold() in wanted for answer in given)

        for fits in (heads, is_word, has_classes):
            if found := list(filter(fits, self._columns)):
                return found[0] if len(found) == 1 else None
        return None

    def check_images(
        self, asked: Iterable[tuple[StoredImage, Sequence[tuple[str, tuple[str, ...]]]]]
    ) -> str | None:
        """Compare the rows with the images of a run (see models.protocols.LooksUp)."""
        images = [image for image, _ in asked]
        matched = {
            line
            for image in images
            for key in _keys(image)
            if key in self._by_image
            for line in self._by_image[key].lines
        }
        rows = [(line, key) for key, given in self._rows.items() for line in given.lines]
        left = sorted((line, key) for line, key in rows if line not in matched)
        if not left or not images:
            return None
        line, (kind, value) = left[0]
        said = f"line {line} names the {kind} '{shown(value.partition(chr(0))[2] or value)}'"
        if matched:
            verb = "matches" if len(left) == 1 else "match"
            return f"{self.name}: {len(left)} of {len(rows)} rows {verb} no image here; {said}."
        image = images[0]
        seen = shown(os.path.relpath(image.path, self._path.parent), 400)
        raise T2IBenchError(
            f"{self._path}: none of its {len(rows)} rows matches an image of this run; {said}.",
            f"A row names an image by its file, seen from there ('{seen}'), by "
            f"its SHA-256 ('{image.sha256}'), or by prompt and index ('{shown(image.prompt)}', "
            f"{image.index}).",
        )


def _create(request: Request[Arguments]) -> AnswersJudge:
    path, _, by = request.source.partition(",by=")
    by = labeller_name(by, "answers: by=") if ",by=" in request.source else ""
    return AnswersJudge(Path(path).expanduser(), by)


ADAPTER = Adapter(
    create=_create,
    form="answers:FILE[,by=NAME]",
    description="answers that people or another tool gave, as CSV or JSON Lines",
    check=_create,
    regenerates=False,
)


def _heading(column: str) -> str:
    return column.replace("_", " ").casefold()


def _prompt_key(prompt: str, index: int) -> _Key:
    return "prompt", f"{index}\0{' '.join(prompt.split()).casefold()}"


def _keys(image: Query | StoredImage) -> tuple[_Key, _Key]:
    """Both ways in which a row may name an image."""
    return (_HASH, image.sha256), _prompt_key(image.prompt, image.index)


def _file_named(path: Path, folders: dict[Path, dict[str, Path]]) -> Path | None:
    """A file, also where its name is written with other code points for the same letters."""
    if is_file(path):
        return path
    if path.parent not in folders:
        try:
            files = sorted(path.parent.iterdir())
        except (OSError, ValueError):
            files = []
        folders[path.parent] = {unicodedata.normalize("NFC", file.name): file for file in files}
    found = folders[path.parent].get(unicodedata.normalize("NFC", path.name))
    return found if found is not None and is_file(found) else None
