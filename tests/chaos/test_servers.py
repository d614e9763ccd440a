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
    one_line,
    spliced,
)
from tests.chaos.tries import Tries, sizes
from tests.conftest import Cli
from tests.models.chat import Wire, completion, response, wiring, without_waiting

pytestmark = pytest.mark.nightly

STATUS = st.sampled_from(
    [200, 200, 200, 200, 204, 302, 400, 401, 403, 404, 429, 500, 503, 999]
)
HEADERS = st.sampled_from(
    [
        *(
            "Retry-After: 1e999",
            "Retry-After: -5",
            "Retry-After: x",
            "Retry-After: 99999999999",
        ),
        *(
            "Content-Encoding: gzip",
            "Content-Encoding: br",
            "Content-Encoding: x\u00ff",
        ),
        *(
            "Content-Type: text/html",
            "Transfer-Encoding: chunked",
            "Location: file:///etc/passwd",
        ),
        *(
            "Set-Cookie: a=b",
            "X: " + "x" * 100_000,
            "Connection: close",
            "Content-Length: 3",
            ":",
        ),
    ]
)
PIECES = any_text(
    ["{", "}", '"', ":", ",", "[", "]", "choices", "message", "content", "null"]
)
REPLY = {
    "id": "1",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "male"}}],
    "usage": {"total_tokens": 3},
}


def sent(data: DataObject) -> bytes:
    """What a server sends: a reply with something wrong, or anything at all."""
    said = data.draw(
        WORDS | st.sampled_from(["male", "black\nwhite", "```json\n{}\n```", '["a"]'])
    )
    body = data.draw(
        st.just(dumped(altered(data, REPLY)))
        | st.just(completion(said))
        | JSON.map(lambda value: completion(json.dumps(value)))
        | PIECES
    )
    length = data.draw(
        st.sampled_from([None, None, None, 0, len(body) + 5, -1, 10**20])
    )
    headers = [
        one.encode().decode("latin-1")
        for one in data.draw(st.lists(HEADERS, max_size=2))
    ]
    whole = response(body, data.draw(STATUS), *headers)
    if length is not None:
        whole = response(body, 200, length=length)
    return spliced(data, whole, PIECES) if not data.draw(st.integers(0, 4)) else whole


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder where clients do not wait, and their patience ends as if they had."""
    monkeypatch.chdir(tmp_path)
    waits = without_waiting(monkeypatch)
    monkeypatch.setattr(
        "t2ibench.models.servers.monotonic", lambda: monotonic() + sum(waits)
    )
    # A reply that is nested too deep leaves no frame for what is collected on the way.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)


class Speaker:
    """Sends the same to everybody, and hangs up."""

    def __init__(self) -> None:
        self.bytes = b""

    def __call__(self, wire: Wire) -> bool:
        wire.send(self.bytes)
        return False


@sizes(20, 400)
def test_judges(
    tries: Tries, here: None, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-secret-that-nobody-is-told")
    speaker = Speaker()
    with wiring(speaker) as url:
        args = f"base_url={url},timeout=5,retries=1"
        words = (
            "--tasks",
            "openbias_examples",
            "--judge",
            "openai:m",
            "--judge-args",
            args,
        )

        def check(data: DataObject) -> None:
            speaker.bytes = sent(data)
            if Path("runs/toyland/run.db").exists():
                Database(Path("runs/toyland")).execute("DELETE FROM answers")
            status, out, errors = cli(*FLAGS, *words)
            one_line(status, errors)
            assert "a-secret" not in out + errors
            for path in [*Path("runs").rglob("*.json*"), *Path("runs").rglob("run.db")]:
                assert b"a-secret" not in path.read_bytes()

        tries.of(check)


@sizes(20, 400)
def test_proposers(tries: Tries, here: None, cli: Cli) -> None:
    Path("captions.txt").write_text("a man with a dog\na nurse at work\n")
    speaker = Speaker()
    openbias = ("openbias", "--captions", "captions.txt", "--method-args", "support=1")
    what = st.sampled_from([openbias, ("tibet", "--prompt", "a chef")])
    good: Any = [
        {
            "name": "gender",
            "classes": ["a", "b"],
            "question": "Which?",
            "present": False,
        }
    ]
    with wiring(speaker) as url:
        args = (
            "--proposer",
            "openai:m",
            "--proposer-args",
            f"base_url={url},timeout=5,retries=1",
        )

        def check(data: DataObject) -> None:
            reply = data.draw(st.just(good) | st.just(altered(data, good)))
            said = data.draw(st.sampled_from([None, reply, {"biases": reply}]))
            whole = response(completion(json.dumps(said)))
            speaker.bytes = sent(data) if said is None else whole
            for path in Path().glob("out*"):
                path.unlink()
            status, _, errors = cli(
                "propose", *data.draw(what), *args, "--output", "out.yaml"
            )
            one_line(status, errors)
            if status == 0:
                assert cli("validate", "out.yaml")[0] == 0

        tries.of(check)
