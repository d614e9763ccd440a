"""Say why an encrypted connection to a server (TLS) was not made, and what to do about it."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.errors import one_line

# Codes of OpenSSL for what is wrong with a certificate.
_NOT_YET_VALID, _EXPIRED = 9, 10
_OTHER_HOSTS = {62, 64}  # another name, another IP address
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
_OLD_TLS = ("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "VERSION_TOO_LOW")
_CLIENT_CERTIFICATE = ("CERTIFICATE_REQUIRED",)
_OF_CONNECTIONS = (
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
    ssl.SSLWantReadError,
    ssl.SSLWantWriteError,
)
_TRUST_IT = "Name your own authority's certificates in SSL_CERT_FILE."


@dataclass(frozen=True, slots=True)
class TlsProblem:
    """Why a connection was not made.

    Attributes:
        what: The reason, in words that follow 'The server …'.
        next_step: What the user can do.
    """

    what: str
    next_step: str


def tls_problem(chain: Sequence[BaseException]) -> TlsProblem | None:
    """Return what is wrong with the encryption of a server's connection; None if nothing is.

    Args:
        chain: The exception with which a request failed, and its causes.
    """
    unverified = [
        cause for cause in chain if isinstance(cause, ssl.SSLCertVerificationError)
    ]
    if unverified:
        return _certificate_problem(unverified[-1])
    # A library may only repeat what was said.
    if any("CERTIFICATE_VERIFY_FAILED" in str(cause) for cause in chain):
        return TlsProblem("has a certificate that cannot be verified", _TRUST_IT)
    reasons = [_reason_of(cause) for cause in chain if _is_of_tls(cause)]
    return _handshake_problem(reasons[-1]) if reasons else None


def _certificate_problem(error: ssl.SSLCertVerificationError) -> TlsProblem:
    """Return what is wrong with a server's certificate."""
    code = getattr(error, "verify_code", None)
    why = getattr(error, "verify_message", "") or "no reason is given"
    what = f"has a certificate that cannot be verified ({one_line(why).rstrip('.')})"
    if code in {_EXPIRED, _NOT_YET_VALID}:
        return TlsProblem(
            what,
            "Have it renewed by whoever runs the server, or set the clock of this machine right.",
        )
    if code in _OTHER_HOSTS:
        return TlsProblem(
            what, "Give the host that the certificate is for in base_url=…."
        )
    return TlsProblem(what, _TRUST_IT)


def _handshake_problem(reason: str) -> TlsProblem:
    """Return why a handshake failed, from OpenSSL's name of the reason."""
    if any(name in reason for name in _NO_TLS):
        return TlsProblem(
            "does not speak TLS at this port",
            "If it speaks plain HTTP, write http:// in base_url=….",
        )
    if any(name in reason for name in _OLD_TLS):
        return TlsProblem(
            "speaks only versions of TLS that are no longer safe",
            "TLS 1.2 or later is needed: update the server.",
        )
    if any(name in reason for name in _CLIENT_CERTIFICATE):
        return TlsProblem(
            "asks for a client's certificate, which is not sent",
            "Ask it through a proxy on this machine that sends one.",
        )
    return TlsProblem(
        f"breaks off the handshake of TLS ({reason or 'without a reason'})",
        "Check that base_url=… is its address, with http:// or https:// as it speaks.",
    )


def _is_of_tls(cause: BaseException) -> bool:
    """Return whether an error is one of the encryption, not of the connection under it.

    The library of TLS also has errors for a connection that ends, or on which nothing comes.
    """
    return isinstance(cause, ssl.SSLError) and not isinstance(cause, _OF_CONNECTIONS)


def _reason_of(cause: BaseException) -> str:
    return str(getattr(cause, "reason", None) or "")
