"""Certificates are read once, and again when they change."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx
import pytest

from t2ibench.models.certificates import trusted_certificates
from t2ibench.models.http import BoundedClient
from t2ibench.models.server_errors import ServerAwayError


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"):
        monkeypatch.delenv(variable, raising=False)


def write_certificates(path: Path, number: int) -> None:
    """Write the first certificates of those that are usually trusted."""
    every = httpx.create_ssl_context(trust_env=False).get_ca_certs(binary_form=True)
    pem = map(ssl.DER_cert_to_PEM_cert, every[:number])
    path.write_text("".join(pem), encoding="utf-8")


def test_clients_share_the_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    first = trusted_certificates()
    assert len(first.get_ca_certs()) > 50
    assert first.check_hostname and first.verify_mode is ssl.CERT_REQUIRED
    read: list[None] = []
    monkeypatch.setattr(httpx, "create_ssl_context", lambda: read.append(None))
    monkeypatch.setattr(ssl, "create_default_context", lambda **_: read.append(None))
    for _ in range(3):
        BoundedClient(1)
    assert read == []
    assert trusted_certificates() is first


def test_a_file_that_is_named_or_changes_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = trusted_certificates()
    own = tmp_path / "own.pem"
    write_certificates(own, 1)
    monkeypatch.setenv("SSL_CERT_FILE", str(own))
    one = trusted_certificates()
    assert len(one.get_ca_certs()) == 1
    assert trusted_certificates() is one
    write_certificates(own, 2)
    assert len(trusted_certificates().get_ca_certs()) == 2
    monkeypatch.delenv("SSL_CERT_FILE")
    assert len(trusted_certificates().get_ca_certs()) == len(usual.get_ca_certs())


def test_certificates_that_cannot_be_read_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.pem"
    for path in (tmp_path / "missing.pem", broken):
        monkeypatch.setenv("SSL_CERT_FILE", str(path))
        broken.write_text("no certificate", encoding="utf-8")
        with pytest.raises(ServerAwayError, match="SSL_CERT_FILE"):
            BoundedClient(1)
    write_certificates(broken, 1)
    BoundedClient(1)
