"""How long servers ask to wait, and what proxies have to do with it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from t2ibench.models.waits import seconds_to_wait

RETRY_INFO = {"error": {"details": [{"@type": "RetryInfo", "retryDelay": "34.5s"}]}}
PASSED_ON = {"error": {"metadata": {"headers": {"X-RateLimit-Reset": "120"}}}}


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "30"}, None, 30.0),
        ({"Retry-After": "0"}, None, 0.0),
        ({"retry-after-ms": "1500", "Retry-After": "30"}, None, 1.5),
        ({"Retry-After": "Thu, 01 Jan 2026 00:00:00 GMT"}, None, 0.0),
        # This machine's clock is wrong; the server's says what is meant.
        (
            {
                "Retry-After": "Thu, 01 Jan 2037 00:00:20 GMT",
                "Date": "Thu, 01 Jan 2037 00:00:00 GMT",
            },
            None,
            20.0,
        ),
        (
            {
                "Retry-After": "Thu, 01 Jan 2009 00:00:20 GMT",
                "Date": "Thu, 01 Jan 2009 00:00:00 GMT",
            },
            None,
            20.0,
        ),
        (
            {
                "x-ratelimit-reset": "2114380860",
                "date": "Thu, 01 Jan 2037 00:00:00 GMT",
            },
            None,
            60.0,
        ),
        ({"Retry-After": "30", "Date": "nonsense"}, None, 30.0),
        ({"x-ratelimit-reset": "90"}, None, 90.0),
        ({"ratelimit-reset": "6m0s"}, None, 360.0),
        ({"x-ratelimit-reset-requests": "1m30s"}, None, None),
        (
            {
                "x-ratelimit-reset-requests": "1m30s",
                "x-ratelimit-remaining-requests": "0",
            },
            None,
            90,
        ),
        ({}, RETRY_INFO, 34.5),
        ({}, PASSED_ON, 120.0),
        ({"Retry-After": "5"}, PASSED_ON, 5.0),
        ({"Retry-After": "2026-01-01T00:00:00Z"}, None, 0.0),
        ({"Retry-After": "2026-01-01"}, None, 0.0),
        ({}, {"error": "Daily limit: retry after 86400 seconds"}, 86400.0),
        ({}, {"error": {"message": "Please try again in 6m0s. See x.com."}}, 360.0),
        ({}, {"error": {"message": "Wait 20 min, please."}}, 1200.0),
        ({}, {"error": {"message": "Try again in 250ms"}}, 0.25),
        ({}, {"error": {"message": "Try again; the limit is 5 images"}}, None),
        ({"Retry-After": "soon"}, None, None),
        ({"x-ratelimit-reset": "-3"}, ["no error"], None),
        ({}, {"error": "text"}, None),
        ({}, {"error": {"details": ["x", {"retryDelay": "soon"}]}}, None),
        (None, None, None),
    ],
)
def test_a_wait_is_read_in_every_form(
    headers: dict[str, str] | None, body: Any, seconds: float | None
) -> None:
    assert seconds_to_wait(headers, body) == seconds


@pytest.mark.parametrize("unit", [1, 1000])
def test_a_reset_is_a_moment_in_seconds_or_milliseconds(unit: int) -> None:
    moment = int((time.time() + 100) * unit)
    wait = seconds_to_wait({"X-RateLimit-Reset": str(moment)})
    assert wait is not None and 97 <= wait <= 100
