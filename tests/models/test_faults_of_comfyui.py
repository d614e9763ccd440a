"""Every fault at every endpoint of a ComfyUI server: an image, a failed image or one line."""

from __future__ import annotations

import contextlib
import copy
import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators import create_generator
from t2ibench.models.generators.comfyui import jobs
from t2ibench.models.generators.comfyui.arguments import ComfyArguments
from t2ibench.models.generators.comfyui.client import ComfyServer
from t2ibench.models.servers import submit
from tests.models.chat import Said, json_reply, without_waiting
from tests.models.comfyui_replies import (
    HASH,
    SYSTEM,
    about,
    entry,
    replying,
    source_image,
)
from tests.models.test_comfyui import SDXL
from tests.models.test_comfyui_edits import EDIT
from tests.models.test_served import KEY, PROMPTS, requests

LONG = 200_000  # characters


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMFYUI_API_KEY", KEY)
    without_waiting(monkeypatch)
    for name in ("_FIRST_LOOK", "_LOOK", "_LOOK_BESIDE_SOCKET"):
        monkeypatch.setattr(jobs, name, 0.001)


def asked(**changes: Any) -> tuple[str, str]:
    """What becomes of an image, and all that is stored or shown of it."""
    with replying(**changes) as (url, _):
        args = {"base_url": url, "timeout": 2, "retries": 2}
        try:
            edits = "upload_image" in changes
            model: Any = create_generator(f"comfyui:{EDIT if edits else SDXL}", args)
            (request,) = requests(PROMPTS[:1], 1)
            if edits:
                request = replace(request, source=source_image())
            (image,) = model.generate([request])
        except T2IBenchError as error:
            return "line", str(error)
    stored = [model.fingerprint, dict(model.settings), model.effective_settings()]
    assert (image.status == "ok") == (image.reason is None)
    return image.status, json.dumps([*stored, image.reason], ensure_ascii=False)


def check(text: str) -> None:
    """What is stored or shown is short and one line, and has no key and no error of Python."""
    assert len(text) < 10_000 and text.isprintable()
    assert not any(word in text for word in (KEY, "\\u001b", "\\n", "cannot be made"))


def test_without_a_fault_there_is_an_image() -> None:
    assert asked()[0] == "ok"
    assert asked(upload_image=lambda _, right: right)[0] == "ok"


# What may become of the image, by the endpoint that has the fault. A job whose reply was lost is
# found in the queue or the history, and a file's hash is not needed.
ENDPOINTS = {
    "system_stats": {"line"},
    "object_info": {"line"},
    "view_metadata": {"ok", "line"},
    "queue": {"ok", "line"},
    "prompt": {"ok", "failed", "line"},
    "history": {"failed", "line"},
    "view": {"failed", "line"},
    "upload_image": {"failed", "line"},
}
FAULTS: dict[str, Said] = {
    "204": (204, {}, b""),
    "a redirect": (307, {"location": "http://169.254.169.254/"}, b""),
    "401": (401, {}, f'{{"error": "no access for {KEY}"}}'.encode()),
    "404": (404, {}, b""),
    "409": (409, {}, b""),
    "418": (418, {}, b"\x1b[2J" * 100),
    "529": (529, {}, b"<html>"),
    "a page": (200, {"content-type": "text/html"}, b"<html>Log in</html>"),
    "nothing": (200, {}, b""),
    "nested JSON": (200, {}, b'{"a":' * 100_000),
    "a number of 5000 digits": (200, {}, b'{"system": %s}' % (b"9" * 5000)),
    "another charset": (200, {}, '{"a": 1}'.encode("utf-16")),
    "a body that is cut off": (200, {"content-length": "100"}, b'{"a'),
    "a body larger than JSON may be": (200, {}, b" " * 50_000_001),
}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_an_endpoint_is_a_failed_image_or_a_line(
    name: str, endpoint: str
) -> None:
    status, text = asked(**{endpoint: lambda *_: FAULTS[name]})
    assert status in ENDPOINTS[endpoint]
    check(text)


def test_hundreds_of_large_jobs_of_others_are_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A queue has the whole graph of each, with what the page of ComfyUI stores beside it.

    No key is looked for in them, which took 12 seconds at each look at the queue.
    """
    hide_all = ApiKey.hide_all
    searched: list[str] = []

    def noted(key: ApiKey, value: Any) -> Any:
        searched.append(json.dumps(value))
        return hide_all(key, value)

    monkeypatch.setattr(ApiKey, "hide_all", noted)
    theirs = [[n, f"theirs {n}", {"1": "x" * 60_000}, {}, []] for n in range(300)]
    said = json_reply({"queue_running": [], "queue_pending": theirs})
    assert asked(queue=lambda *_: said)[0] == "ok"
    assert searched and max(map(len, searched)) < 60_000


def test_a_queue_that_is_too_large_ends_the_run_and_fails_no_image() -> None:
    said = FAULTS["a body larger than JSON may be"]
    status, text = asked(queue=lambda *_: said)
    assert status == "line"
    assert "The queue of ComfyUI" in text and "larger than" in text


@pytest.mark.parametrize("name", FAULTS)
def test_a_missing_node_is_named_though_the_list_of_all_is_not_read(name: str) -> None:
    def missing(posted: dict[str, Any], right: Said) -> Said:
        path = posted["path"].rstrip("/")
        if path.endswith("KSampler"):
            return json_reply({})
        return FAULTS[name] if path.endswith("object_info") else right

    status, text = asked(object_info=missing)
    assert status == "line" and "does not have" in text and "KSampler" in text
    check(text)


@pytest.mark.parametrize("name", ["a redirect", "404", "529"])
def test_a_server_that_forgets_no_job_costs_no_image(name: str) -> None:
    status, text = asked(notice=lambda *_: FAULTS[name])
    assert status == "ok"
    check(text)


class Socket(socketserver.StreamRequestHandler):
    """Reads one request, and sends what its server has to say."""

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            lines = [self.rfile.readline()]
            while lines[-1].strip():
                lines.append(self.rfile.readline())
            server: Any = self.server
            server.heard.append(b"".join(lines).decode())
            self.wfile.write(server.says)


@contextmanager
def saying(says: bytes) -> Iterator[tuple[str, list[str]]]:
    """The address of a server that says the same to everybody, and what it heard."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Socket) as server:
        server.says, server.heard = says, []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", server.heard
        finally:
            server.shutdown()
            thread.join()


