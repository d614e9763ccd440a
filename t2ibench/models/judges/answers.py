"""The judge `answers:FILE`: answers that people or another tool gave."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.fingerprint import file_hash, fingerprint
from t2ibench.models.places import is_file
from t2ibench.models.protocols import Answer, Query
from t2ibench.store.jsonl import read_rows_strictly
from t2ibench.store.problems import reading

_DIGITS = 9  # of an index
_COLUMNS = {"image", "prompt", "index", "question", "answer"}


class AnswersJudge:
    """Looks answers up (see models.protocols.Judge).

    Args:
        name: As the user wrote it.
        path: CSV with a header, or JSON Lines. Columns: 'answer', and 'image' (SHA-256 of the
            file, as samples/*.jsonl gives it) or 'prompt' and 'index'; 'question' where more than
            one is answered.

    Raises:
        T2IBenchError: the file is missing or malformed, or answers something twice.
    """

    def __init__(self, name: str, path: Path) -> None:
        if not is_file(path):
            raise T2IBenchError(f"No such file: '{shown(path)}'.", "Check the path after answers:")
        self.name = f"answers:{path.name}"
        self.batch_size = 256
        self.fingerprint = fingerprint({"adapter": "answers 1", "file": file_hash(path)})
        self._answers: dict[tuple[str, str], str] = {}
        for line, row in _rows(path):
            self._add_row(path, line, row)

    def _add_row(self, path: Path, line: int, row: dict[str, Any]) -> None:
        unknown = sorted(set(row) - _COLUMNS)
        if unknown:
            raise T2IBenchError(
                f"{path}:{line}: unknown column '{shown(unknown[0])}'.",
                f"Columns: {', '.join(sorted(_COLUMNS))}.",
            )
        image, prompt = row.get("image"), row.get("prompt")
        index, answer = row.get("index"), row.get("answer")
        question = row.get("question") or ""
        if not isinstance(question, str):
            raise T2IBenchError(f"{path}:{line}: 'question' is not text.")
        if not isinstance(answer, str) or not (image or (prompt and _is_index(index))):
            raise T2IBenchError(
                f"{path}:{line}: a row needs 'answer', and 'image' or 'prompt' and 'index'."
            )
        if not answer.strip():
            return  # a row that was left empty is an answer that is not there
        key = (
            str(image) if image else _prompt_key(str(prompt), int(index or 0)),
            question,
        )
        if self._answers.get(key, answer.strip()) != answer.strip():
            raise T2IBenchError(
                f"{path}:{line}: answered before, and differently.",
                "Keep one answer to each question about an image; one file for each person.",
            )
        self._answers[key] = answer.strip()

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """What the file says; a class in another case counts as that class."""
        return [self._answer_query(query) for query in queries]

    def _answer_query(self, query: Query) -> Answer:
        for image in (query.sha256, _prompt_key(query.prompt, query.index)):
            for question in (query.question, ""):
                answer = self._answers.get((image, question))
                if answer is not None:
                    return Answer(_as_class(answer, query.classes), answer)
        return Answer(None, reason="the file has no answer")


def _create(request: Request[Arguments]) -> AnswersJudge:
    return AnswersJudge(request.spec, Path(request.source).expanduser())


ADAPTER = Adapter(
    create=_create,
    form="answers:FILE",
    description="answers that people or another tool gave, as CSV or JSON Lines",
    check=_create,
    regenerates=False,
)


def _is_index(value: object) -> bool:
    """Whether a cell holds the index of an image; an empty one means the first."""
    text = str(value or "0")
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS


def _prompt_key(prompt: str, index: int) -> str:
    return f"{index}\0{prompt}"


def _as_class(answer: str, classes: Sequence[str]) -> str:
    if not classes:
        return answer
    by_lower = {name.lower(): name for name in classes}
    return by_lower.get(answer.lower(), UNKNOWN)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    if path.suffix.lower() in {".jsonl", ".json"}:
        yield from read_rows_strictly(path, '{"prompt": "…", "index": 0, "answer": "…"}')
        return
    with reading(path), path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        for row in reader:
            yield reader.line_num, {key: value for key, value in row.items() if key is not None}
