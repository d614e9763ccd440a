"""Read how long a server asks to wait, in any of the forms that servers use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

_LONGEST_NUMBER = 15  # digits of a time that are read
_HUGE = re.compile(r"\d{16,}(?:\.\d*)?|\d+(?:\.\d*)?[eE]\+?\d+")
_LONGEST_WAIT = 1e9  # seconds
_SECONDS_OF_EPOCH = 1e9  # larger numbers of seconds are points in time, not durations
_MILLISECONDS_OF_EPOCH = 1e12
_RESETS = ("x-ratelimit-reset", "ratelimit-reset")
# OpenAI's headers: when the limit of requests, or that of tokens, is whole again.
_KINDS = ("requests", "tokens")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
# "Please try again in 6m0s", "retry after 86400 seconds"
_ASKED_IN_WORDS = re.compile(
    r"\b(?:retry|try|again|wait|resets?|reset|available)\b\D{0,30}?"
    r"(?:(?P<duration>(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+)\b"
    r"|(?P<number>\d+(?:\.\d+)?) ?(?P<unit>milliseconds?|sec(?:ond)?s?|min(?:ute)?s?"
    r"|hours?|days?)\b)",
    re.IGNORECASE,
)
_WORDS_OF_UNITS = {"mi": "m", "se": "s", "ho": "h", "da": "d"}


def seconds_to_wait(
    headers: Mapping[str, str] | None, body: Any = None
) -> float | None:
    """Return the seconds that a reply asks to wait before the next request; None if it does not.

    `retry-after-ms` comes before `Retry-After`, as in the openai client, and both before the
    moment at which a rate limit is reset. Moments are compared with the server's own clock where
    the reply tells it, because this machine's may be wrong. A body may hold Google's `retryDelay`
    or the headers that OpenRouter passes on; a message may say it in words.
    """
    named = {str(name).lower(): str(value) for name, value in (headers or {}).items()}
    in_body = _headers_in(body)
    date = _moment(named.get("date"))
    now = time() if date is None else date
    for source in (named, in_body):
        for wait in (
            _number(source.get("retry-after-ms"), 0.001),
            seconds_asked(source.get("retry-after"), now),
            *(_until(source.get(name), now) for name in _RESETS),
            _of_empty_limits(source, now),
        ):
            if wait is not None:
                return wait
    delay = _retry_delay(body)
    return seconds_in_words(_words_in(body)) if delay is None else delay


def seconds_in_words(text: str) -> float | None:
    """Return the seconds that a server's message asks to wait; None where it does not.

    Examples:
        >>> seconds_in_words("Limit reached, retry after 86400 seconds")
        86400.0
        >>> seconds_in_words("Please try again in 1m30s.")
        90.0
        >>> seconds_in_words("Please try again later.") is None
        True
    """
    match = _ASKED_IN_WORDS.search(text)
    if match is None:
        return None
    if match["duration"]:
        return _duration(match["duration"].lower())
    unit = match["unit"].lower()
    short = "ms" if unit.startswith("milli") else _WORDS_OF_UNITS[unit[:2]]
    return float(match["number"]) * _UNITS[short]


def names_day_quota(body: Any) -> bool:
    """Return whether an error names one of Google's daily quotas, whatever delay it asks for."""
    details = _error_in(body).get("details")
    return "PerDay" in str(details) if isinstance(details, list) else False


def seconds_asked(retry_after: str | None, now: float | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks to wait; None if it is unreadable.

    The header has a number of seconds, or a date until which to wait. `now` is in seconds since
    1970; None for this machine's clock.

    Examples:
        >>> seconds_asked("30"), seconds_asked("1e9"), seconds_asked("9" * 40), seconds_asked("x")
        (30.0, 1000000000.0, 1000000000.0, None)
    """
    text = (retry_after or "").strip()
    seconds = _number(text)
    if seconds is not None:
        return seconds
    if _HUGE.fullmatch(text):
        # No form of HTTP, but the server means more than anybody waits.
        return _LONGEST_WAIT
    until = _moment(text)
    if until is None:
        return None
    return max(0.0, until - (time() if now is None else now))


def _moment(text: str | None) -> float | None:
    """Return the seconds since 1970 of a date, in UTC unless it says otherwise; None without."""
    date = _date(text or "")
    if date is None:
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return date.timestamp()


def _date(text: str) -> datetime | None:
    """Return the time that a text gives, in HTTP's form or ISO 8601; None if in neither."""
    try:
        return parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        # Before Python 3.11 fromisoformat does not accept 'Z'.
        return datetime.fromisoformat(re.sub(r"[zZ]$", "+00:00", text))
    except ValueError:
        return None


def in_words(seconds: float) -> str:
    """Return a duration in words, such as '10 min'.

    Examples:
        >>> in_words(45), in_words(600), in_words(86400), in_words(40 * 3600)
        ('45 s', '10 min', '24 hours', '40 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 2 * 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 72 * 3600:
        return f"{seconds / 3600:.0f} hours"
    return f"{seconds / 86400:.0f} days"


def _number(text: str | None, unit: float = 1.0) -> float | None:
    digits = (text or "").strip()
    short = len(digits) <= _LONGEST_NUMBER
    if short and digits.isascii() and digits.replace(".", "", 1).isdigit():
        return float(digits) * unit
    return None


def _until(text: str | None, now: float) -> float | None:
    """Return the seconds from `now` until a limit's reset; None if the text is unreadable.

    The text is a time since 1970, a number of seconds, or a duration such as '6m0s'.
    """
    value = _number(text)
    if value is None:
        return _duration(text)
    if value >= _MILLISECONDS_OF_EPOCH:
        return max(0.0, value / 1000 - now)
    if value >= _SECONDS_OF_EPOCH:
        return max(0.0, value - now)
    return value


def _duration(text: str | None) -> float | None:
    if text is None or not _DURATION.fullmatch(text.strip()):
        return None
    return sum(float(value) * _UNITS[unit] for value, unit in _PART.findall(text))


def _of_empty_limits(headers: Mapping[str, str], now: float) -> float | None:
    """Return the longest wait until a used-up limit is reset; None if none is used up."""
    waits = []
    for kind in _KINDS:
        if headers.get(f"x-ratelimit-remaining-{kind}", "").strip() == "0":
            wait = _until(headers.get(f"x-ratelimit-reset-{kind}"), now)
            waits += [] if wait is None else [wait]
    return max(waits, default=None)


def _error_in(body: Any) -> Mapping[str, Any]:
    error = body.get("error") if isinstance(body, Mapping) else None
    return error if isinstance(error, Mapping) else {}


def _words_in(body: Any) -> str:
    """Return an error's message, or the error itself if it is a text; else ''."""
    error = body.get("error") if isinstance(body, Mapping) else None
    text = error if isinstance(error, str) else _error_in(body).get("message")
    return text if isinstance(text, str) else ""


def _headers_in(body: Any) -> dict[str, str]:
    metadata = _error_in(body).get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, Mapping) else None
    if not isinstance(headers, Mapping):
        return {}
    return {str(name).lower(): str(value) for name, value in headers.items()}


def _retry_delay(body: Any) -> float | None:
    details = _error_in(body).get("details")
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, Mapping) and isinstance(detail.get("retryDelay"), str):
            return _duration(detail["retryDelay"])
    return None