def test_a_websocket_that_is_redirected_gives_nobody_the_key() -> None:
    with saying(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n") as (thief, stolen):
        moved = f"HTTP/1.1 307 Moved\r\nLocation: {thief}/ws\r\n"
        moved = moved.replace("http:", "ws:") + "Content-Length: 0\r\n\r\n"
        with saying(moved.encode()) as (url, heard):
            args = ComfyArguments(base_url=url, retries=1, timeout=5)
            waiting = jobs.Jobs(ComfyServer(args), "client", 5)
            submit(waiting._hear()).result(30)
    assert len(heard) == 1 and KEY in heard[0]
    assert stolen == []


VALUES = {
    "null": None,
    "a list": [],
    "a list of lists": [[1, None]],
    "a mapping": {"a": {"b": [1]}},
    "a number": 7,
    "a negative number": -1,
    "true": True,
    "NaN": float("nan"),
    "a text": "x",
    "escapes": "\x1b[2J\u202e\nX",
    "half a surrogate pair": "\ud800",
    "a long text": "é" * LONG,
    "the key": KEY,
}
ERROR = {
    "node_id": "3",
    "node_type": "KSampler",
    "exception_message": "Out of memory",
    "exception_type": "E",
}
FAILED = {
    "outputs": {},
    "status": {"status_str": "error", "messages": [["execution_error", ERROR]]},
}
REJECTED = {"errors": [{"message": "wrong", "details": "it is"}], "class_type": "K"}
RIGHT: dict[str, tuple[str, Any]] = {
    "system_stats": ("system_stats", SYSTEM),
    "object_info": ("object_info", about("KSampler")["KSampler"]),
    "view_metadata": ("view_metadata", HASH),
    "queue": ("queue", {"queue_running": [[0, "a"]], "queue_pending": [[1, "b"]]}),
    "prompt": ("prompt", {"node_errors": {"3": REJECTED}}),
    "history": ("history", entry(0)),
    "history of an error": ("history", FAILED),
}


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for name, inner in items:
        yield from places(inner, (*place, name))


def put(value: Any, place: tuple[Any, ...], other: Any) -> Any:
    """A right answer with another value at a place."""
    if not place:
        return other
    changed = inner = copy.deepcopy(value)
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = other
    return changed


def wrong(answer: str, place: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The change of a server that has another value at a place of an answer."""
    endpoint, right = RIGHT[answer]
    said = json.dumps(put(right, place, value)).encode()

    def change(body: dict[str, Any], usual: Said) -> Said:
        if endpoint in {"object_info", "history"}:
            # Under the name that was asked for; a job that was not posted has no history.
            name = body["path"].rpartition("/")[2].encode()
            is_empty = usual[2] == b"{}"
            return usual if is_empty else (200, {}, b'{"%s": %s}' % (name, said))
        return 200, {}, said

    return {endpoint: change}


TELLING = [
    ("system_stats", ("system", "comfyui_version"), "escapes"),
    ("system_stats", ("system", "pytorch_version"), "half a surrogate pair"),
    ("system_stats", ("system", "argv"), "a number"),
    ("system_stats", ("devices", 0, "name"), "a long text"),
    ("object_info", (), "a text"),
    ("object_info", ("input",), "a list of lists"),
    ("object_info", ("input", "required"), "a number"),
    ("view_metadata", ("modelspec.hash_sha256",), "the key"),
    ("view_metadata", ("modelspec.hash_sha256",), "half a surrogate pair"),
    ("prompt", ("node_errors", "3", "errors", 0, "message"), "the key"),
    ("prompt", ("node_errors", "3"), "escapes"),
    (
        "history of an error",
        ("status", "messages", 0, 1, "node_type"),
        "escapes",
    ),
    ("history of an error", ("status", "messages", 0, 1, "node_id"), "a long text"),
]


@pytest.mark.parametrize(("answer", "place", "value"), TELLING)
def test_a_wrong_value_is_a_value_or_a_line(
    answer: str, place: tuple[Any, ...], value: str
) -> None:
    check(asked(**wrong(answer, place, VALUES[value]))[1])


@pytest.mark.nightly
@pytest.mark.parametrize("answer", RIGHT)
def test_any_wrong_value_anywhere_is_a_value_or_a_line(answer: str) -> None:
    for place in places(RIGHT[answer][1]):
        for value in VALUES.values():
            check(asked(**wrong(answer, place, value))[1])
