"""A page on this machine on which people label a run's images; answers go straight into the run."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.resources import files
from mimetypes import guess_type
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from t2ibench.apps.labelling.pairs import LabelledRun, add_labels
from t2ibench.apps.labelling.sample import Item
from t2ibench.apps.labelling.sheet import NO_CLASS, STATIC, row_of, served_page
from t2ibench.errors import T2IBenchError
from t2ibench.local_server import post_route
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import ImageFile
from t2ibench.store.labels import Label, labeller_name

_SHARED = Path(str(files("t2ibench.reports") / "static"))
_NAME = "The name"  # what an error calls the labeller's name
_Text = Annotated[str, Field(max_length=200)]


class AnswerAsk(BaseModel):
    """A person's answer about one image and question, as the page sends it."""

    model_config = ConfigDict(extra="forbid")
    id: _Text
    labeller: _Text
    answer: _Text


class FinishAsk(BaseModel):
    """The request to end the server and to score the run with the labels."""

    model_config = ConfigDict(extra="forbid")


class LabelServer:
    """The routes of the labelling page of a run's sample.

    An image is found by its identifier alone, so that no request names a path. What anybody else
    answered is told only about images that a person has answered, and as a count.

    Attributes:
        finished: Set once somebody asks to end and to score.
    """

    def __init__(self, run: LabelledRun, items: Sequence[Item]) -> None:
        self._run = run
        self._stores = run.label_stores()
        # Nobody is to answer a question before it turns out that no answer can be stored.
        for store, _ in self._stores:
            store.check_writable()
        self._items = {item.id: item for item in items}
        self._beside = {item.beside.id: item.beside for item in items if item.beside}
        self._writing = threading.Lock()
        self.finished = threading.Event()
        self._answered: set[tuple[str, str]] = set()

    @property
    def n_answers(self) -> int:
        """Number of images answered here, for each person: a corrected answer counts once."""
        return len(self._answered)

    def routes(self) -> list[Route | Mount]:
        """Return every URL route of the server."""
        return [
            Route("/", self._page),
            Route("/image/{id:str}", self._image),
            Route("/api/answers", self._answers),
            post_route("/api/answer", AnswerAsk, self._add),
            post_route("/api/finish", FinishAsk, self._finish),
            Mount("/static/shared", StaticFiles(directory=_SHARED)),
            Mount("/static", StaticFiles(directory=STATIC)),
        ]

    def _page(self, request: Request) -> Response:
        rows = [
            row_of(item, lambda shown: f"/image/{shown.id}")
            for item in self._items.values()
        ]
        return HTMLResponse(served_page(rows), headers={"cache-control": "no-store"})

    def _image(self, request: Request) -> Response:
        name = request.path_params["id"]
        item = self._items.get(name) or self._beside.get(name)
        if item is None:
            return _not_found("There is no such image.")
        images = self._run.images_with(of_source=item.of_source)
        image = ImageFile(images.root / item.file, item.image)
        try:
            data = image.data()
        except UnreadableImageError as error:
            return _not_found(str(error))
        return Response(data, media_type=guess_type(item.file)[0])

    def _answers(self, request: Request) -> Response:
        """Answer with a person's own answers, and how often others gave the same ones."""
        name = labeller_name(request.query_params.get("labeller", ""), _NAME)
        answers: dict[str, str] = {}
        others: dict[str, list[int]] = {}
        for item in self._items.values():
            votes = self._votes(item)
            if name not in votes:
                continue
            answers[item.id] = votes[name]
            for person, answer in votes.items():
                if person != name:
                    counts = others.setdefault(person, [0, 0])
                    counts[0] += answer == votes[name]
                    counts[1] += 1
        return JSONResponse({"answers": answers, "others": others})

    def _votes(self, item: Item) -> dict[str, str]:
        votes: dict[str, str] = {}
        for store, _ in self._stores:
            votes |= store.votes(item.image, item.question, item.classes)
        return votes

    def _add(self, asked: AnswerAsk) -> dict[str, Any]:
        """Store an answer in the run; a later one of the same person replaces it."""
        name = labeller_name(asked.labeller, _NAME)
        item = self._items.get(asked.id)
        if item is None:
            raise T2IBenchError("There is no such image.")
        if asked.answer not in (*item.classes, *NO_CLASS):
            raise T2IBenchError("That is no answer to this question.")
        label = Label(item.question, item.classes, item.image, name, asked.answer)
        with self._writing:
            add_labels(self._stores, [label])
            self._answered.add((asked.id, name))
        return {"stored": True}

    def _finish(self, asked: FinishAsk) -> dict[str, Any]:
        self.finished.set()
        return {"finished": True}


def _not_found(reason: str) -> JSONResponse:
    return JSONResponse({"error": reason}, status_code=404)
