"""An HTTP session that waits for a busy server, politely and not for ever."""

from __future__ import annotations

from http.cookiejar import DefaultCookiePolicy
from time import monotonic
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import MaxRetryError
from urllib3.util import Retry

BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_FACTOR = 0.5  # waits of 0, 1, 2, 4, … seconds
_JITTER = 0.5  # so that threads do not ask again in step
_LONGEST_WAIT = 30.0


class BoundedRetry(Retry):
    """Retries that end after some time, and no wait longer than 30 s, whatever the server asks.

    Attributes:
        patience: Seconds after the first failure in which another attempt may start.
        deadline: When that is over; None before the first failure.
    """

    patience: float = 60.0
    deadline: float | None = None

    def new(self, **changes: Any) -> BoundedRetry:
        """A copy, as urllib3 makes one for each attempt."""
        copy = super().new(**changes)
        copy.patience, copy.deadline = self.patience, self.deadline
        return copy

    def increment(self, *args: Any, **keywords: Any) -> BoundedRetry:
        """Count one failed attempt."""
        copy = super().increment(*args, **keywords)
        now = monotonic()
        copy.deadline = self.deadline or now + self.patience
        if now >= copy.deadline:
            pool = args[3] if len(args) > 3 else keywords.get("_pool")
            error = args[2] if len(args) > 2 else keywords.get("error")
            raise MaxRetryError(pool, None, error)  # type: ignore[arg-type]
        return copy

    def get_retry_after(self, response: Any) -> float | None:
        """What the server asks for in Retry-After, up to the longest wait."""
        seconds = super().get_retry_after(response)
        return None if seconds is None else min(seconds, _LONGEST_WAIT)


def retrying_session(attempts: int, timeout: float, connections: int = 32) -> requests.Session:
    """A session for many threads.

    Args:
        attempts: At one request, the first one counted.
        timeout: Seconds that one attempt may take; no further attempt starts later than this (or
            60 s) after the first failure.
        connections: Kept open at a time.

    Returns:
        The session. It stores no cookies and takes no password from ~/.netrc.
    """
    retry = BoundedRetry(
        total=attempts - 1,
        redirect=False,
        allowed_methods=None,  # POST too: to ask a question twice does no harm
        status_forcelist=BUSY,
        backoff_factor=_FACTOR,
        backoff_jitter=_JITTER,
        backoff_max=_LONGEST_WAIT,
        raise_on_status=False,
        respect_retry_after_header=True,
    )
    retry.patience = max(timeout, 60.0)
    session = requests.Session()
    adapter = HTTPAdapter(max_retries=retry, pool_maxsize=connections)
    session.mount("http://", adapter)
    session.mount("https://", adapter)
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    return session


def why_unreachable(error: requests.RequestException, timeout: float) -> str:
    """What went wrong, in the words of an error message.

    Args:
        error: What requests raised.
        timeout: Seconds that one attempt may take.

    Returns:
        Words that follow 'The server …'.
    """
    cause = error.args[0] if error.args else error
    reason = getattr(cause, "reason", None) or error
    if "Timeout" in type(reason).__name__:
        return f"does not answer within {timeout:g} s"
    return f"cannot be reached ({type(reason).__name__})"
