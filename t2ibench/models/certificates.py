"""The certificates that servers are checked against, read once by each process."""

from __future__ import annotations

import errno
import os
import ssl
from functools import lru_cache
from pathlib import Path

import httpx

# What `ssl` and httpx read: a file and a folder of certificates, and a file for the keys of TLS.
_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")


def trusted_certificates() -> ssl.SSLContext:
    """Return the certificates that this machine trusts, for clients of httpx.

    Reading them takes 20 ms, for which httpx would stop all requests of the process each time that
    a client is made. They are read once, and then only if a variable or the file it names changed.

    Raises:
        Exception: they cannot be read; of whatever type `ssl` raises.
    """
    settings = tuple(os.environ.get(variable) for variable in _VARIABLES)
    return _read(settings, _state_of_file(os.environ.get("SSL_CERT_FILE")))


def _state_of_file(path: str | None) -> tuple[int, int, int] | None:
    """Return what changes when a file is replaced or rewritten; None if there is no such file."""
    try:
        state = Path(path).stat() if path else None
    except (OSError, ValueError):
        return None
    return state and (state.st_ino, state.st_size, state.st_mtime_ns)


# All clients connect in one thread (`servers.submit`), since httpx sets the protocols of a context
# whenever it connects.
@lru_cache(maxsize=1)
def _read(
    _settings: tuple[str | None, ...], _file: tuple[int, int, int] | None
) -> ssl.SSLContext:
    named = os.environ.get("SSL_CERT_FILE")
    if named and not Path(named).exists():
        # httpx before 0.28 would trust the usual certificates in its place.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), named)
    return httpx.create_ssl_context()
