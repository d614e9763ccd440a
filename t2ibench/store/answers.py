"""Answers on disk, one folder a judge, keyed by image, question and classes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from t2ibench.store.evidence import slug
from t2ibench.store.jsonl import append_rows, read_rows

Key = tuple[str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """One answer.

    Attributes:
        image: SHA-256 of the image file.
        question: What was asked.
        classes: What it could be answered with; empty for free text.
        answer: The class, 'unknown', or the text.
        raw: The judge's reply, word for word (or its scores).
    """

    image: str
    question: str
    classes: tuple[str, ...]
    answer: str
    raw: str = ""

    @property
    def key(self) -> Key:
        """What it answers. Two questions of one name never share an answer."""
        return self.image, self.question, self.classes


class AnswerStore:
    """The answers one judge gave. A row is appended once and never changed.

    Args:
        root: The run folder's evidence/.
        name: The judge's name.
        fingerprint: The judge's fingerprint.
    """

    def __init__(self, root: Path, name: str, fingerprint: str) -> None:
        self.folder = root / f"answers-{slug(name)}-{fingerprint[:12]}"
        self._rows: dict[Key, StoredAnswer] = {}
        self._writer = self.folder / f"answers-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        for path in sorted(filter(Path.is_file, self.folder.glob("*.jsonl"))):
            for row in read_rows(path):
                answer = _answer(row)
                if answer is not None:
                    self._rows.setdefault(answer.key, answer)

    def get(self, image: str, question: str, classes: Sequence[str]) -> StoredAnswer | None:
        """Look up one answer.

        Args:
            image: SHA-256 of the image file, as hex.
            question: What was asked.
            classes: The possible answers, in the order asked; empty for free text.

        Returns:
            The answer, or None where the question was not answered.
        """
        return self._rows.get((image, question, tuple(classes)))

    def add(self, answers: Iterable[StoredAnswer]) -> None:
        """Append answers to this process's own file; those stored already are skipped.

        Args:
            answers: The answers.

        Raises:
            T2IBenchError: the disk is full or read-only.
        """
        new = [answer for answer in answers if answer.key not in self._rows]
        append_rows(self._writer, [asdict(answer) for answer in new])
        self._rows |= {answer.key: answer for answer in new}


def _answer(row: dict[str, Any]) -> StoredAnswer | None:
    """The record in a row of a JSON Lines file; None for a row of another form."""
    try:
        texts = [row[name] for name in ("image", "question", "answer")]
        classes = tuple(row["classes"])
    except (KeyError, TypeError):
        return None
    if not all(isinstance(text, str) for text in (*texts, *classes)):
        return None
    return StoredAnswer(texts[0], texts[1], classes, texts[2], str(row.get("raw", "")))
