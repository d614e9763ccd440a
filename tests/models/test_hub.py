"""The hub is asked once, briefly, and what it says becomes one line: from a real local server."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from huggingface_hub import constants

from t2ibench.errors import T2IBenchError
from t2ibench.models.hub import ask_hub

pytestmark = pytest.mark.slow

COMMIT = "a" * 40
INDEX = "model_index.json"


class Hub(BaseHTTPRequestHandler):
    """Answers every question about a file with the same status and headers."""

    status = 200
    headers_sent: ClassVar[dict[str, str]] = {}
    asked: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        Hub.asked.append(self.path)
        self.send_response(Hub.status)
        for name, value in Hub.headers_sent.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, *_: Any) -> None:
        """Nothing."""


def at(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """As HF_ENDPOINT says it before the client is imported."""
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", address)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[Hub]]:
    """A hub of this machine, and an empty cache."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    Thread(target=server.serve_forever, daemon=True).start()
    at(monkeypatch, f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("t2ibench.models.hub._PAUSE", 0.0)
    Hub.status, Hub.headers_sent, Hub.asked = 200, {"X-Repo-Commit": COMMIT, "ETag": "x"}, []
    yield Hub
    server.shutdown()
    server.server_close()


def cached(folder: Path) -> None:
    """As the hub's client leaves a model that it downloaded."""
    model = folder / "cache" / "models--org--name"
    (model / "snapshots" / COMMIT).mkdir(parents=True)
    (model / "snapshots" / COMMIT / INDEX).write_text("{}")
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(COMMIT)


def test_what_is_there_is_loaded(hub: type[Hub]) -> None:
    assert ask_hub("org/name", INDEX) == {}
    assert [path for path in hub.asked if INDEX in path] == [f"/org/name/resolve/main/{INDEX}"]


def test_a_folder_is_not_asked_for(hub: type[Hub], tmp_path: Path) -> None:
    assert ask_hub(str(tmp_path), INDEX) == {} and not hub.asked


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (401, {"X-Error-Code": "GatedRepo"}, "huggingface.co/org/name, then log in: `hf auth"),
        (403, {"X-Error-Code": "GatedRepo"}, "is gated: its makers give access"),
        (404, {"X-Error-Code": "RepoNotFound"}, "The hub has no model 'org/name', or it is"),
        (401, {}, "a private or gated model needs `hf auth login`"),
        (403, {}, "may not be allowed to read it"),
        (404, {"X-Error-Code": "RevisionNotFound"}, "has no revision 'v2'"),
        (404, {"X-Error-Code": "EntryNotFound"}, f"has no {INDEX}. Give a text-to-image pipeline"),
        (503, {}, "out of order at the moment (503). Try again later."),
        (429, {"Retry-After": "60"}, "asks to wait for 60 seconds (429, too many requests)"),
        (200, {}, "is not a hub of models (it names no commit). Check HF_ENDPOINT"),
    ],
)
def test_what_it_says_becomes_one_line(
    status: int, headers: dict[str, str], message: str, hub: type[Hub]
) -> None:
    hub.status, hub.headers_sent = status, headers
    with pytest.raises(T2IBenchError) as caught:
        ask_hub("org/name", INDEX, "v2")
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert len([path for path in hub.asked if INDEX in path]) <= 2


def test_a_hub_that_is_away_leaves_what_was_downloaded(hub: type[Hub], tmp_path: Path) -> None:
    hub.status, hub.headers_sent = 503, {}
    cached(tmp_path)
    assert ask_hub("org/name", INDEX) == {"local_files_only": True}


def test_no_answer_at_all(hub: type[Hub], monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, "http://127.0.0.1:1")
    with pytest.raises(T2IBenchError, match=r"does not answer.*Check the connection"):
        ask_hub("org/name", INDEX)


def test_offline(hub: type[Hub], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(T2IBenchError, match="has not been downloaded to this machine"):
        ask_hub("org/name", INDEX)
    cached(tmp_path)
    assert ask_hub("org/name", INDEX) == {} and not hub.asked
