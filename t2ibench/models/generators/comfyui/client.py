"""Speak to a ComfyUI server: post a graph, look at the queue and the history, fetch an image."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from t2ibench.models.api_key import ApiKey
from t2ibench.models.generators.comfyui.arguments import ComfyArguments
from t2ibench.models.generators.comfyui.workflow import Graph
from t2ibench.models.generators.sources import SourceFile
from t2ibench.models.http_server import Form, HttpServer
from t2ibench.models.server_errors import (
    BadReplyError,
    Reply,
    UnusableServerError,
    one_line,
)

ADDRESS = "http://127.0.0.1:8188"
# Where source images are put, in ComfyUI's folder of inputs.
_SOURCES = "t2ibench"
_SECONDS = 60  # of one request, none of which waits for an image
_WORDS = 300  # characters of a server's message that are shown
# Bytes of a reply that is no image; Python's objects take some fifty times as many bytes as JSON. A
# queue has the graphs of all jobs, also of other people's hundreds on a shared server.
_LARGEST_JSON = 16_000_000
_LARGEST_QUEUE = 50_000_000


@dataclass(frozen=True, slots=True)
class Queue:
    """The jobs of a server, by id.

    Attributes:
        running: Those that it works on.
        pending: Those that wait, in no certain order.
        before: The number of jobs that come before each of those that wait.
    """

    running: frozenset[str]
    pending: frozenset[str]
    before: Mapping[str, int]


class RejectedGraphError(UnusableServerError):
    """Raised if a server does not accept a graph, so that no image of it can be made."""


class ComfyServer(HttpServer):
    """A ComfyUI server, asked over HTTP."""

    def __init__(self, args: ComfyArguments) -> None:
        key = ApiKey(args.api_key_env or "COMFYUI_API_KEY", header="X-API-Key")
        quick = args.model_copy(update={"timeout": _SECONDS})
        super().__init__(args.base_url or ADDRESS, key, quick)

    async def get_json(
        self, path: str, *, largest: int = _LARGEST_JSON, is_shown: bool = True
    ) -> Any:
        """Return the JSON that the server replies to a GET request; raise an error for an error.

        Args:
            path: What is asked for.
            largest: The number of bytes beyond which the reply is an error.
            is_shown: Whether a text in the reply may be shown or stored, so that the key has to be
                hidden in it. Looking for the key takes a second for every megabyte or two.
        """
        body = await self.send("GET", path, largest=largest)
        if isinstance(body, Reply):
            raise self._unusable(body, path)
        try:
            return self._parsed(body) if is_shown else json.loads(body)
        except (ValueError, RecursionError):
            text = self.key.hide(body[:200].decode("utf-8", errors="replace"))
            beginning = one_line(text, 60)
            raise UnusableServerError(
                f"The server {self.where} is no ComfyUI: {path} is not JSON (it begins with: "
                f"{beginning}).",
                "Check base_url=… in --model-args, which has no path as a rule.",
            ) from None

    def _parsed(self, body: bytes) -> Any:
        """Return the JSON in a reply, without the key wherever the server says it."""
        return self.key.hide_all(json.loads(body))

    async def queue(self) -> Queue:
        """Return the jobs that run and wait.

        Raises:
            UnusableServerError: it cannot be read, such as one that is too large; this is no fault
                of the image that is waited for.
        """
        try:
            # Of the jobs, which hold their whole graphs, only ids and numbers are used.
            data = await self.get_json("/queue", largest=_LARGEST_QUEUE, is_shown=False)
        except BadReplyError as error:
            raise UnusableServerError(
                f"The queue of ComfyUI at {self.where} cannot be read: {error}.",
                "If many jobs wait there, wait until it is shorter; the same command goes on.",
            ) from None
        entries = [
            _jobs_in(data.get(name) if isinstance(data, Mapping) else None)
            for name in ("queue_running", "queue_pending")
        ]
        running, pending = entries
        order = [job for _, job in sorted(pending)]
        return Queue(
            running=frozenset(job for _, job in running),
            pending=frozenset(order),
            before={job: len(running) + place for place, job in enumerate(order)},
        )

    async def history(self, job: str) -> Mapping[str, Any] | None:
        """Return what became of a job; None while it waits or runs, and if it is not known."""
        data = await self.get_json(f"/history/{quote(job, safe='')}")
        entry = data.get(job) if isinstance(data, Mapping) else None
        return entry if isinstance(entry, Mapping) else None

    async def post(self, graph: Graph, job: str, client: str) -> None:
        """Put a graph into the queue under an id, once, even if a reply is lost on the way.

        Raises:
            RejectedGraphError: the server does not accept the graph.
        """
        body = {"prompt": graph, "client_id": client, "prompt_id": job}
        attempts = 0

        async def send() -> bytes:
            nonlocal attempts
            attempts += 1
            if attempts > 1 and await self._has(job):
                return b"{}"
            return await self.request(
                "POST", "/prompt", body=body, largest=_LARGEST_JSON
            )

        answer = await self.ask(send)
        if isinstance(answer, Reply):
            raise self._rejected(answer)
        try:
            errors = self._parsed(answer).get("node_errors")
        except (ValueError, AttributeError, RecursionError):
            raise BadReplyError("the reply to /prompt is not JSON") from None
        # Of a graph with several results the server runs those that are right.
        if errors:
            await self.cancel([job])
            raise RejectedGraphError(
                f"ComfyUI at {self.where} leaves the image out: {_words_of(errors)}.",
                "Mend the workflow in ComfyUI, and export it again.",
            )

    async def upload(self, source: SourceFile, sha256: str) -> str:
        """Put a source image into the server's folder of inputs, and return its name there.

        A file of this name that is equal is used as it is. One that differs stays, and the server
        gives the upload another name.
        """
        suffix = source.name.partition(".")[2]
        form = Form(
            fields={"type": "input", "subfolder": _SOURCES},
            files={"image": (f"{sha256}.{suffix}", source.data, source.media_type)},
        )
        answer = await self.send(
            "POST", "/upload/image", form=form, largest=_LARGEST_JSON
        )
        if isinstance(answer, Reply):
            answer.check_access(self.where)
            raise BadReplyError(
                f"ComfyUI took no source image: it replied {answer.words()} to /upload/image"
            )
        try:
            stored = self._parsed(answer)
            name = str(stored["name"])
            folder = str(stored.get("subfolder") or "")
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            raise BadReplyError("the reply to /upload/image names no file") from None
        return f"{folder}/{name}" if folder else name

    async def _has(self, job: str) -> bool:
        """Return whether an earlier attempt at posting a job arrived; it asks once."""
        places = {
            "/queue": _LARGEST_QUEUE,
            f"/history/{quote(job, safe='')}": _LARGEST_JSON,
        }
        for path, largest in places.items():
            answer = await self.request("GET", path, largest=largest)
            if job in answer.decode("utf-8", errors="replace"):
                return True
        return False

    async def image(self, file: Mapping[str, Any]) -> bytes | None:
        """Return the bytes of an image file that a node's output names; None if it is gone."""
        names = ("filename", "subfolder", "type")
        query = {name: str(file[name]) for name in names if file.get(name)}
        answer = await self.send("GET", "/view", query=query)
        if not isinstance(answer, Reply):
            return answer
        if answer.status == 404:
            return None
        answer.check_access(self.where)
        raise BadReplyError(f"the server replied {answer.words()} to /view")

    async def metadata(self, folder: str, file: str) -> Mapping[str, Any]:
        """Return the header of a model's file; empty if the server does not show it."""
        path = f"/view_metadata/{folder}"
        query = {"filename": file}
        answer = await self.send("GET", path, query=query, largest=_LARGEST_JSON)
        try:
            header = {} if isinstance(answer, Reply) else self._parsed(answer)
        except (ValueError, RecursionError):
            header = {}
        return header if isinstance(header, Mapping) else {}

    async def cancel(self, jobs: Collection[str]) -> None:
        """Take these jobs out of the queue, and stop those of them that run; no other one."""
        if not jobs:
            return
        await self.send("POST", "/queue", body={"delete": sorted(jobs)})
        # Servers of 2025 ignore the id and stop whatever runs, so it has to be one of these.
        for job in sorted((await self.queue()).running & frozenset(jobs)):
            await self.send("POST", "/interrupt", body={"prompt_id": job})

    async def forget(self, jobs: Collection[str]) -> None:
        """Take finished jobs out of the server's history; their files stay."""
        if jobs:
            await self.send("POST", "/history", body={"delete": sorted(jobs)})

    def _unusable(self, reply: Reply, path: str) -> UnusableServerError:
        """Return the error for a server that does not reply as ComfyUI does."""
        if reply.status == 404:
            return UnusableServerError(
                f"The server {self.where} is no ComfyUI: it has no {path}.",
                "Check base_url=… in --model-args, which has no path as a rule.",
            )
        reply.check_access(self.where)
        return UnusableServerError(
            f"The server {self.where} replied {reply.words()} to {path}."
        )

    def _rejected(self, reply: Reply) -> UnusableServerError:
        """Return the error for a graph that the server does not accept."""
        try:
            body = reply.json()
        except BadReplyError:
            body = {}
        error = body.get("error") if isinstance(body, Mapping) else None
        if reply.status != 400 or not isinstance(error, Mapping):
            return self._unusable(reply, "/prompt")
        errors = body.get("node_errors")
        words = _words_of(errors) if errors else _words_of_error(error)
        return RejectedGraphError(
            f"ComfyUI at {self.where} does not run the workflow: {words}.",
            "Mend the workflow in ComfyUI, and export it again.",
        )


