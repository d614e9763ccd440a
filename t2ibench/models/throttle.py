"""How many requests go out at a time: as many as a server takes, found by trying."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from t2ibench.models.servers import Failure

_DEAF = 1.0  # seconds: requests that fail together are one sign
_SLOW = 0.25  # of the deadline: beyond it, more requests would only wait for one another


class Throttle:
    """Additive increase, multiplicative decrease, after a start that doubles.

    It begins with one request, so that what is wrong with all of them costs one. A server that
    asks for fewer, or does not answer, halves the limit.

    Args:
        most: Requests at a time, at most.
        deadline: Seconds that an attempt may take.
        clock: Tells seconds.

    Source: Chiu & Jain 1989, "Analysis of the increase and decrease algorithms for congestion
        avoidance"; RFC 5681, sections 3.1 and 3.2.

    Examples:
        >>> throttle = Throttle(16, deadline=100.0)
        >>> for _ in range(9):
        ...     throttle.answered(1.0)
        >>> throttle.limit
        10
        >>> throttle.failed(Failure("replied with status 429", limited=True))
        >>> throttle.limit
        5
    """

    def __init__(self, most: int, deadline: float, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._slow = deadline * _SLOW
        self._clock = clock
        self._limit = 1.0
        self._doubles = True
        self._deaf_until = -1.0

    @property
    def limit(self) -> int:
        """Requests that may be under way."""
        return int(self._limit)

    def answered(self, seconds: float) -> None:
        """Take note of an answer."""
        if seconds <= self._slow:
            step = 1.0 if self._doubles else 1.0 / self._limit
            self._limit = min(float(self._most), self._limit + step)

    def failed(self, failure: Failure) -> None:
        """Take note of an attempt that failed."""
        now = self._clock()
        busy = failure.limited or failure.wait is not None or not failure.answered
        if not busy or now < self._deaf_until:
            return
        self._doubles = False
        self._limit = max(1.0, self._limit / 2)
        self._deaf_until = now + max(_DEAF, failure.wait or 0.0)
