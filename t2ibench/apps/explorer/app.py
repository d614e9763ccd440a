"""The explorer's local web server, which serves its page and data and contacts no other site."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from mimetypes import add_type, guess_type
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from t2ibench.apps.explorer import questions
from t2ibench.apps.explorer.answers import Answers
from t2ibench.apps.explorer.guard import Guard
from t2ibench.apps.explorer.source import Collection, Picture
from t2ibench.apps.explorer.tree import Export, Session, State
from t2ibench.errors import T2IBenchError
from t2ibench.store.files import set_aside, write_text
from t2ibench.store.pixels import UnreadableImageError, thumbnail

_STATIC = Path(__file__).parent / "static"
# tokens and fonts, as in a report
_SHARED = Path(str(files("t2ibench.reports") / "static"))
_THUMB = 128
_CACHED = {"cache-control": "private, max-age=86400, immutable"}
_TYPES = {str: "text/plain", bytes: "application/octet-stream"}
AskT = TypeVar("AskT", bound=BaseModel)
add_type("image/webp", ".webp")  # which Python 3.12 does not know by itself
add_type("image/avif", ".avif")


class Explorer:
    """The explorer's URL routes for one collection, its initial state, and its session file."""

    def __init__(self, collection: Collection, start: State, session: Path) -> None:
        self._collection = collection
        self._answers = Answers(collection, [anchor.prompt for anchor in start.anchors])
        self._start = start
        self._session = session
        self._saving = threading.Lock()
        self._thumbnail = lru_cache(maxsize=20_000)(_thumbnail)

    def routes(self) -> list[Route | Mount]:
        """Return every URL route of the explorer's server."""
        return [
            Route("/", _index),
            *self._reading(),
            *self._asking(),
            self._pixels("/image", _original),
            self._pixels("/thumb", self._small),
            Mount("/static/shared", StaticFiles(directory=_SHARED)),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ]

    def _reading(self) -> list[Route]:
        """Return the GET routes, which read images, scores and the saved session."""
        answers = self._answers
        scores = self._answers.scores

        def of_images(request: Request) -> dict[str, Any] | None:
            task, row = _named(request, "task", "row")
            return scores.of_images(_run_of(request), task, row)

        def of_words(request: Request) -> dict[str, Any]:
            (words,) = _named(request, "words")
            return scores.of_words(_run_of(request), words)

        routes = [
            _get("/api/images", lambda request: answers.images()),
            _get("/api/map", lambda request: answers.map(_run_of(request))),
            _get(
                "/api/image/{number:int}",
                lambda request: answers.image(_number_of(request)),
            ),
        ]
        routes += [
            _get("/api/scores", lambda request: scores.all(_run_of(request))),
            _get("/api/scores/{task}", of_images),
            _get("/api/tested", of_words),
        ]
        return [*routes, _get("/api/session", self._load)]

    def _asking(self) -> list[Route]:
        """Return the POST routes, each with the model class that validates its request body."""
        answers = self._answers
        return [
            _post("/api/evaluate", questions.EvaluateAsk, answers.evaluate),
            _post("/api/similarities", questions.SimilaritiesAsk, answers.similarities),
            _post("/api/text", questions.CombineAsk, answers.text),
            _post("/api/export", Export, answers.export),
            _post("/api/discover", questions.DiscoverAsk, answers.discover),
            _post("/api/pairs", questions.PairsAsk, answers.pairs),
            _post("/api/card", questions.CardAsk, answers.card),
            _post("/api/session", Session, self._save),
        ]

    def _small(self, picture: Picture) -> tuple[bytes, str]:
        """Return a thumbnail's bytes, and the file name ending that gives its media type."""
        return self._thumbnail(picture), ".jpg"

    def _load(self, request: Request) -> dict[str, Any]:
        """Return the saved session; if there is none or it is damaged, a new one."""
        if self._session.is_file():
            try:
                saved = Session.model_validate_json(
                    self._session.read_text(encoding="utf-8")
                )
                return {"saved": True, **saved.model_dump()}
            except (OSError, ValueError):
                # A save must not replace what the damaged file may still contain.
                with contextlib.suppress(OSError):
                    set_aside(self._session)
        return {"saved": False, **Session(state=self._start).model_dump()}

    def _save(self, session: Session) -> dict[str, Any]:
        """Save the session, and return the path of its file for the page."""
        with self._saving:
            write_text(self._session, session.model_dump_json(indent=1) + "\n")
        return {"file": str(self._session)}

    def _pixels(self, path: str, read: Callable[[Picture], tuple[bytes, str]]) -> Route:
        """Return a GET route that answers an image's number with the bytes that `read` gives."""

        def endpoint(request: Request) -> Response:
            number = _number_of(request)
            pictures = self._collection.gallery.pictures
            if number >= len(pictures):
                return _not_found("There is no such image.")
            try:
                data, name = read(pictures[number])
            except UnreadableImageError as error:
                return _not_found(str(error))
            return Response(data, media_type=guess_type(f"x{name}")[0], headers=_CACHED)

        return Route(f"{path}/{{number:int}}", endpoint)


def _index(request: Request) -> Response:
    return FileResponse(_STATIC / "index.html", media_type="text/html")


def _original(picture: Picture) -> tuple[bytes, str]:
    """Return the bytes of an image as generated, and the file name that gives its media type."""
    return picture.data(), picture.path.name


def _thumbnail(picture: Picture) -> bytes:
    return thumbnail(picture.data(), _THUMB)


def _not_found(reason: str) -> Response:
    return JSONResponse({"error": reason}, status_code=404)


def _number_of(request: Request) -> int:
    return int(request.path_params["number"])


def _named(request: Request, *names: str) -> list[str]:
    """Return the values of the URL parameters with these names; "" for each that is not given."""
    return [
        {**request.query_params, **request.path_params}.get(name, "") for name in names
    ]


def _run_of(request: Request) -> int:
    text = request.query_params.get("run", "0")
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise T2IBenchError("The address needs a whole number as its 'run'.")
    return int(text)


def _get(path: str, answer: Callable[[Request], dict[str, Any] | None]) -> Route:
    """Return a GET route that sends the result of `answer` as JSON; None becomes "not found"."""

    def endpoint(request: Request) -> Response:
        content = answer(request)
        if content is None:
            return _not_found("This run has no such part.")
        return JSONResponse(content)

    return Route(path, endpoint)


def _post(
    path: str, model: type[AskT], answer: Callable[[AskT], dict[str, Any] | str | bytes]
) -> Route:
    """Return a POST route that validates the request body and sends the result of `answer`."""

    async def endpoint(request: Request) -> Response:
        body = await request.body()

        def whole() -> Response:
            content = answer(model.model_validate_json(body))
            if isinstance(content, dict):
                return JSONResponse(content)
            return Response(content, media_type=_TYPES[type(content)])

        return await run_in_threadpool(whole)

    return Route(path, endpoint, methods=["POST"])


def create_app(explorer: Explorer, port: int) -> Starlette:
    """Return the web app, which accepts only requests for localhost or 127.0.0.1 at this port."""
    hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
    return Starlette(
        routes=explorer.routes(), middleware=[Middleware(Guard, hosts=hosts)]
    )
