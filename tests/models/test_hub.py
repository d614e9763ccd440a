"""The hub is asked once, briefly, and what it says becomes one line: from a real local server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from t2ibench.errors import T2IBenchError
from t2ibench.models.hub import ask_hub, hub_problem
from tests.models.chat import Said, speaking
from tests.models.hub_server import hub_at
from tests.models.parts import refused

pytestmark = pytest.mark.slow

COMMIT = "a" * 40
INDEX = "model_index.json"


class Hub:
    """What it says of every file, and the files that it was asked about."""

    said: Said = (200, {"X-Repo-Commit": COMMIT, "ETag": "x"}, b"")

    def __init__(self, asked: list[dict[str, Any]]) -> None:
        self._asked = asked

    @property
    def asked(self) -> list[str]:
        return [one["path"] for one in self._asked if INDEX in one["path"]]


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A hub of this machine, and an empty cache."""
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with speaking(lambda *_: found.said) as (url, asked):
        found = Hub(asked)
        hub_at(monkeypatch, url.removesuffix("/v1"))
        yield found


def cached(folder: Path) -> None:
    """As the hub's client leaves a model that it downloaded."""
    model = folder / "cache" / "models--org--name"
    (model / "snapshots" / COMMIT).mkdir(parents=True)
    (model / "snapshots" / COMMIT / INDEX).write_text("{}")
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text(COMMIT)


def test_a_model_on_the_hub_may_be_loaded(hub: Hub) -> None:
    assert ask_hub("org/name", INDEX) == {}
    assert hub.asked == [f"/org/name/resolve/main/{INDEX}"]


def test_a_folder_is_not_asked_for(hub: Hub, tmp_path: Path) -> None:
    assert ask_hub(str(tmp_path), INDEX) == {} and not hub.asked


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (
            401,
            {"X-Error-Code": "GatedRepo"},
            "huggingface.co/org/name, then log in: `hf auth",
        ),
        (403, {"X-Error-Code": "GatedRepo"}, "is gated: its makers give access"),
        (
            404,
            {"X-Error-Code": "RepoNotFound"},
            "The hub has no model 'org/name', or it is",
        ),
        (401, {}, "a private model needs `hf auth login`"),
        (403, {}, "a token that may read it"),
        (404, {"X-Error-Code": "RevisionNotFound"}, "has no revision 'v2'"),
        (
            404,
            {"X-Error-Code": "EntryNotFound"},
            f"has no {INDEX}. Give a text-to-image pipeline",
        ),
        (503, {}, "busy at the moment (503). Try again later"),
        (429, {"Retry-After": "60"}, "busy at the moment (429)"),
        (200, {}, "is not a hub of models (it names no commit). Check HF_ENDPOINT"),
    ],
)
def test_refusals_of_the_hub_become_one_line(
    status: int, headers: dict[str, str], message: str, hub: Hub
) -> None:
    hub.said = (status, headers, b"")
    with refused(message):
        ask_hub("org/name", INDEX, "v2")
    assert len(hub.asked) == 1


def test_a_hub_that_is_away_leaves_what_was_downloaded(
    hub: Hub, tmp_path: Path
) -> None:
    hub.said = (503, {}, b"")
    cached(tmp_path)
    assert ask_hub("org/name", INDEX) == {"local_files_only": True}


def test_no_answer_at_all(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub_at(monkeypatch, "http://127.0.0.1:1")
    with pytest.raises(T2IBenchError, match=r"does not answer.*Check the connection"):
        ask_hub("org/name", INDEX)


def test_a_password_in_the_address_of_a_mirror_is_hidden(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "http://someone:zQ7vTopSecret19@127.0.0.1:1"
    monkeypatch.setenv("HF_ENDPOINT", address)
    hub_at(monkeypatch, address)
    why, _ = hub_problem("org/name", INDEX, None)
    assert "http://someone:***@127.0.0.1:1 does not answer" in why


def test_offline(hub: Hub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(T2IBenchError, match="has not been downloaded to this machine"):
        ask_hub("org/name", INDEX)
    cached(tmp_path)
    assert ask_hub("org/name", INDEX) == {} and not hub.asked
