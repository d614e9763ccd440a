"""A ComfyUI server whose replies can be changed: the right answer of each endpoint as data."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image

from t2ibench.store.images import ImageFile
from tests.models.chat import Said, json_reply, speaking

# From what was asked, and the right answer to it, to what is sent.
Change = Callable[[dict[str, Any], Said], Said]
HASH = {"modelspec.hash_sha256": "0x" + "ab" * 32}
SYSTEM = {
    "system": {
        "comfyui_version": "0.38.1",
        "pytorch_version": "2.11.0",
        "argv": ["main.py", "--force-fp16"],
    },
    "devices": [{"name": "cuda:0 NVIDIA H100 : native", "type": "cuda"}],
}


def picture() -> bytes:
    """The image of every job."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (100, 20, 30)).save(buffer, format="PNG")
    return buffer.getvalue()


def source_image() -> ImageFile:
    """An image to edit."""
    data = picture()
    return ImageFile("source.png", hashlib.sha256(data).hexdigest(), content=data)


def about(kind: str) -> dict[str, Any]:
    """What the server says of a class of nodes."""
    seed = ["INT", {"default": 0, "min": 0, "max": 2**64 - 1}]
    inputs: dict[str, Any] = {"seed": seed} if kind == "KSampler" else {}
    return {
        kind: {
            "input": {"required": inputs},
            "output_node": False,
            "api_node": False,
        }
    }


def entry(number: int, nodes: Iterable[int | str] = range(8, 13)) -> dict[str, Any]:
    """What the history says of a job that made an image, with the nodes that have results."""
    file = {"filename": f"{number}.png", "subfolder": "t2ibench", "type": "output"}
    return {
        "outputs": {str(node): {"images": [file]} for node in nodes},
        "status": {"status_str": "success", "completed": True, "messages": []},
    }


class Replies:
    """The right answers of a server that makes each image at once.

    Attributes:
        jobs: The ids of the jobs that were posted, in order.
        files: The names of files that were asked for.
    """

    def __init__(self, changes: dict[str, Change]) -> None:
        self.jobs: list[str] = []
        self.files: list[str] = []
        self._nodes: list[list[str]] = []
        self._changes = changes

    def __call__(self, body: dict[str, Any], _: dict[str, str]) -> Said:
        """The answer to a request, or what is sent in its place."""
        path = str(body.get("path") or "")
        endpoint = self.endpoint(body, path)
        right = self.right(endpoint, path, body)
        change = self._changes.get(endpoint)
        return right if change is None else change(body, right)

    def endpoint(self, body: dict[str, Any], path: str) -> str:
        """The name of what is asked."""
        if "prompt" in body:
            return "/prompt"
        if "image" in body:
            return "/upload/image"
        if "delete" in body or "prompt_id" in body:
            return "/notice"  # to /queue, /history or /interrupt
        return "/" + path.split("/")[1].partition("?")[0]

    def right(self, endpoint: str, path: str, body: dict[str, Any]) -> Said:
        """The right answer."""
        last = path.rpartition("/")[2]
        if endpoint == "/prompt":
            self.jobs.append(body["prompt_id"])
            self._nodes.append(list(body["prompt"]))
            number = len(self.jobs)
            said = {"prompt_id": self.jobs[-1], "number": number, "node_errors": {}}
            return json_reply(said)
        if endpoint == "/upload/image":
            return json_reply({"name": body["image"][0], "subfolder": "t2ibench"})
        if endpoint == "/queue":
            return json_reply({"queue_running": [], "queue_pending": []})
        if endpoint == "/history":
            if last not in self.jobs:
                return json_reply({})
            number = self.jobs.index(last)
            return json_reply({last: entry(number, self._nodes[number])})
        if endpoint == "/view":
            self.files.append(path)
            return 200, {"content-type": "image/png"}, picture()
        if endpoint == "/view_metadata":
            return json_reply(HASH)
        if endpoint == "/object_info":
            return json_reply(about(last))
        if endpoint == "/system_stats":
            return json_reply(SYSTEM)
        return 200, {}, b""


@contextmanager
def replying(**changes: Change) -> Iterator[tuple[str, Replies]]:
    """The address of such a server; `changes` name endpoints without their slash."""
    named = {
        f"/{name}".replace("upload_image", "upload/image"): change
        for name, change in changes.items()
    }
    replies = Replies(named)
    with speaking(replies) as (url, _):
        yield url.removesuffix("/v1"), replies
