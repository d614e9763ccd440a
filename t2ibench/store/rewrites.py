"""rewrites.jsonl: what a rewriter made of each prompt, once, for all images of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from t2ibench.store.checksums import Damage
from t2ibench.store.jsonl import append_rows, read_checked_rows, write_rows

FILE = "rewrites.jsonl"
_STATUSES = ("ok", "refused", "failed")


@dataclass(frozen=True, slots=True)
class StoredRewriting:
    """What became of one prompt.

    Attributes:
        prompt: The prompt of a task.
        index: Which image of the prompt it is for; None for all of them.
        status: 'ok', 'refused' or 'failed'.
        rewritten: What the generator gets instead, for status 'ok'.
        reason: Why there is none.
        rewriter: Who was asked.
        fingerprint: The rewriter's.
    """

    prompt: str
    index: int | None
    status: str
    rewritten: str | None = None
    reason: str | None = None
    rewriter: str = ""
    fingerprint: str = ""


class RewriteStore:
    """The rewritings of a run folder. What is 'ok' or 'refused' stays; what failed may be replaced.

    Whoever adds to it holds the run folder's lock 'rewrites': there is one file and one text of
    each prompt, whatever number of processes works on the run.

    Args:
        folder: The run folder.
        fingerprint: The rewriter's; rows of another one do not count.

    Attributes:
        damage: Which lines are damaged; their prompts are rewritten again.
    """

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.path = folder / FILE
        self.damage = Damage(f"line of {FILE}", f"lines of {FILE}")
        self._fingerprint = fingerprint
        self._rows: dict[tuple[str, int | None], StoredRewriting] = {}
        self._size = -1
        self.refresh()

    def __iter__(self) -> Iterator[StoredRewriting]:
        """The rewritings, in the order in which they were made."""
        return iter(self._rows.values())

    def find(self, prompt: str, index: int) -> StoredRewriting | None:
        """The rewriting that an image is made from."""
        found = self._rows.get((prompt, index)) or self._rows.get((prompt, None))
        if found is None and self.refresh():
            found = self._rows.get((prompt, index)) or self._rows.get((prompt, None))
        return found

    def is_done(self, prompt: str, index: int | None) -> bool:
        """Whether a prompt need not be rewritten any more. After a failure it has to be."""
        found = self._rows.get((prompt, index))
        return found is not None and found.status != "failed"

    def refresh(self) -> bool:
        """Read what other processes have added since."""
        size = self.path.stat().st_size if self.path.is_file() else 0
        if size == self._size:
            return False
        self._size = size
        if not size:
            return False
        read = read_checked_rows(self.path)
        self.damage.pieces = len(read.damaged)
        for row in read.rows:
            found = _rewriting(row)
            if found is not None and found.fingerprint == self._fingerprint:
                self._index(found)
        return True

    def _index(self, found: StoredRewriting) -> None:
        if not self.is_done(found.prompt, found.index):
            self._rows[found.prompt, found.index] = found

    def add(self, rewritings: Iterable[StoredRewriting]) -> None:
        """Append rewritings; the disk holds them afterwards."""
        new = list(rewritings)
        append_rows(self.path, map(_row, new), checked=True)
        for one in new:
            self._index(one)

    def mend(self) -> None:
        """Write the file anew, without what is damaged and what was replaced."""
        write_rows(self.path, map(_row, self._rows.values()), checked=True)
        self.damage.pieces = 0


def _row(one: StoredRewriting) -> dict[str, Any]:
    return {key: value for key, value in asdict(one).items() if value is not None}


def _rewriting(row: dict[str, Any]) -> StoredRewriting | None:
    """The record in a row; None for a row of another form."""
    try:
        found = StoredRewriting(**{"index": None, **row})
    except TypeError:
        return None
    texts = (found.prompt, found.status, found.rewriter, found.fingerprint)
    index = found.index is None or (type(found.index) is int and found.index >= 0)
    if not index or not all(isinstance(text, str) for text in texts):
        return None
    if found.status not in _STATUSES:
        return None
    return found if found.status != "ok" or isinstance(found.rewritten, str) else None
