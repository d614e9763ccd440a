"""The explorer's local web server, which serves its pages and data and contacts no other site."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from functools import lru_cache
from importlib.resources import files
from mimetypes import add_type, guess_type
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from t2ibench.apps.explorer import questions
from t2ibench.apps.explorer.album import Album, Picture
from t2ibench.apps.explorer.answers import Answers
from t2ibench.apps.explorer.preparation import Preparation
from t2ibench.apps.explorer.scores import Scores
from t2ibench.apps.explorer.tree import Export, Session
from t2ibench.apps.explorer.wall import Wall
from t2ibench.apps.explorer.wall_labels import mark_wrong
from t2ibench.errors import T2IBenchError
from t2ibench.local_server import AskT, Reply, local_app, post_route
from t2ibench.store.files import set_aside, write_text
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.pixels import thumbnail

_STATIC = Path(__file__).parent / "static"
# tokens and fonts, as in a report
_SHARED = Path(str(files("t2ibench.reports") / "static"))
_THUMB = 128
# Another run may be served at the same address later: a browser asks each time whether the image
# at a number is still the one that it has.
_REVALIDATED = "private, no-cache"
add_type("image/webp", ".webp")  # which Python 3.12 does not know by itself
add_type("image/avif", ".avif")


class Explorer:
    """The explorer's URL routes for an album of images, and its session file.

    The wall of all images and the run's tests need no encoder; what is about words is answered once
    the preparation has embedded the images.
    """

    def __init__(self, album: Album, preparation: Preparation, session: Path) -> None:
        self._album = album
        self._preparation = preparation
        self._session = session
        self._saving = threading.Lock()
        self._thumbnail = lru_cache(maxsize=20_000)(_thumbnail)
        self._wall = Wall(album)
        self._scores = Scores(album)

    def routes(self) -> list[Route | Mount]:
        """Return every URL route of the explorer's server."""
        return [
            Route("/", _page("wall.html")),
            Route("/words", _page("index.html")),
            *self._looking(),
            *self._reading(),
            *self._asking(),
            self._pixels("/image/{number:number}", _original, self._embedded_picture),
            self._pixels("/thumb/{number:number}", self._small, self._embedded_picture),
            self._pixels(
                "/wall/{run:number}/image/{number:number}", _original, self._picture
            ),
            self._pixels(
                "/wall/{run:number}/source/{number:number}",
                _original,
                self._source_picture,
            ),
            self._pixels(
                "/wall/{run:number}/thumb/{number:number}", self._small, self._picture
            ),
            Mount("/static/shared", StaticFiles(directory=_SHARED)),
            Mount("/static", StaticFiles(directory=_STATIC)),
        ]

    def _looking(self) -> list[Route]:
        """Return the routes of the wall and of the run's tests, which need no embeddings."""
        wall = self._wall
        scores = self._scores

        def test(request: Request) -> dict[str, Any] | None:
            task, row, group = _named(request, "task", "row", "group")
            return scores.of_test(_run_of(request), task, row, group)

        def rows(request: Request) -> dict[str, Any] | None:
            (task,) = _named(request, "task")
            return scores.rows(_run_of(request), task)

        return [
            _get("/api/state", lambda request: self._state()),
            _get("/api/wall", lambda request: wall.images(_run_of(request))),
            _get(
                "/api/wall/questions", lambda request: wall.questions(_run_of(request))
            ),
            _get(
                "/api/wall/answers/{number:number}",
                lambda request: wall.answers(_run_of(request), _number_of(request)),
            ),
            _get(
                "/api/wall/image/{number:number}",
                lambda request: wall.image(
                    _run_of(request),
                    _number_of(request),
                    *_named(request, "labeller"),
                ),
            ),
            _get("/api/wall/tests", lambda request: scores.all(_run_of(request))),
            _get("/api/wall/tests/{task}", test),
            _get("/api/wall/rows/{task}", rows),
            post_route(
                "/api/wall/wrong",
                questions.WrongAsk,
                lambda asked: mark_wrong(self._album, wall, asked),
            ),
        ]

    def _reading(self) -> list[Route]:
        """Return the GET routes about words, which read images, scores and the saved session."""

        def of_images(request: Request) -> dict[str, Any] | None:
            task, row = _named(request, "task", "row")
            return self._answers.scores.of_images(_run_of(request), task, row)

        def of_words(request: Request) -> dict[str, Any]:
            (words,) = _named(request, "words")
            return self._answers.scores.of_words(_run_of(request), words)

        routes = [
            _get("/api/images", lambda request: self._answers.images()),
            _get("/api/map", lambda request: self._answers.map(_run_of(request))),
            _get(
                "/api/image/{number:number}",
                lambda request: self._answers.image(_number_of(request)),
            ),
        ]
        routes += [
            _get("/api/scores", lambda request: self._scores.all(_run_of(request))),
            _get("/api/scores/{task}", of_images),
            _get("/api/tested", of_words),
        ]
        return [*routes, _get("/api/session", self._load)]

    def _asking(self) -> list[Route]:
        """Return the POST routes about words, each with the model of its request body."""
        asked = self._asked_about_words
        return [
            asked("/api/evaluate", questions.EvaluateAsk, Answers.evaluate),
            asked("/api/similarities", questions.SimilaritiesAsk, Answers.similarities),
            asked("/api/text", questions.CombineAsk, Answers.text),
            asked("/api/export", Export, Answers.export),
            asked("/api/discover", questions.DiscoverAsk, Answers.discover),
            asked("/api/pairs", questions.PairsAsk, Answers.pairs),
            asked("/api/card", questions.CardAsk, Answers.card),
            post_route("/api/session", Session, self._save),
        ]

    def _asked_about_words(
        self, path: str, model: type[AskT], answer: Callable[[Answers, AskT], Reply]
    ) -> Route:
        """Return a POST route that is answered once the images are embedded."""
        return post_route(path, model, lambda body: answer(self._answers, body))

    @property
    def _answers(self) -> Answers:
        return self._preparation.answers()

    def _state(self) -> dict[str, Any]:
        """Return the sources, and how far the preparation of the page about words is."""
        sources = [
            {
                "name": source.name,
                "folder": str(source.folder),
                "run": source.run is not None,
            }
            for source in self._album.sources
        ]
        return {"sources": sources, **self._preparation.state()}

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
        return {"saved": False, **Session(state=self._preparation.start()).model_dump()}

    def _save(self, session: Session) -> dict[str, Any]:
        """Save the session, and return the path of its file for the page."""
        with self._saving:
            write_text(self._session, session.model_dump_json(indent=1) + "\n")
        return {"file": str(self._session)}

    def _embedded_picture(self, request: Request) -> Picture | None:
        """Return an image by its number among the embedded ones; None if there is none."""
        pictures = self._answers.collection.gallery.pictures
        number = _number_of(request)
        return pictures[number] if number < len(pictures) else None

    def _picture(self, request: Request) -> Picture | None:
        """Return an image by its run and its number on the wall; None if it has no file."""
        entries = self._album.source(int(request.path_params["run"])).entries
        number = _number_of(request)
        return entries[number].picture if number < len(entries) else None

    def _source_picture(self, request: Request) -> Picture | None:
        """Return the image that an image on the wall was made from; None for any other."""
        run = int(request.path_params["run"])
        return self._wall.sources.of(run, _number_of(request))

    def _pixels(
        self,
        path: str,
        read: Callable[[Picture], tuple[bytes, str]],
        find: Callable[[Request], Picture | None],
    ) -> Route:
        """Return a GET route that answers an image's number with the bytes that `read` gives."""

        def endpoint(request: Request) -> Response:
            picture = find(request)
            if picture is None:
                return _not_found("There is no such image.")
            # A thumbnail has another address than its image, and may have the same tag.
            tag = f'"{picture.sha256}"'
            headers = {"cache-control": _REVALIDATED, "etag": tag}
            if request.headers.get("if-none-match") == tag:
                return Response(status_code=304, headers=headers)
            try:
                data, name = read(picture)
            except UnreadableImageError as error:
                return _not_found(str(error))
            return Response(data, media_type=guess_type(f"x{name}")[0], headers=headers)

        return Route(path, endpoint)


def _page(name: str) -> Callable[[Request], Response]:
    """Return the answer to a request for one of the pages."""

    def endpoint(request: Request) -> Response:
        return FileResponse(_STATIC / name, media_type="text/html")

    return endpoint


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


def create_app(explorer: Explorer, port: int) -> Starlette:
    """Return the web app, which accepts only requests for localhost or 127.0.0.1 at this port."""
    return local_app(explorer.routes(), port)
