"""The addresses for finding images: ranks, maps, scores, sweeps, pairs and cards.

Each answer is worked out in a thread, so that a long one holds up no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from t2ibench.apps.explorer.card import card
from t2ibench.apps.explorer.discovery import Sweep, anchors_of, filled, sweep
from t2ibench.apps.explorer.gallery import Galleries, WrongQuestionError
from t2ibench.apps.explorer.nearby import Maps, ranked, shared_by
from t2ibench.apps.explorer.pairing import difference, leans, pairs_of, same_seeds
from t2ibench.apps.explorer.phrases import phrases
from t2ibench.apps.explorer.questions import (
    MOST_RUNS,
    Ask,
    CardAsk,
    DiscoverAsk,
    PairsAsk,
    RankAsk,
    SuggestAsk,
)
from t2ibench.apps.explorer.reference import Reference
from t2ibench.apps.explorer.scores import Scores
from t2ibench.apps.explorer.source import Collection
from t2ibench.methods.core.probing import similarity

AskT = TypeVar("AskT", bound=Ask)
_UNKNOWN = JSONResponse({"error": "not found"}, status_code=404)


class Answers:
    """The routes for finding images.

    Args:
        collection: The images.
        reference: The reference words of anchors.
        first: Prompts of the first anchors; images that are no prompt's have their reference.
    """

    def __init__(self, collection: Collection, reference: Reference, first: Sequence[str]) -> None:
        self._collection = collection
        self._reference = reference
        self._first = list(first)
        self._galleries = Galleries(collection)
        self._maps = Maps()
        self._scores = Scores(collection)

    def routes(self) -> list[Route]:
        """Every address."""
        return [
            Route("/api/rank", self.rank, methods=["POST"]),
            Route("/api/map", self.map),
            Route("/api/scores", self.scores),
            Route("/api/scores/{task}", self.task),
            Route("/api/tested", self.tested),
            Route("/api/image/{number:int}/scores", self.image),
            Route("/api/discover", self.discover, methods=["POST"]),
            Route("/api/suggest", self.suggest, methods=["POST"]),
            Route("/api/pairs", self.pairs, methods=["POST"]),
            Route("/api/card", self.card, methods=["POST"]),
        ]

    async def rank(self, request: Request) -> Response:
        """Every image of a run by its similarity to a text or to another image."""
        return await _answer(request, RankAsk, self._ranked)

    def _ranked(self, asked: RankAsk) -> dict[str, Any]:
        self._check_run(asked.run)
        gallery = self._galleries.now()
        ids = gallery.of_run(asked.run, asked.prompts)
        if asked.image is None:
            return ranked(gallery, ids, self._collection.texts([asked.text or ""])[0])
        if asked.image >= len(gallery.pictures):
            raise WrongQuestionError(f"no image has the number {asked.image}")
        return ranked(gallery, ids, gallery.rows[asked.image], asked.image)

    def map(self, request: Request) -> Response:
        """Where the images of a run lie on its two principal axes."""
        return JSONResponse(self._maps.of(self._galleries.now(), self._run_of(request)))

    def scores(self, request: Request) -> Response:
        """The tasks of a run with their results."""
        return JSONResponse(self._scores.all(self._run_of(request)))

    def task(self, request: Request) -> Response:
        """The images behind the score of a task."""
        run, row = self._run_of(request), request.query_params.get("row", "")
        task = self._scores.task(run, request.path_params["task"])
        if task is None:
            return _UNKNOWN
        return JSONResponse(self._scores.of_images(self._galleries.now(), run, task, row))

    def tested(self, request: Request) -> Response:
        """What the tests of a run found about a word."""
        words = request.query_params.get("words", "")[:200]
        return JSONResponse({"rows": self._scores.of_words(self._run_of(request), words)})

    def image(self, request: Request) -> Response:
        """What every task says of one image."""
        gallery, number = self._galleries.now(), int(request.path_params["number"])
        if number >= len(gallery.pictures):
            return _UNKNOWN
        return JSONResponse(self._scores.of_image(gallery, number))

    async def discover(self, request: Request) -> Response:
        """A sweep over many words."""
        return await _answer(request, DiscoverAsk, self._swept)

    def _swept(self, asked: DiscoverAsk) -> dict[str, Any]:
        self._check_run(asked.run)
        gallery, members = self._galleries.now(), asked.members()
        anchors = anchors_of(gallery, asked.run, members)
        named = [one[0] for one in members if len(one) == 1 and isinstance(one[0], str)]
        known = self._reference.of(named if len(named) == len(members) else self._first)
        reference = self._reference.words(known)
        shipped = asked.words == "everyday"
        words = (
            phrases(self._reference.lists, reference)
            if isinstance(asked.words, str)
            else tuple(dict.fromkeys(asked.words))
        )
        question = Sweep(words, reference, asked.template or known.template, asked.fdr, shipped)
        return sweep(gallery, anchors, question, self._collection.texts)

    async def suggest(self, request: Request) -> Response:
        """What a selection of images has in common."""
        return await _answer(request, SuggestAsk, self._suggested)

    def _suggested(self, asked: SuggestAsk) -> dict[str, Any]:
        self._check_run(asked.run)
        gallery = self._galleries.now()
        chosen = gallery.numbers(asked.ids, asked.run)
        known = self._reference.of(self._first)
        everyday = self._reference.words(known)
        # Single words: a phrase such as "gay girl" would be a guess about who is shown.
        named = [one for one in phrases(self._reference.lists, everyday) if " " not in one]
        words = [*named, *everyday]
        texts = self._collection.texts(filled(known.template, words))
        axes = self._maps.axes(gallery, asked.run)
        return shared_by(gallery, chosen, asked.run, axes, words, texts)

    async def pairs(self, request: Request) -> Response:
        """The same prompts and seeds in two runs."""
        return await _answer(request, PairsAsk, self._paired)

    def _paired(self, asked: PairsAsk) -> dict[str, Any]:
        for run in asked.runs:
            self._check_run(run)
        gallery, sources = self._galleries.now(), self._collection.sources
        seeds = same_seeds(*(sources[run] for run in asked.runs))
        found = [] if seeds is False else pairs_of(gallery, asked.runs, asked.prompts)
        values, what, poles = None, "", None
        if asked.anchors is not None:
            values = leans(gallery, asked.runs, asked.anchors, found)
            what, poles = "lean", [asked.anchors[1], asked.anchors[0]]
        elif asked.text is not None:
            rows = gallery.rows[[number for pair in found for number in pair.ids]]
            values = similarity(rows, self._collection.texts([asked.text]))[0].reshape(-1, 2)
            what = "similarity"
        numbers = [None] * len(found) if values is None else values.round(4).tolist()
        told = [
            {"prompt": pair.prompt, "index": pair.index, "ids": list(pair.ids), "values": both}
            for pair, both in zip(found, numbers, strict=True)
        ]
        return {
            "pairs": told,
            "difference": None if values is None else difference(found, values),
            "same_seeds": seeds,
            "what": what,
            "poles": poles,
        }

    async def card(self, request: Request) -> Response:
        """An evidence card."""
        body = await request.body()

        def work() -> Response:
            asked = CardAsk.model_validate_json(body)
            self._check_run(asked.run)
            drawn = card(
                self._collection, self._galleries.now(), self._scores, self._reference, asked
            )
            return Response(drawn, media_type="image/svg+xml")

        return await run_in_threadpool(work)

    def _run_of(self, request: Request) -> int:
        text = request.query_params.get("run", "0")
        if not (text.isascii() and text.isdigit() and len(text) < 4):
            raise WrongQuestionError("run: a number is expected")
        self._check_run(int(text))
        return int(text)

    def _check_run(self, run: int) -> None:
        if run >= min(len(self._collection.sources), MOST_RUNS):
            raise WrongQuestionError(f"there is no run {run}")


async def _answer(
    request: Request, model: type[AskT], work: Callable[[AskT], dict[str, Any]]
) -> Response:
    """Check a body, work on it and write the answer, all in a thread."""
    body = await request.body()

    def whole() -> Response:
        return JSONResponse(work(model.model_validate_json(body)))

    return await run_in_threadpool(whole)
