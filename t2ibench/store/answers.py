"""Answers on disk, one folder a judge, keyed by image, question and classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from t2ibench.store.checksums import Damage
from t2ibench.store.evidence import slug
from t2ibench.store.rows import RowFolder

Key = tuple[str, str, tuple[str, ...]]
# A judge whose name begins so says who answered. What was answered is in its fingerprint.
ANSWERS_BY, LABELS_BY = "answers by ", "labels by "


def who_judged(judges: Mapping[str, str]) -> dict[str, str]:
    """What makes two runs judged alike: people by their names, other judges by fingerprints, too.

    Examples:
        >>> who_judged({"answers by anna": "3f2a", "skin": "77e1"})
        {'answers by anna': '', 'skin': '77e1'}
    """
    return {
        name: "" if name.startswith((ANSWERS_BY, LABELS_BY)) else fingerprint
        for name, fingerprint in judges.items()
    }


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

    Attributes:
        name: The judge's name.
        damage: What is damaged, and so counts as missing.
    """

    def __init__(self, root: Path, name: str, fingerprint: str) -> None:
        self.name = name
        self.folder = root / f"answers-{slug(name)}-{fingerprint[:12]}"
        self._rows: dict[Key, StoredAnswer] = {}
        self.damage = Damage(f"line of answers by {name}", f"lines of answers by {name}")
        self._files = RowFolder(self.folder, "answers", self.damage)
        self.refresh()

    def __iter__(self) -> Iterator[StoredAnswer]:
        return iter(self._rows.values())

    def get(self, image: str, question: str, classes: Sequence[str]) -> StoredAnswer | None:
        """Look up one answer."""
        return self._rows.get((image, question, tuple(classes)))

    def add(self, answers: Iterable[StoredAnswer]) -> None:
        """Append answers to this process's own file; those stored already are skipped."""
        new = [answer for answer in answers if answer.key not in self._rows]
        self._files.append([asdict(answer) for answer in new])
        self._rows |= {answer.key: answer for answer in new}

    def refresh(self) -> bool:
        """Read the answers that other processes have added since."""
        new = [found for row in self._files.read() if (found := _answer(row)) is not None]
        for answer in new:
            self._rows.setdefault(answer.key, answer)
        return bool(new)

    def mend(self) -> None:
        """Note that what is damaged is made again."""
        self._files.mend()


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
