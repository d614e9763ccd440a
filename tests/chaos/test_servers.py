"""Whatever a server sends, judges and proposers get an answer, none, or one clear line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from t2ibench.store.database import Database
from tests.chaos.tools import (
    FLAGS,
    JSON,
    WORDS,
    altered,
    any_text,
    dumped,
    each,
    one_line,
    sizes,
    spliced,
)
from tests.conftest import Cli
from tests.models.chat import Wire, completion, response, wiring, without_waiting

pytestmark = pytest.mark.nightly

STATUS = st.sampled_from([200, 200, 200, 200, 204, 302, 400, 401, 403, 404, 429, 500, 503, 999])
HEADERS = st.sampled_from(
    [
        *("Retry-After: 1e999", "Retry-After: -5", "Retry-After: x", "Retry-After: 99999999999"),
        *("Content-Encoding: gzip", "Content-Encoding: br", "Content-Encoding: x\u00ff"),
        *("Content-Type: text/html", "Transfer-Encoding: chunked", "Location: file:///etc/passwd"),
        *("Set-Cookie: a=b", "X: " + "x" * 100_000, "Connection: close", "Content-Length: 3", ":"),
    ]
)
PIECES = any_text(["{", "}", '"', ":", ",", "[", "]", "choices", "message", "content", "null"])
REPLY = {
    "id": "1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "male"}}],
    "usage": {"total_tokens": 3},
}


def sent(data: DataObject) -> bytes:
    """What a server sends: a reply with something wrong, or anything at all."""
    said = data.draw(WORDS | st.sampled_from(["male", "black\nwhite", "```json\n{}\n```", '["a"]']))
    body = data.draw(
        st.just(dumped(altered(data, REPLY)))
        | st.just(completion(said))
        | JSON.map(lambda value: completion(json.dumps(value)))
        | PIECES
    )
    length = data.draw(st.sampled_from([None, None, None, 0, len(body) + 5, -1, 10**20]))
    headers = data.draw(st.lists(HEADERS, max_size=2))
    whole = response(
        body, data.draw(STATUS), *(head.encode().decode("latin-1") for head in headers)
    )
    if length is not None:
        whole = response(body, 200, length=length)
    return spliced(data, whole, PIECES) if not data.draw(st.integers(0, 4)) else whole


class Speaker:
    """Sends the same to everybody, and hangs up."""

    def __init__(self) -> None:
        self.bytes = b""

    def __call__(self, wire: Wire) -> bool:
        wire.send(self.bytes)
        return False


def without_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients do not wait, and their patience ends as if they had."""
    waits = without_waiting(monkeypatch)
    monkeypatch.setattr("t2ibench.models.servers.monotonic", lambda: monotonic() + sum(waits))
    # A reply that is nested too deep leaves no frame for what is collected on the way.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)


@sizes(20, 400)
def test_judges(
    count: int,
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-that-nobody-is-told")
    without_time(monkeypatch)
    speaker = Speaker()
    with wiring(speaker) as url:
        args = f"base_url={url},timeout=5,retries=1"
        words = ("--tasks", "openbias_examples", "--judge", "openai:m", "--judge-args", args)

        def check(data: DataObject) -> None:
            speaker.bytes = sent(data)
            if Path("runs/toyland/run.db").exists():
                Database(Path("runs/toyland")).execute("DELETE FROM answers")
            status, out, errors = cli(*FLAGS, *words)
            one_line(status, errors)
            assert "a-secret" not in out + errors
            for path in [*Path("runs").rglob("*.json*"), *Path("runs").rglob("run.db")]:
                assert b"a-secret" not in path.read_bytes()

        each(count, number, check)


@sizes(20, 400)
def test_proposers(
    count: int,
    number: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cli: Cli,
) -> None:
    monkeypatch.chdir(tmp_path)
    without_time(monkeypatch)
    Path("captions.txt").write_text("a man with a dog\na nurse at work\n")
    speaker = Speaker()
    good: Any = [{"name": "gender", "classes": ["a", "b"], "question": "Which?", "present": False}]
    with wiring(speaker) as url:
        args = ("--proposer", "openai:m", "--proposer-args", f"base_url={url},timeout=5,retries=1")

        def check(data: DataObject) -> None:
            replies = st.just(good) | st.just(altered(data, good))
            speaker.bytes = data.draw(
                st.just(sent(data))
                | replies.map(lambda value: response(completion(json.dumps({"biases": value}))))
                | replies.map(lambda value: response(completion(json.dumps(value))))
            )
            for path in Path().glob("out*"):
                path.unlink()
            what = data.draw(
                st.sampled_from(
                    [
                        ("openbias", "--captions", "captions.txt", "--method-args", "support=1"),
                        ("tibet", "--prompt", "a chef"),
                    ]
                )
            )
            status, _, errors = cli("propose", *what, *args, "--output", "out.yaml")
            one_line(status, errors)
            if status == 0:
                assert cli("validate", "out.yaml")[0] == 0

        each(count, number, check)
