"""A ComfyUI server as an attacker: whatever it replies, an image, a value or one line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators.comfyui.arguments import ComfyArguments
from t2ibench.models.generators.comfyui.client import ComfyServer
from t2ibench.models.generators.comfyui.generator import _files_of, _problem_of
from t2ibench.models.servers import submit
from tests.models.chat import Said, json_reply, speaking

JOB = "11111111-2222-3333-4444-555555555555"
DEEP = b"[" * 100_000
QUEUES: dict[str, Any] = {
    "words for numbers": {"queue_pending": [["first", JOB], [0, JOB]]},
    "text for a job": {"queue_running": ["ab", JOB]},
    "NaN": {"queue_pending": [[float("nan"), JOB], [1, "x"], [2, "y"]]},
    "a huge number": {"queue_pending": [[10**400, JOB]]},
    "true": {"queue_pending": [[True, JOB]]},
    "lists for ids": {"queue_running": [[0, [JOB]], [1, None], [2, {"a": 1}]]},
    "no lists": {"queue_running": {"0": JOB}, "queue_pending": 7},
    "a list": [1, 2],
    "a word": "queue",
    "nothing": None,
}


@pytest.mark.parametrize("name", QUEUES)
def test_any_queue_is_read(name: str) -> None:
    body = json.dumps(QUEUES[name]).encode()

    def speak(*_: Any) -> Said:
        return 200, {}, body

    with speaking(speak) as (url, _):
        queue = submit(ComfyServer(args(url)).queue()).result()
    order = sorted(queue.before.values())
    assert order == list(
        range(len(queue.running), len(queue.running) + len(queue.pending))
    )
    assert all(isinstance(job, str) for job in queue.running | queue.pending)


def args(url: str) -> ComfyArguments:
    return ComfyArguments(base_url=url.removesuffix("/v1"), retries=1, timeout=5)


REPLIES = [
    b"",
    DEEP,
    b'{"a":' * 50_000,
    b"\xff\xfe{}",
    b"null",
    b"7",
    b'"text"',
    b"[]",
    b'{"node_errors": ["a", 1, null]}',
    b'{"node_errors": "\\u001b[2Jtext"}',
    b'{"node_errors": {"3": {"errors": "none", "class_type": 7}}}',
    b'{"node_errors": {"3": 7, "\\u202e": {"errors": [1, null, {"message": [1]}]}}}',
    b"<html>Log in</html>",
]


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("body", REPLIES, ids=range(len(REPLIES)))
def test_any_reply_is_a_value_or_one_line(body: bytes, status: int) -> None:
    def speak(posted: dict[str, Any], _: Any) -> Said:
        if posted.get("path", "").startswith("/queue"):
            return json_reply({"queue_running": [], "queue_pending": []})
        return status, {}, body

    with speaking(speak) as (url, _):
        server = ComfyServer(args(url))
        for call in (
            server.history(JOB),
            server.post({}, JOB, "client"),
            server.image({"filename": "../../../etc/passwd", "subfolder": "../.."}),
            server.metadata("checkpoints", "../../secret"),
        ):
            try:
                submit(call).result()
            except T2IBenchError as error:
                said = str(error)
                assert "\n" not in said and "\x1b" not in said and "\u202e" not in said


def test_names_of_files_go_to_the_server_alone() -> None:
    """A name with dots or an address in it is asked for as it is, and names no file here."""
    paths: list[str] = []

    def speak(posted: dict[str, Any], _: Any) -> Said:
        paths.append(posted["path"])
        return 404, {}, b""

    hostile = [
        "../../../etc/passwd",
        "http://169.254.169.254/x",
        "a\r\nX: y",
        "%2e%2e/",
    ]
    with speaking(speak) as (url, _):
        server = ComfyServer(args(url))
        for name in hostile:
            file = {"filename": name, "subfolder": "../..", "type": "output"}
            assert submit(server.image(file)).result() is None
    assert len(paths) == len(hostile)
    assert all(path.startswith("/view?filename=") for path in paths)


@pytest.mark.parametrize(
    "entry",
    [
        {"outputs": {"9": {"images": [{"filename": ["a"]}, 7, None, "x"]}}},
        {"outputs": {"9": {"images": {"filename": "a"}}}},
        {"outputs": {"9": None}},
        {"outputs": []},
        {"status": {"status_str": "error", "messages": {"a": 1}}},
        {"status": {"status_str": "error", "messages": 7}},
        {"status": {"status_str": "error", "messages": [["execution_error", []]]}},
        {"status": {"status_str": "error", "messages": [[["x"], {}], None, "ab"]}},
        {"status": ["error"]},
    ],
)
def test_any_entry_of_a_history_is_read(entry: dict[str, Any]) -> None:
    problem = _problem_of(entry)
    assert problem is None or problem.image is not None or problem.reason
    assert len(_files_of(entry, "9")) <= 1
