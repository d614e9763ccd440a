"""What a rewriter made of each prompt, once, for all images of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from t2ibench.store.database import Database
from t2ibench.store.schema import content_id, of_text, to_text

_STATUSES = ("ok", "refused", "failed")
_ALL = -1  # the number of a rewriting for all images of a prompt


@dataclass(frozen=True, slots=True)
class StoredRewriting:
    """What became of one prompt."""

    prompt: str
    index: int | None  # of the image it is for; None for all
    status: str  # 'ok', 'refused' or 'failed'
    rewritten: str | None = None
    reason: str | None = None


class RewriteStore:
    """The rewritings of a run. What is 'ok' or 'refused' stays; what failed may be replaced."""

    def __init__(self, database: Database, fingerprint: str) -> None:
        self.database, self._fingerprint = database, fingerprint
        self._rewriter = content_id("rewriter", "", fingerprint)
        rows = database.read_checked("rewrites", "WHERE rewriter = ?", self._rewriter)
        self._rows: dict[tuple[int, int], tuple[str, str | None, str | None]] = {
            (text, number): (status, *(None if one is None else of_text(one) for one in texts))
            for _, text, number, status, *texts in rows
            if status in _STATUSES and (status != "ok" or texts[0] is not None)
        }

    def __iter__(self) -> Iterator[StoredRewriting]:
        """The rewritings of prompts that are known, by prompt and number."""
        where = "WHERE id IN (SELECT text FROM rewrites WHERE rewriter = ?)"
        prompts = self.database.texts(where, self._rewriter)
        known = [(prompts[text], number) for text, number in self._rows if text in prompts]
        for prompt, number in sorted(known):
            yield self._stored(prompt, number)

    def _stored(self, prompt: str, number: int) -> StoredRewriting:
        status, rewritten, reason = self._rows[content_id(prompt), number]
        index = None if number == _ALL else number
        return StoredRewriting(prompt, index, status, rewritten, reason)

    def find(self, prompt: str, index: int) -> StoredRewriting | None:
        """The rewriting that an image is made from."""
        text = content_id(prompt)
        number = index if (text, index) in self._rows else _ALL
        return self._stored(prompt, number) if (text, number) in self._rows else None

    def is_done(self, prompt: str, index: int | None) -> bool:
        """Whether a prompt need not be rewritten any more. After a failure it has to be."""
        found = self._rows.get((content_id(prompt), _ALL if index is None else index))
        return found is not None and found[0] != "failed"

    def add(self, rewritings: Iterable[StoredRewriting]) -> None:
        """Store rewritings of prompts that need them."""
        new = [one for one in rewritings if not self.is_done(one.prompt, one.index)]
        found = {
            (content_id(one.prompt), _ALL if one.index is None else one.index): (
                one.status, one.rewritten, one.reason
            )
            for one in new
        }  # fmt: skip
        rows = [
            (self._rewriter, *place, row[0], *map(to_text, row[1:])) for place, row in found.items()
        ]
        with self.database.writing():
            self.database.add_model("rewriter", "", self._fingerprint)
            self.database.add_texts(one.prompt for one in new)
            self.database.write("rewrites", rows)
        self._rows |= found
