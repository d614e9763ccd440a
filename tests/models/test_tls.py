"""A server whose encryption fails: one line with the reason and the next step, and no key sent."""

from __future__ import annotations

import socketserver
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from t2ibench.models.generators import create_generator
from t2ibench.models.tls_problems import tls_problem
from tests.models.chat import chat_server, without_waiting
from tests.models.parts import refused
from tests.models.test_comfyui import SDXL
from tests.models.test_served import KEY
from tests.models.wires import head

MESSAGES = [{"role": "user", "content": "?"}]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_API_KEY", "COMFYUI_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    without_waiting(monkeypatch)


def alert(number: int) -> bytes:
    """What a server of TLS says before it hangs up."""
    return b"\x15\x03\x01\x00\x02\x02" + bytes([number])


@contextmanager
def saying(data: bytes | None) -> Iterator[tuple[str, list[bytes]]]:
    """The address of a server that says this at once, and what it heard; None for nothing."""
    heard: list[bytes] = []
    over = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            heard.append(self.request.recv(100_000))
            if data is None:
                over.wait(20)
            else:
                self.request.sendall(data)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}", heard
        finally:
            over.set()
            server.shutdown()
            thread.join()


def judge(url: str) -> Any:
    return chat_server(f"{url}/v1", retries=2, timeout=1).chat(MESSAGES)


def comfyui(url: str) -> Any:
    args = {"base_url": url, "retries": 2, "timeout": 1}
    return create_generator(f"comfyui:{SDXL}", args)


# What a server says, the line, the next step, and how often it is asked with two attempts.
SAID: dict[str, tuple[bytes, str, str, int]] = {
    "plain HTTP": (head(), "does not speak TLS at this port", "write http:// in", 1),
    "an old version": (alert(70), "speaks only versions of TLS", "TLS 1.2 or later", 1),
    "no": (alert(40), "breaks off the handshake of TLS", "http:// or https://", 1),
    "nothing": (b"", "cannot be reached", "http:// or https://", 2),
    "half a record": (b"\x16\x03\x03\x00\x7a", "reached", "http:// or https://", 2),
}


@pytest.mark.parametrize("ask", [judge, comfyui])
@pytest.mark.parametrize("what", SAID)
def test_a_handshake_that_fails_is_one_line(
    what: str, ask: Callable[[str], Any]
) -> None:
    data, line, step, times = SAID[what]
    with saying(data) as (address, heard), refused(line, step):
        ask(f"https://{address}")
    assert len(heard) == times
    assert KEY.encode() not in b"".join(heard)


def test_a_handshake_that_hangs_ends_with_the_attempt() -> None:
    with saying(None) as (address, heard), refused("does not answer within 1 s"):
        judge(f"https://{address}")
    assert KEY.encode() not in b"".join(heard)


def test_a_port_of_tls_that_is_asked_in_plain_http_is_one_line() -> None:
    with saying(alert(10)) as (address, _), refused("https:// as it speaks"):
        judge(f"http://{address}")


def unverified(code: int, words: str) -> Exception:
    error = ssl.SSLCertVerificationError(1, "CERTIFICATE_VERIFY_FAILED")
    error.verify_code, error.verify_message = code, words
    return error


CERTIFICATES = [
    (10, "certificate has expired", "Have it renewed"),
    (9, "certificate is not yet valid", "the clock of this machine"),
    (18, "self-signed certificate", "SSL_CERT_FILE"),
    (20, "unable to get local issuer certificate", "SSL_CERT_FILE"),
    (62, "Hostname mismatch", "Give the host that the certificate is for"),
    (64, "IP address mismatch", "Give the host that the certificate is for"),
]


@pytest.mark.parametrize(("code", "words", "step"), CERTIFICATES)
def test_a_certificate_that_cannot_be_verified_says_why(
    code: int, words: str, step: str
) -> None:
    inner = unverified(code, words)
    found = tls_problem([ConnectionError(str(inner)), inner])
    assert found is not None and f"({words})" in found.what and step in found.next_step


def test_a_library_that_only_repeats_the_error_is_understood() -> None:
    found = tls_problem([ConnectionError("[SSL: CERTIFICATE_VERIFY_FAILED] no")])
    assert found is not None and "SSL_CERT_FILE" in found.next_step
    assert tls_problem([ConnectionError("refused"), TimeoutError()]) is None
    assert tls_problem([ssl.SSLEOFError(), ssl.SSLWantReadError()]) is None
