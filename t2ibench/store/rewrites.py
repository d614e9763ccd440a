"""Storage of prompt rewritings, made once for all images of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from t2ibench.identity import ImageKey, content_id
from t2ibench.store.database import Database
from t2ibench.store.schema import of_text, to_text

_STATUSES = ("ok", "refused", "failed")
_ALL = -1  # the number of a rewriting for all images of a prompt


@dataclass(frozen=True, slots=True)
class StoredRewriting:
    """The outcome of rewriting one prompt."""

    prompt: str
    index: int | None  # of the image it is for; None for all
    status: str  # 'ok', 'refused' or 'failed'
    rewritten: str | None = None
    reason: str | None = None


class RewriteStore:
    """The rewritings of a run; 'ok' and 'refused' are final, and failures may be replaced."""

    def __init__(self, database: Database, fingerprint: str) -> None:
        self.database, self._fingerprint = database, fingerprint
        self._rewriter = content_id("rewriter", "", fingerprint)
        where = "WHERE id IN (SELECT text FROM rewrites WHERE rewriter = ?)"
        prompts = database.texts(where, self._rewriter)
        self._rows: dict[tuple[int, int], StoredRewriting] = {}
        rows = database.read_checked("rewrites", "WHERE rewriter = ?", self._rewriter)
        for _, text, number, status, *texts in rows:
            rewritten, reason = (
                None if value is None else of_text(value) for value in texts
            )
            if status in _STATUSES and (status != "ok" or rewritten is not None):
                index = None if number == _ALL else number
                rewriting = StoredRewriting(
                    prompts.get(text, ""), index, status, rewritten, reason
                )
                self._rows[text, number] = rewriting

    def __iter__(self) -> Iterator[StoredRewriting]:
        """Return an iterator over the rewritings of known prompts, by prompt and number."""
        by_prompt = [
            (rewriting.prompt, place) for place, rewriting in self._rows.items()
        ]
        places = [
            place
            for prompt, place in sorted(by_prompt)
            if content_id(prompt) == place[0]
        ]
        return (self._rows[place] for place in places)

    def find(self, image: ImageKey) -> StoredRewriting | None:
        """Return the rewriting from which `image` is generated; None if there is none."""
        text = content_id(image.prompt)
        rewriting = self._rows.get((text, image.index)) or self._rows.get((text, _ALL))
        return rewriting and replace(rewriting, prompt=image.prompt)

    def is_done(self, prompt: str, index: int | None) -> bool:
        """Return whether a prompt needs no further rewriting; a failed one does."""
        rewriting = self._rows.get(
            (content_id(prompt), _ALL if index is None else index)
        )
        return rewriting is not None and rewriting.status != "failed"

    def add(self, rewritings: Iterable[StoredRewriting]) -> None:
        """Store rewritings, except of prompts whose stored rewriting is final."""
        new: dict[tuple[int, int], StoredRewriting] = {}
        for rewriting in rewritings:
            if not self.is_done(rewriting.prompt, rewriting.index):
                number = _ALL if rewriting.index is None else rewriting.index
                new[content_id(rewriting.prompt), number] = rewriting
        rows = [
            (
                self._rewriter,
                *place,
                rewriting.status,
                to_text(rewriting.rewritten),
                to_text(rewriting.reason),
            )
            for place, rewriting in new.items()
        ]
        with self.database.writing():
            self.database.add_model("rewriter", "", self._fingerprint)
            self.database.add_texts(rewriting.prompt for rewriting in new.values())
            self.database.write("rewrites", rows)
        self._rows |= new
