"""Sharing the work of a run among the processes that were started on its folder.

Each takes the pieces that nobody holds; what others make appears in the stores. A piece is
idempotent, so a claim that is lost, stale or ignored costs time and changes no result.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from t2ibench.store.locks import QUIET, Claims

Advance = Callable[[int], None]
FIRST_POLL, LAST_POLL = 0.05, 1.0  # seconds between two looks at what others do
LEAST_PATIENCE, PATIENCE = 120.0, 600.0  # seconds without progress until another's work is done
_TIMES = 10  # the longest piece done here is the time that another may take without progress


@dataclass(slots=True, eq=False)
class Piece:
    """A part of the work that is claimed as a whole.

    Attributes:
        name: Of its claim: the same in every process that has the same to do.
        kind: Which kind of work.
        left: Looks into the stores, and counts what is missing.
        work: Does what is missing; told what to call with the number of items done.
        known: What was missing at the last look.
    """

    name: str
    kind: str
    left: Callable[[], int]
    work: Callable[[Advance], None]
    known: int


def claim_name(kind: str, number: int, *content: object) -> str:
    """The name of a piece's claim: the same in every process that has the same to do."""
    return f"{kind}-{number}-{hashlib.sha256(repr(content).encode()).hexdigest()[:16]}"


@dataclass(slots=True)
class Sharing:
    """What this process and others do of one run.

    Attributes:
        claims: Who does what.
        say: Told, in one line, for whom this process waits.
        others: Items that other processes did meanwhile, by kind.
        held: Pieces that others held when they were met.
    """

    claims: Claims
    say: Callable[[str], None]
    others: Counter[str] = field(default_factory=Counter)
    held: list[Piece] = field(default_factory=list)
    _longest: dict[str, float] = field(default_factory=dict)

    def do(self, piece: Piece, advance: Advance, *, claimed: bool = True) -> bool:
        """Do what is missing of a piece, unless another process is at it."""
        if not claimed:
            self._work(piece, advance)
            return True
        with self.claims.take(piece.name) as mine:
            if mine:
                self._work(piece, advance)
            elif piece not in self.held:
                self.held.append(piece)
        return mine

    def _work(self, piece: Piece, advance: Advance) -> None:
        if self._look(piece, advance):
            started = time.monotonic()
            piece.work(advance)
            taken = time.monotonic() - started
            self._longest[piece.kind] = max(self._longest.get(piece.kind, 0.0), taken)
        piece.known = 0

    def _look(self, piece: Piece, advance: Advance) -> int:
        left = piece.left()
        done = piece.known - left
        if done > 0:
            self.others[piece.kind] += done
            advance(done)
        piece.known = left
        return left

    def finish(self, advance: Advance, unit: str = "items") -> None:
        """Wait for the pieces that others hold, and do those that their owners leave undone.

        An owner that died has let go of its claims; one that makes no progress is not waited for.
        """
        poll, started, said = FIRST_POLL, time.monotonic(), ""
        patience = max([self._patience(piece.kind) for piece in self.held], default=0.0)
        moved, state = started, (0, 0)
        while self.held:
            for piece in list(self.held):
                if not self._look(piece, advance) or self.do(piece, advance):
                    self.held.remove(piece)
            now, before, state = time.monotonic(), state, self._missing()
            moved, poll = (
                (moved, min(1.5 * poll, LAST_POLL)) if state == before else (now, FIRST_POLL)
            )
            if self.held and now - moved > patience:
                self._take_over(advance, patience)
            elif self.held:
                if now - started > QUIET and said != (said := self._owners()):
                    self.say(f"Waiting for {said}: {state[1]} {unit} left.")
                advance(0)  # who has asked this process to stop is heard here, too
                time.sleep(poll)

    def _take_over(self, advance: Advance, patience: float) -> None:
        self.say(
            f"No progress of {self._owners()} for {patience:.0f} s: the rest is done here, too."
        )
        for piece in self.held:
            self.do(piece, advance, claimed=False)
        self.held.clear()

    def _missing(self) -> tuple[int, int]:
        return len(self.held), sum(piece.known for piece in self.held)

    def _patience(self, kind: str) -> float:
        longest = self._longest.get(kind)
        return PATIENCE if longest is None else max(LEAST_PATIENCE, _TIMES * longest)

    def _owners(self) -> str:
        owners = [self.claims.owner(piece.name) for piece in self.held]
        named = sorted({str(owner) for owner in owners if owner})
        return ", ".join(named) or "another process"
