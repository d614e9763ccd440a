"""What is answered to each question of the page; knows nothing of the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml

from t2ibench.apps.explorer import questions
from t2ibench.apps.explorer.card import card
from t2ibench.apps.explorer.discovery import compared, sweep
from t2ibench.apps.explorer.generation import GenerationQueue
from t2ibench.apps.explorer.nearby import Axes, fit_axes, on_map, ranked, shared_by
from t2ibench.apps.explorer.pairing import difference, leans, pairs_of, same_seeds
from t2ibench.apps.explorer.queries import Question, score_texts, similarities
from t2ibench.apps.explorer.reference import Reference, filled, phrases
from t2ibench.apps.explorer.scores import Scores
from t2ibench.apps.explorer.source import Collection, Gallery
from t2ibench.apps.explorer.tree import Export, task_from_export
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.probing import similarity
from t2ibench.methods.core.prompting_tree import ExploredReference


class Answers:
    """Answers about one collection.

    Args:
        collection: The images.
        first: Prompts of the first anchors.
        device: Where the generator runs.
    """

    def __init__(
        self, collection: Collection, first: Sequence[str], device: str | None = None
    ) -> None:
        self.collection = collection
        self._queue = GenerationQueue(collection, device)
        self._reference = Reference(collection)
        self._first = self._reference.of(first)
        self._scores = Scores(collection)
        self._axes: dict[int, Axes] = {}
        # Now, so that the first question does not wait for it.
        score_texts(collection, Question([], first, self._reference.texts(first)))

    def images(self) -> dict[str, Any]:
        """Prompts, and for every image its prompt, index and source."""
        gallery = self.collection.gallery
        return {
            "sources": [
                {"name": source.name, "draws": self._queue.can_generate(number)}
                for number, source in enumerate(self.collection.sources)
            ],
            "encoder": self.collection.encoder.name,
            "prompts": list(gallery.codes),
            "images": np.stack([gallery.prompts, gallery.indices, gallery.sources], 1).tolist(),
        }

    def evaluate(self, asked: questions.EvaluateAsk) -> dict[str, Any]:
        """Text and scores of every node of a tree; None for a node without text."""
        texts = {node.id: asked.tree.text([node.id]) for node in asked.tree.nodes}
        known = {name: text for name, text in texts.items() if text}
        question = Question(
            list(known.values()),
            asked.anchors,
            self._reference.texts(asked.anchors),
            [text for _, text in asked.tree.concepts(asked.anchors)],
            asked.names if len(asked.names) == len(asked.anchors) else asked.anchors,
        )
        scores = dict(zip(known, score_texts(self.collection, question), strict=True))
        return {"nodes": [{"id": n, "text": t, "scores": scores.get(n)} for n, t in texts.items()]}

    def similarities(self, asked: questions.SimilaritiesAsk) -> bytes:
        """Similarities of texts with all images: float32, one text after the other."""
        return similarities(self.collection, asked.texts).astype("<f4").tobytes()

    def text(self, asked: questions.CombineAsk) -> dict[str, Any]:
        """The text of several branches together."""
        try:
            return {"text": asked.tree.text(asked.nodes)}
        except KeyError as error:
            raise T2IBenchError(f"The tree has no node {error}.") from None

    def export(self, asked: Export) -> str:
        """The tree as a task file."""
        anchors = [anchor.prompt for anchor in asked.anchors]
        task = task_from_export(asked, self._reference.of(anchors))
        return yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=100)

    def generate(self, asked: questions.GenerateAsk) -> dict[str, Any]:
        """Start an inverse query: generate further images of a text."""
        known = asked.source < len(self.collection.sources)
        if not known or not self._queue.can_generate(asked.source):
            raise T2IBenchError("No model is available to generate images.")
        return {"job": self._queue.start(asked.source, asked.text, asked.count).id}

    def jobs(self) -> dict[str, Any]:
        """The jobs, and how many images there are now."""
        return {"jobs": self._queue.jobs(), "images": len(self.collection.gallery.pictures)}

    def rank(self, asked: questions.RankAsk) -> dict[str, Any]:
        """Every image of a run by its likeness to another image."""
        return ranked(self._gallery(asked.run), asked.image, asked.run)

    def map(self, run: int) -> dict[str, Any]:
        """Where the images of a run lie on its two principal axes."""
        return on_map(self._gallery(run), run, self._axes_of(run))

    def _axes_of(self, run: int) -> Axes:
        if run not in self._axes:
            gallery = self.collection.gallery
            self._axes[run] = fit_axes(gallery.rows, gallery.of_run(run))
        return self._axes[run]

    def scores(self, run: int) -> dict[str, Any]:
        """The tasks of a run with their results."""
        self._gallery(run)
        return self._scores.all(run)

    def task(self, run: int, name: str, row: str) -> dict[str, Any] | None:
        """The images behind the score of a task."""
        gallery, task = self._gallery(run), self._scores.task(run, name)
        return None if task is None else self._scores.of_images(gallery, run, task, row)

    def tested(self, run: int, words: str) -> dict[str, Any]:
        """What the tests of a run found about a word."""
        self._gallery(run)
        return {"rows": self._scores.of_words(run, words[:200])}

    def image(self, number: int) -> dict[str, Any] | None:
        """What every task says of one image."""
        gallery = self.collection.gallery
        known = number < len(gallery.pictures)
        return self._scores.of_image(gallery, number) if known else None

    def discover(self, asked: questions.DiscoverAsk) -> dict[str, Any]:
        """A sweep over many words."""
        gallery = self._gallery(asked.run)
        anchors = compared(gallery, asked.run, asked.anchors)
        known = self._reference.of(asked.anchors)
        reference = self._reference.words(known)
        words = (
            phrases(self._reference.lists, reference)
            if isinstance(asked.words, str)
            else tuple(dict.fromkeys(asked.words))
        )
        beside = ExploredReference(known.template, reference)
        return sweep(gallery, anchors, words, beside, self.collection.texts)

    def suggest(self, asked: questions.SuggestAsk) -> dict[str, Any]:
        """What a selection of images has in common."""
        gallery = self._gallery(asked.run)
        chosen = gallery.numbers(asked.ids, asked.run)
        everyday = self._reference.words(self._first)
        # Single words: a phrase such as "gay girl" would be a guess about who is shown.
        named = [one for one in phrases(self._reference.lists, everyday) if " " not in one]
        words = [*named, *everyday]
        texts = self.collection.texts(filled(self._first.template, words))
        return shared_by(gallery, chosen, asked.run, self._axes_of(asked.run), words, texts)

    def pairs(self, asked: questions.PairsAsk) -> dict[str, Any]:
        """The same prompts and seeds in two runs."""
        gallery, sources = self._gallery(max(asked.runs)), self.collection.sources
        seeds = same_seeds(*(sources[run] for run in asked.runs))
        found = [] if seeds is False else pairs_of(gallery, asked.runs, asked.prompts)
        values, what, poles = None, "", None
        if asked.anchors is not None:
            values = leans(gallery, asked.runs, asked.anchors, found)
            what, poles = "lean", [asked.anchors[1], asked.anchors[0]]
        elif asked.text is not None:
            rows = gallery.rows[[number for pair in found for number in pair.ids]]
            values = similarity(rows, self.collection.texts([asked.text]))[0].reshape(-1, 2)
            what = "similarity"
        numbers = [None] * len(found) if values is None else values.round(4).tolist()
        return {
            "pairs": [
                {"prompt": pair.prompt, "index": pair.index, "ids": list(pair.ids), "values": both}
                for pair, both in zip(found, numbers, strict=True)
            ],
            "difference": None if values is None else difference(found, values),
            "same_seeds": seeds,
            "what": what,
            "poles": poles,
        }

    def card(self, asked: questions.CardAsk) -> str:
        """An evidence card."""
        return card(self.collection, self._gallery(asked.run), self._scores, self._reference, asked)

    def _gallery(self, run: int) -> Gallery:
        """All images, asked about a run that there is."""
        if run >= min(len(self.collection.sources), questions.MOST_RUNS):
            raise T2IBenchError(f"There is no run {run}.")
        return self.collection.gallery
