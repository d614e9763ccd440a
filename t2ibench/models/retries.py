"""How long a server that is busy or away is waited for."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import timezone
from email.utils import parsedate_to_datetime
from time import monotonic, time

BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
RATE_LIMITED = 429
PATIENCE = 300.0
_FACTOR = 0.5  # waits of about 0.5, 1, 2, 4, … seconds
_LONGEST_WAIT = 30.0  # unless the server asks for more
_JITTER = 0.5  # so that requests are not made again in step


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a request has no answer yet.

    Attributes:
        why: Words that follow 'The server …'.
        limited: The server asks for fewer requests: it works, and waiting alone will help.
        wait: Seconds that it asks to wait, if it does.
        answered: Whether there was an answer at all.
    """

    why: str
    limited: bool = False
    wait: float | None = None
    answered: bool = False


class Patience:
    """How long one server is waited for, by all its requests together.

    A request is made again until `attempts` of it have failed. A rate limit is no failure: it is
    waited for. Both end once the server has answered nothing at all for the patience, so that a
    server that is gone is not waited for by one request after the other.

    Args:
        attempts: At one request, the first one counted.
        seconds: The patience.
    """

    def __init__(self, attempts: int, seconds: float = PATIENCE) -> None:
        self._attempts = attempts
        self._seconds = seconds
        self._silent_since: float | None = None

    def answered(self) -> None:
        """Take note that the server answered a request."""
        self._silent_since = None

    def request(self) -> Waits:
        """Begin a request."""
        return Waits(self)

    def _ends(self, first_failure: float) -> float:
        if self._silent_since is None:
            self._silent_since = first_failure
        return min(first_failure, self._silent_since) + self._seconds


class Waits:
    """How long one request waits; see `Patience`.

    Attributes:
        made: Attempts that failed.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._first_failure: float | None = None
        self._errors = 0
        self.made = 0

    def after(self, failure: Failure) -> float | None:
        """Seconds to wait after a failed attempt."""
        now = monotonic()
        self.made += 1
        self._errors += not failure.limited
        if self._first_failure is None:
            self._first_failure = now
        ends = self._patience._ends(self._first_failure)
        if self._errors >= self._patience._attempts or now >= ends:
            return None
        wait = min(_FACTOR * 2.0 ** min(self.made - 1, 16), _LONGEST_WAIT)
        wait *= 1.0 + random.uniform(0.0, _JITTER)
        if failure.wait is not None:
            wait = max(wait, failure.wait + random.uniform(0.0, _JITTER))
        return min(wait, ends - now)


def seconds_asked(retry_after: str | None) -> float | None:
    """What a server asks for in Retry-After."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.replace(".", "", 1).isdigit() and len(text) <= 12:
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, date.timestamp() - time())
