"""What a rewriter made of each prompt, once, for all images of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

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
        where = "WHERE id IN (SELECT text FROM rewrites WHERE rewriter = ?)"
        prompts = database.texts(where, self._rewriter)
        self._rows: dict[tuple[int, int], StoredRewriting] = {}
        rows = database.read_checked("rewrites", "WHERE rewriter = ?", self._rewriter)
        for _, text, number, status, *texts in rows:
            rewritten, reason = (None if one is None else of_text(one) for one in texts)
            if status in _STATUSES and (status != "ok" or rewritten is not None):
                index = None if number == _ALL else number
                found = StoredRewriting(
                    prompts.get(text, ""), index, status, rewritten, reason
                )
                self._rows[text, number] = found

    def __iter__(self) -> Iterator[StoredRewriting]:
        """The rewritings of prompts that are known, by prompt and number."""
        known = [(one.prompt, place) for place, one in self._rows.items()]
        places = [
            place for prompt, place in sorted(known) if content_id(prompt) == place[0]
        ]
        return (self._rows[place] for place in places)

    def find(self, prompt: str, index: int) -> StoredRewriting | None:
        """The rewriting that an image is made from."""
        text = content_id(prompt)
        found = self._rows.get((text, index)) or self._rows.get((text, _ALL))
        return found and replace(found, prompt=prompt)

    def is_done(self, prompt: str, index: int | None) -> bool:
        """Whether a prompt need not be rewritten any more. After a failure it has to be."""
        found = self._rows.get((content_id(prompt), _ALL if index is None else index))
        return found is not None and found.status != "failed"

    def add(self, rewritings: Iterable[StoredRewriting]) -> None:
        """Store rewritings of prompts that need them."""
        new = {
            (content_id(one.prompt), _ALL if one.index is None else one.index): one
            for one in rewritings
            if not self.is_done(one.prompt, one.index)
        }
        rows = [
            (
                self._rewriter,
                *place,
                one.status,
                to_text(one.rewritten),
                to_text(one.reason),
            )
            for place, one in new.items()
        ]
        with self.database.writing():
            self.database.add_model("rewriter", "", self._fingerprint)
            self.database.add_texts(one.prompt for one in new.values())
            self.database.write("rewrites", rows)
        self._rows |= new
