"""Whatever the explorer is asked for, it answers, or says in one line why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DataObject
from starlette.testclient import TestClient

from t2ibench.apps.explorer.app import Explorer, create_app
from t2ibench.apps.explorer.preparation import Preparation
from tests.apps.explorer.api import HEADERS, HOME, opened, pictures
from tests.apps.explorer.test_odd_requests import GET, check
from tests.chaos.tools import WORDS, altered, dumped
from tests.chaos.tries import Tries, sizes
from tests.conftest import copied

pytestmark = pytest.mark.slow

TREE = {
    "nodes": [
        {"id": "a", "label": "person"},
        {"id": "b", "label": "kind", "parent": "a"},
        {"id": "c", "label": "work", "parent": "a", "relation": "at"},
    ]
}
ANCHORS = ["a woman", "a man"]
BODIES: dict[str, dict[str, Any]] = {
    "/api/similarities": {"texts": ["a tie"]},
    "/api/discover": {"anchors": ANCHORS, "words": ["tie", "kitchen"], "run": 0},
    "/api/pairs": {"runs": [0, 0], "prompts": [], "anchors": ANCHORS},
    "/api/card": {
        "run": 0,
        "text": "a tie",
        "anchors": ANCHORS,
        "names": ["women", "men"],
        "family": ["a tie", "a kitchen"],
    },
    "/api/wall/wrong": {
        "run": 0,
        "image": 0,
        "question": "Which gender?",
        "classes": ["female", "male"],
        "answer": "male",
        "labeller": "anna",
    },
    "/api/evaluate": {"tree": TREE, "anchors": ANCHORS, "names": []},
    "/api/text": {"tree": TREE, "nodes": ["a"]},
    "/api/session": {
        "state": {
            "tree": TREE,
            "anchors": [{"name": "women", "prompt": ANCHORS[0], "colour": "#aabbcc"}],
        }
    },
    "/api/export": {
        "tree": TREE,
        "anchors": [{"name": name, "prompt": name} for name in ANCHORS],
    },
}
# A wrong answer needs an image of a run that was asked.
ANSWERED = sorted(set(BODIES) - {"/api/wall/wrong"})
NUMBERS = st.integers(-5, 40) | st.sampled_from([10**14, 10**400])
PARTS = NUMBERS.map(str) | WORDS.filter(lambda word: len(word) < 1000)


@pytest.fixture(scope="module")
def http(
    shared_run: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    """A client of an explorer of pictures of both anchors, and of a run."""
    folder = tmp_path_factory.mktemp("explored")
    shown = {anchor: [f"{anchor} at work"] * 4 for anchor in ANCHORS}
    run = copied(shared_run, folder)
    collection = opened(pictures(folder / "pictures", shown), run)
    explorer = Explorer(
        collection.album, Preparation.of(collection), folder / "session.json"
    )
    app = create_app(explorer, 1234)
    with TestClient(app, base_url=HOME, raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("path", ANSWERED)
def test_what_is_altered_is_answered_as_it_is(path: str, http: httpx.Client) -> None:
    reply = http.post(path, json=BODIES[path], headers=HEADERS)
    assert reply.status_code == 200, reply.text


@sizes(30, 1000)
def test_any_body(tries: Tries, http: httpx.Client) -> None:
    def ask(data: DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(BODIES)))
        body = dumped(altered(data, BODIES[path]))
        check(f"{path} {body[:300]!r}", http.post(path, content=body, headers=HEADERS))

    tries.of(ask)


@sizes(60, 1500)
def test_any_address(tries: Tries, http: httpx.Client) -> None:
    def ask(data: DataObject) -> None:
        path = data.draw(st.sampled_from(GET))
        word = data.draw(PARTS).encode("utf-8", "surrogatepass")
        where = path.replace("{0}", quote(word)).replace("{}", quote(word))
        check(where, http.get(where))

    tries.of(ask)