def _jobs_in(entries: Any) -> list[tuple[float, str]]:
    """Return the number and the id of each job in a list of the queue."""
    if not isinstance(entries, list):
        return []
    return [
        (float(entry[0]), str(entry[1]))
        for entry in entries
        if isinstance(entry, list) and len(entry) >= 2 and _is_number(entry[0])
    ]


def _is_number(value: Any) -> bool:
    """Return whether a value of JSON is a number that has an order: no NaN, and no infinity."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e300


def _words_of(node_errors: Any) -> str:
    """Return what is wrong with the nodes of a graph, in one line."""
    lines = []
    problems = node_errors if isinstance(node_errors, Mapping) else {}
    for node, problem in problems.items():
        errors = problem.get("errors") if isinstance(problem, Mapping) else problem
        kind = problem.get("class_type", "") if isinstance(problem, Mapping) else ""
        for error in errors if isinstance(errors, list) else [errors]:
            lines.append(f"node {node} ({kind}): {_words_of_error(error)}")
    return one_line("; ".join(lines), _WORDS) or "it does not say why"


def _words_of_error(error: Any) -> str:
    if isinstance(error, str):
        return one_line(error, _WORDS)
    if not isinstance(error, Mapping):
        return "it does not say why"
    parts = [str(error.get(name) or "").strip() for name in ("message", "details")]
    return one_line(": ".join(part for part in parts if part), _WORDS).rstrip(".")
