"""The server: one page, its data, and nothing from any other site."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from mimetypes import add_type, guess_type
from pathlib import Path

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from t2ibench.apps.explorer.answers import Answers
from t2ibench.apps.explorer.gallery import WrongQuestionError
from t2ibench.apps.explorer.generation import GenerationQueue
from t2ibench.apps.explorer.guard import Guard
from t2ibench.apps.explorer.queries import Question, score_texts, similarities
from t2ibench.apps.explorer.reference import Reference
from t2ibench.apps.explorer.source import Collection, Picture
from t2ibench.apps.explorer.tree import Export, Session, State, task_from_export
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.prompting_tree import Tree
from t2ibench.store.files import set_aside, write_text
from t2ibench.store.pixels import UnreadableImageError, thumbnail
from t2ibench.tasks.explain import explain

_STATIC = Path(__file__).parent / "static"
_SHARED = Path(str(files("t2ibench.reports") / "static"))  # tokens and fonts, as in a report
_THUMB = 128
_LINE = 400  # characters of an error
_JOBS = 100  # that may wait
_PAGES = 1000  # whose last save is remembered


class _Ask(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Evaluate(_Ask):
    tree: Tree
    anchors: list[str] = Field(min_length=1, max_length=12)
    names: list[str] = Field(default_factory=list, max_length=12)


class _Similarities(_Ask):
    texts: list[str] = Field(min_length=1, max_length=12)


class _Combine(_Ask):
    tree: Tree
    nodes: list[str] = Field(min_length=1, max_length=50)


class _Draw(_Ask):
    source: int = Field(ge=0)
    text: str = Field(min_length=1, max_length=2000)
    count: int = Field(ge=1, le=64)


class Explorer:
    """The routes of one exploration.

    Args:
        collection: The images.
        start: What the page shows first.
        session: Where the session is kept.
        device: Where the generator runs.
    """

    def __init__(
        self, collection: Collection, start: State, session: Path, device: str | None = None
    ) -> None:
        self.collection = collection
        self.queue = GenerationQueue(collection, device)
        self._reference = Reference(collection)
        # Embedded now, so that the first question does not wait for it.
        first = [anchor.prompt for anchor in start.anchors]
        collection.texts(self._reference.texts(first))
        self._answers = Answers(collection, self._reference, first)
        self._start = start
        self._session = session
        self._turns: dict[str, int] = {}
        self._saving = threading.Lock()
        self._thumbnail = lru_cache(maxsize=20_000)(_thumbnail)

    def routes(self) -> list[Route | Mount]:
        """Every address."""
        return [
            Route("/", self.page),
            Route("/api/images", self.images),
            Route("/api/evaluate", self.evaluate, methods=["POST"]),
            Route("/api/similarities", self.similarities, methods=["POST"]),
            Route("/api/text", self.text, methods=["POST"]),
            Route("/api/session", self.session),
            Route("/api/session", self.save, methods=["POST", "PUT"]),
            Route("/api/export", self.export, methods=["POST"]),
            Route("/api/draw", self.generate, methods=["POST"]),
            Route("/api/jobs", self.jobs),
            *self._answers.routes(),
            Route("/image/{number:int}", self.image),
            Route("/thumb/{number:int}", self.thumb),
            Mount("/static/shared", StaticFiles(directory=_SHARED)),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ]

    def page(self, request: Request) -> Response:
        """The page."""
        return FileResponse(_STATIC / "index.html", media_type="text/html")

    def images(self, request: Request) -> Response:
        """Prompts, and for every image its prompt, index and source."""
        pictures = self.collection.pictures
        prompts = {
            text: index for index, text in enumerate(dict.fromkeys(p.prompt for p in pictures))
        }
        return JSONResponse(
            {
                "sources": [
                    {"name": source.name, "draws": self.queue.can_generate(number)}
                    for number, source in enumerate(self.collection.sources)
                ],
                "encoder": self.collection.encoder.name,
                "prompts": list(prompts),
                "images": [[prompts[p.prompt], p.index, p.source] for p in pictures],
            }
        )

    async def evaluate(self, request: Request) -> Response:
        """Text and scores of every node of a tree.

        Args:
            request: Its body is a tree and its anchors, as JSON.

        Returns:
            JSON: id, text and scores of each node; None for a node without text.
        """
        body = await request.body()
        return await run_in_threadpool(self._evaluated, body)

    def _evaluated(self, body: bytes) -> Response:
        asked = _Evaluate.model_validate_json(body)
        nodes = [(node.id, asked.tree.text([node.id])) for node in asked.tree.nodes]
        known = [(name, text) for name, text in nodes if text]
        names = asked.names if len(asked.names) == len(asked.anchors) else asked.anchors
        question = Question(
            [text for _, text in known],
            asked.anchors,
            self._reference.texts(asked.anchors),
            [text for _, text in asked.tree.concepts(asked.anchors)],
            names,
        )
        scores = score_texts(self.collection, question)
        by_node = {name: rows for (name, _), rows in zip(known, scores, strict=True)}
        scored = [{"id": n, "text": t, "scores": by_node.get(n)} for n, t in nodes]
        return JSONResponse({"nodes": scored})

    async def similarities(self, request: Request) -> Response:
        """Similarities of texts with all images: float32, one text after the other."""
        body = await request.body()
        return await run_in_threadpool(self._compared, body)

    def _compared(self, body: bytes) -> Response:
        asked = _Similarities.model_validate_json(body)
        rows = similarities(self.collection, asked.texts).astype("<f4")
        return Response(
            np.ascontiguousarray(rows).tobytes(),
            media_type="application/octet-stream",
            headers={"x-images": str(rows.shape[1])},
        )

    async def text(self, request: Request) -> Response:
        """The text of several branches together."""
        asked = _Combine.model_validate_json(await request.body())
        try:
            return JSONResponse({"text": asked.tree.text(asked.nodes)})
        except KeyError:
            return JSONResponse({"error": "unknown node"}, status_code=400)

    def session(self, request: Request) -> Response:
        """The saved session, or a new one."""
        if self._session.is_file():
            try:
                saved = Session.model_validate_json(self._session.read_text(encoding="utf-8"))
                return JSONResponse({"saved": True, **saved.model_dump()})
            except (OSError, ValueError):
                with contextlib.suppress(OSError):  # saving must not replace what it may still hold
                    set_aside(self._session)
        return JSONResponse({"saved": False, **Session(state=self._start).model_dump()})

    async def save(self, request: Request) -> Response:
        """Keep the session.

        A page that saves as one works may have several requests under way. It numbers them with
        ?turn= and names itself with ?page=: one that arrives after a later one is ignored.
        """
        body, asked = await request.body(), request.query_params
        page, turn = asked.get("page", "")[:64], asked.get("turn", "")
        if turn and not (turn.isascii() and turn.isdigit() and len(turn) < 16):
            return JSONResponse({"error": "turn: a number is expected"}, status_code=400)
        return await run_in_threadpool(self._kept, body, page, int(turn) if turn else None)

    def _kept(self, body: bytes, page: str, turn: int | None) -> Response:
        session = Session.model_validate_json(body)
        with self._saving:
            late = turn is not None and turn <= self._turns.get(page, -1)
            if not late:
                write_text(self._session, session.model_dump_json(indent=1) + "\n")
            if turn is not None and not late:
                if len(self._turns) >= _PAGES:
                    self._turns.clear()
                self._turns[page] = turn
        return JSONResponse({"file": str(self._session), "saved": not late})

    async def export(self, request: Request) -> Response:
        """The tree as a task file."""
        asked = Export.model_validate_json(await request.body())
        return await run_in_threadpool(self._export, asked)

    def _export(self, asked: Export) -> Response:
        try:
            anchors = [anchor.prompt for anchor in asked.anchors]
            task = task_from_export(asked, self._reference.of(anchors))
        except ValueError as error:
            return JSONResponse({"error": str(error)}, status_code=400)
        text = yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=100)
        return PlainTextResponse(text, media_type="application/yaml")

    async def generate(self, request: Request) -> Response:
        """Start an inverse query: generate further images of a text.

        Args:
            request: Its body is the source, the text and the number of images, as JSON.

        Returns:
            JSON: the job's id; status 400 where the source has no generator.
        """
        asked = _Draw.model_validate_json(await request.body())
        known = asked.source < len(self.collection.sources)
        if not known or not self.queue.can_generate(asked.source):
            return JSONResponse(
                {"error": "no model is available to generate images"}, status_code=400
            )
        if self.queue.waiting() >= _JOBS:
            return JSONResponse({"error": "too many jobs are waiting"}, status_code=400)
        job = self.queue.start(asked.source, asked.text, asked.count)
        return JSONResponse({"job": job.id})

    def jobs(self, request: Request) -> Response:
        """The jobs, and how many images there are now."""
        return JSONResponse({"jobs": self.queue.jobs(), "images": self.collection.version})

    def image(self, request: Request) -> Response:
        """One image in full size."""
        return self._pixels(request, lambda picture: (picture.data(), picture.path.name))

    def thumb(self, request: Request) -> Response:
        """One image as a thumbnail."""
        return self._pixels(request, lambda picture: (self._thumbnail(picture), ".jpg"))

    def _pixels(self, request: Request, read: Callable[[Picture], tuple[bytes, str]]) -> Response:
        """What is read of the image that a request names by number, with a name for its type."""
        number, pictures = int(request.path_params["number"]), self.collection.pictures
        if number >= len(pictures):
            return _not_found("no such image")
        try:
            data, name = read(pictures[number])
        except UnreadableImageError as error:
            return _not_found(str(error))
        return Response(data, media_type=guess_type(f"x{name}")[0], headers=_CACHED)


add_type("image/webp", ".webp")  # which Python 3.12 does not know by itself
add_type("image/avif", ".avif")
_CACHED = {"cache-control": "private, max-age=86400, immutable"}


def _not_found(why: str) -> Response:
    return JSONResponse({"error": why}, status_code=404)


def _thumbnail(picture: Picture) -> bytes:
    return thumbnail(picture.data(), _THUMB)


def _error_response(request: Request, error: Exception) -> Response:
    """A request that does not fit: one line, no traceback."""
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        text = explain(first, type(None)).removeprefix(": ")
        if first["loc"] == ("anchors",) and first["type"] == "too_short":
            text = "Choose two anchors first, such as two prompts of the run."
        return JSONResponse({"error": text[:_LINE]}, status_code=400)
    if isinstance(error, (WrongQuestionError, T2IBenchError)):
        return JSONResponse({"error": " ".join(str(error).split())[:_LINE]}, status_code=400)
    return JSONResponse({"error": "not JSON"}, status_code=400)


def create_app(explorer: Explorer, port: int) -> Starlette:
    """The app, answering to 127.0.0.1 and localhost at this port."""
    hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
    return Starlette(
        routes=explorer.routes(),
        middleware=[Middleware(Guard, hosts=hosts)],
        exception_handlers={
            ValidationError: _error_response,
            WrongQuestionError: _error_response,
            T2IBenchError: _error_response,
            json.JSONDecodeError: _error_response,
        },
    )
