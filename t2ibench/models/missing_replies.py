"""How many requests in a row a server has not replied to, and when that ends the work."""

from __future__ import annotations

from t2ibench.models.server_errors import ServerAwayError, UnusableServerError

_MOST = 3  # requests without a reply, one after the other, that end the work


class MissingReplies:
    """Counts the requests without a reply since the last one that a server answered.

    Attributes:
        has_answered: Whether the server has answered any request.
    """

    def __init__(self) -> None:
        self.has_answered = False
        self._in_a_row = 0

    def answered(self) -> None:
        """Count a request as answered, which ends a series of missing replies."""
        self.has_answered = True
        self._in_a_row = 0

    def end_the_work(self, error: ServerAwayError) -> bool:
        """Count a request without a reply; return whether it ends all of them."""
        self._in_a_row += 1
        is_unusable = isinstance(error, UnusableServerError)
        return is_unusable or not self.has_answered or self._in_a_row >= _MOST
