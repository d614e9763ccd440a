"""Proxies of the environment are not asked for this machine, and are named where they fail."""

from __future__ import annotations

import os

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import create_generator
from t2ibench.models.proxies import is_loopback, proxy_of
from tests.models.chat import chat_server, serving, speaking, without_waiting
from tests.models.test_hosted import drawing
from tests.models.test_served import closed_port, one, requests, served

MESSAGES = [{"role": "user", "content": "Hello"}]
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        for name in (variable, variable.lower()):
            monkeypatch.setenv(name, "")  # so that what is set in between is undone
            monkeypatch.delenv(name)


@pytest.fixture(params=["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def proxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A variable that names a proxy where nothing is."""
    monkeypatch.setenv(request.param, f"http://user:secret@127.0.0.1:{closed_port()}")
    return str(request.param)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("excluded", ["", "example.com"])
def test_this_machine_is_asked_without_a_proxy(
    proxy: str, host: str, excluded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    monkeypatch.setenv("NO_PROXY", excluded)
    with serving(lambda _: (200, "yes")) as (url, _):
        assert chat_server(url.replace("127.0.0.1", host)).chat(MESSAGES) == "yes"
    with speaking(lambda *_: one()) as (url, _):
        (image,) = served(url.replace("127.0.0.1", host)).generate(
            requests(["a rose"], 1)
        )
        assert image.status == "ok"
    assert not excluded or excluded in os.environ["NO_PROXY"]


def test_the_hub_is_not_asked_for_this_machine_through_a_proxy(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with speaking(drawing) as (url, _):
        model = create_generator("hf:m", {"base_url": url, "timeout": 5})
        assert model.generate(requests(["a rose"], 1))[0].status == "ok"


def test_a_proxy_that_fails_is_named_without_its_password(
    proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_waiting(monkeypatch)
    with pytest.raises(T2IBenchError) as caught:
        chat_server("http://gpu-machine.example:8000/v1", retries=1).chat(MESSAGES)
    line = str(caught.value)
    assert f"({proxy})" in line and "NO_PROXY" in line and "gpu-machine.example" in line
    assert "secret" not in line and "user" not in line


def test_hosts_in_no_proxy_are_asked_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    assert proxy_of("https://api.example.com/v1") == (
        "HTTPS_PROXY",
        "http://proxy:3128",
    )
    assert proxy_of("http://api.example.com/v1") is None
    monkeypatch.setenv("NO_PROXY", "example.com")
    assert proxy_of("https://api.example.com/v1") is None
    monkeypatch.setenv("NO_PROXY", "*")
    assert proxy_of("https://other.org/v1") is None


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.8.0.1", True),
        ("0.0.0.0", True),
        ("a.localhost", True),
        ("localhost.example", False),
    ],
)
def test_addresses_of_this_machine(host: str, loopback: bool) -> None:
    assert is_loopback(host) == loopback
