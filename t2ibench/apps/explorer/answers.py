"""Answers, as JSON, to the requests of the explorer's page, without any network code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml

from t2ibench.apps.explorer import questions
from t2ibench.apps.explorer.card import card
from t2ibench.apps.explorer.collection import Collection
from t2ibench.apps.explorer.discovery import compared, sweep
from t2ibench.apps.explorer.map import on_map
from t2ibench.apps.explorer.pairing import basis_of, leans, pairs_of
from t2ibench.apps.explorer.queries import Question, score_texts, similarities
from t2ibench.apps.explorer.reference import Reference, phrases
from t2ibench.apps.explorer.scores import Scores
from t2ibench.apps.explorer.tree import Export, task_from_export
from t2ibench.errors import T2IBenchError
from t2ibench.results.prompt_outcomes import is_revised


class Answers:
    """The JSON answers to the explorer page's requests about one collection of images."""

    def __init__(self, collection: Collection, first: Sequence[str]) -> None:
        self.collection = collection
        self._reference = Reference(collection)
        self.scores = Scores(collection)
        # Loaded now, so that the first question does not wait for it.
        score_texts(collection, Question([], first, self._reference.texts(first)))

    def images(self) -> dict[str, Any]:
        """Return the sources, encoder and prompts, and each image's prompt, index and source."""
        gallery = self.collection.gallery
        return {
            "sources": [{"name": source.name} for source in self.collection.sources],
            "encoder": self.collection.encoder.name,
            "prompts": list(gallery.codes),
            "images": np.stack(
                [gallery.prompts, gallery.indices, gallery.sources], 1
            ).tolist(),
        }

    def evaluate(self, asked: questions.EvaluateAsk) -> dict[str, Any]:
        """Return text and scores of each node of a prompting tree; scores are None without text."""
        texts = {node.id: asked.tree.text([node.id]) for node in asked.tree.nodes}
        texts_of_nodes = {name: text for name, text in texts.items() if text}
        question = Question(
            list(texts_of_nodes.values()),
            asked.anchors,
            self._reference.texts(asked.anchors),
            [text for _, text in asked.tree.concepts(asked.anchors)],
            asked.names if len(asked.names) == len(asked.anchors) else asked.anchors,
        )
        scores = dict(
            zip(texts_of_nodes, score_texts(self.collection, question), strict=True)
        )
        return {
            "nodes": [
                {"id": node, "text": text, "scores": scores.get(node)}
                for node, text in texts.items()
            ]
        }

    def similarities(self, asked: questions.SimilaritiesAsk) -> bytes:
        """Return the similarity of each text to every image as float32 bytes, text by text."""
        return similarities(self.collection, asked.texts).astype("<f4").tobytes()

    def text(self, asked: questions.CombineAsk) -> dict[str, Any]:
        """Return the prompt that the given nodes of a prompting tree form together."""
        try:
            return {"text": asked.tree.text(asked.nodes)}
        except KeyError as error:
            raise T2IBenchError(f"The tree has no node {error}.") from None

    def export(self, asked: Export) -> str:
        """Return the text of a YAML task file that measures the prompting tree's concepts."""
        anchors = [anchor.prompt for anchor in asked.anchors]
        prompts = self.collection.gallery.codes
        task = task_from_export(asked, self._reference.of(anchors), prompts)
        return yaml.safe_dump(task, sort_keys=False, allow_unicode=True, width=100)

    def map(self, run: int) -> dict[str, Any]:
        """Return the coordinates of a run's images on the principal axes of their embeddings."""
        self.collection.source(run)
        return on_map(self.collection.gallery, run)

    def image(self, number: int) -> dict[str, Any] | None:
        """Return seed, rewritten prompt and SHA-256 of image `number`; None if there is none."""
        if number >= len(self.collection.gallery.pictures):
            return None
        picture = self.collection.gallery.pictures[number]
        source = self.collection.sources[picture.source]
        attempt = source.attempt(picture)
        return {
            "seed": source.seed_of(attempt) if attempt else None,
            "rewritten": attempt.revised_prompt
            if attempt and is_revised(attempt)
            else None,
            "sha256": picture.sha256,
        }

    def discover(self, asked: questions.DiscoverAsk) -> dict[str, Any]:
        """Return how far the anchors' images differ in each of many words, with a verdict."""
        self.collection.source(asked.run)
        anchors = compared(self.collection.gallery, asked.run, asked.anchors)
        reference_of_anchors = self._reference.of(asked.anchors)
        reference = self._reference.words(reference_of_anchors)
        words = (
            phrases(self._reference.lists, reference)
            if isinstance(asked.words, str)
            else tuple(dict.fromkeys(asked.words))
        )
        return sweep(
            self.collection, anchors, words, reference_of_anchors.template, reference
        )

    def pairs(self, asked: questions.PairsAsk) -> dict[str, Any]:
        """Return pairs of images of two runs, what the pairs share, and their scores.

        There are none where the seeds differ: nothing but the prompt connects two such images.
        """
        gallery = self.collection.gallery
        basis = basis_of(self.collection, asked.runs, asked.prompts)
        pairs_of_images = []
        if basis.same_seeds is not False:
            pairs_of_images = pairs_of(
                gallery, asked.runs, asked.prompts, basis.same_start
            )
        values = [None] * len(pairs_of_images)
        if asked.anchors is not None:
            values = (
                leans(gallery, asked.runs, asked.anchors, pairs_of_images)
                .round(4)
                .tolist()
            )
        pairs = [
            {**pair, "values": both}
            for pair, both in zip(pairs_of_images, values, strict=True)
        ]
        return {
            "pairs": pairs,
            "same_seeds": basis.same_seeds,
            "basis": basis.in_words,
        }

    def card(self, asked: questions.CardAsk) -> str:
        """Return the requested evidence card as SVG text."""
        return card(self.collection, self._reference, asked)
