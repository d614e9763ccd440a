"""Arguments of every model that is on a server."""

from __future__ import annotations

from t2ibench.arguments import Arguments, PositiveInt


class OnServer(Arguments):
    """Where a server is, and how long it is waited for.

    Attributes:
        base_url: Such as http://127.0.0.1:8000/v1.
        api_key_env: Name of the environment variable that holds the key. The key itself is never
            an argument: arguments are stored with the run.
        timeout: Seconds that one attempt may take, from the connection to the last byte.
        retries: Attempts at one request. Waiting for a rate limit does not count.
    """

    base_url: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    timeout: PositiveInt = 120
    retries: PositiveInt = 5
