"""Whatever a page asks the explorer for, it gets an answer or one line, also of a deleted run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from starlette.testclient import TestClient

from t2ibench.apps.explorer.app import Explorer, create_app
from t2ibench.apps.explorer.preparation import Preparation
from tests.apps.explorer.api import HEADERS, HOME, opened
from tests.conftest import copied

# Values of the parameters of an address, as they stand in it.
ODD = [
    "",
    "0",
    "-1",
    "1e3",
    "9" * 15,
    "9" * 400,
    "9" * 5000,
    "%D9%A3",
    "nan",
    "..%2F..%2Fetc%2Fpasswd",
    "%00",
    "%FF%FE",
    quote("\u202ea\nb"),
    "a" * 20_000,
    "t2iat_flowers_insects",
]
GET = [
    "/image/{}",
    "/thumb/{}",
    "/wall/{}/image/0",
    "/wall/0/image/{}",
    "/wall/{}/source/0",
    "/wall/0/source/{}",
    "/wall/0/thumb/{}",
    "/api/state?{}",
    "/api/wall?run={}",
    "/api/wall/questions?run={}",
    "/api/wall/answers/{}",
    "/api/wall/answers/0?run={}",
    "/api/wall/image/{}",
    "/api/wall/image/0?labeller={}",
    "/api/wall/tests?run={}",
    "/api/wall/tests/{}",
    "/api/wall/tests/{}?row={0}&group={0}",
    "/api/wall/rows/{}",
    "/api/images?{}",
    "/api/map?run={}",
    "/api/image/{}",
    "/api/scores?run={}",
    "/api/scores/{}",
    "/api/tested?words={}",
    "/static/{}",
    "/static/shared/{}",
]
BODIES = [
    b"",
    b"null",
    b"[]",
    b"{}",
    b"[" * 50_000,
    b'{"run": 9e999, "image": -1}',
    b'{"run": NaN}',
    b"\xff\xfe",
    b'{"state": {}, "tree": {}, "text": "\\ud800", "anchors": ["\\ud800", "\\u0000"]}',
    b'{"anchors": ["\\ud800", "b"], "text": "a"}',
    b'{"runs": [64, 64], "prompts": ["\\u0000"]}',
    b'{"run": 0, "image": 0, "question": "\\ud800", "classes": ["a"], "answer": "a", '
    b'"labeller": "\\u0000/../x"}',
    b'{"texts": ["\\ud800"]}',
]
POST = [
    "/api/wall/wrong",
    "/api/evaluate",
    "/api/similarities",
    "/api/text",
    "/api/export",
    "/api/discover",
    "/api/pairs",
    "/api/card",
    "/api/session",
]


@pytest.fixture
def run(shared_run: Path, tmp_path: Path) -> Path:
    return copied(shared_run, tmp_path / "runs")


@pytest.fixture
def http(run: Path, tmp_path: Path) -> Iterator[httpx.Client]:
    collection = opened(run, encoder=None)
    explorer = Explorer(
        collection.album, Preparation.of(collection), tmp_path / "session.json"
    )
    app = create_app(explorer, 1234)
    with TestClient(app, base_url=HOME, raise_server_exceptions=False) as client:
        yield client


def check(where: str, reply: httpx.Response) -> None:
    """An answer, or a status that says whose fault it is, with a line where it is JSON."""
    assert reply.status_code < 500, (where[:200], reply.text[:500])
    assert "Traceback" not in reply.text
    if reply.status_code == 400 and "json" in reply.headers.get("content-type", ""):
        assert "\n" not in reply.json()["error"]


def ask_all(http: httpx.Client) -> None:
    """Ask every route for every odd value."""
    for path in GET:
        for value in ODD:
            where = path.replace("{0}", value).replace("{}", value)
            check(where, http.get(where))
    for path in POST:
        for body in BODIES:
            check(
                f"{path} {body[:80]!r}", http.post(path, content=body, headers=HEADERS)
            )


def test_odd_requests(http: httpx.Client) -> None:
    ask_all(http)


def test_odd_requests_of_a_run_that_was_deleted(http: httpx.Client, run: Path) -> None:
    shutil.rmtree(run)
    ask_all(http)
    assert not run.exists()


def test_a_run_that_is_deleted_while_it_is_looked_at(
    http: httpx.Client, run: Path
) -> None:
    addresses = [path.replace("{0}", "0").replace("{}", "0") for path in GET]
    for address in addresses[: len(addresses) // 2]:
        check(address, http.get(address))
    shutil.rmtree(run)
    for address in addresses:
        check(address, http.get(address))
