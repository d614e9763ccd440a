"""Data sets from toyland's own generator, encoder and judge; no image is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from PIL.Image import Image

from t2ibench.methods.core.evidence import UNKNOWN, Needs
from t2ibench.models.encoders.toyland import ToylandEncoder
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.judges.toyland import ToylandJudge, unreachable
from t2ibench.models.protocols import ImageRequest, Query
from t2ibench.store.images import image_seed
from tools.calibration.cells import Sample, ToylandWorld
from tools.calibration.worlds import Asked, WorldEvidence


@lru_cache
def _observers() -> tuple[ToylandEncoder, ToylandJudge]:
    return ToylandEncoder(), ToylandJudge()


def judged(
    needs: Needs, images: Mapping[str, Sequence[Image]]
) -> dict[Asked, list[str]]:
    """Return what toyland's judge answers about images, by what it was asked.

    Args:
        needs: The questions.
        images: Prompt to its images; a question is about the first that it asks for.
    """
    _, judge = _observers()
    queries = [
        Query(
            image,
            need.prompt,
            index,
            f"{need.prompt} {index}",
            need.question,
            need.classes,
        )
        for need in needs.questions
        for index, image in enumerate(images[need.prompt][: need.images])
    ]
    replies: dict[Asked, list[str]] = {}
    for query, answer in zip(queries, judge.answer(queries), strict=True):
        key = (query.prompt, query.question, query.classes)
        replies.setdefault(key, []).append(answer.answer or UNKNOWN)
    return replies


def toyland_sample(world: ToylandWorld, needs: Needs, seed: int) -> Sample:
    """Draw what a task needs, and read it."""
    encoder, _ = _observers()
    generator = ToylandGenerator(dict(world.args), seed)
    requests = [
        ImageRequest(prompt, index, image_seed(seed, prompt, index))
        for prompt, n in needs.images_by_prompt.items()
        for index in range(n)
    ]
    images = {
        (request.prompt, request.index): drawn.image
        for request, drawn in zip(requests, generator.generate(requests), strict=True)
        if drawn.image is not None
    }
    embeddings = {}
    if needs.embeds and images:
        rows = encoder.encode_images(
            [encoder.prepare(image) for image in images.values()]
        )
        at = 0
        for prompt, n in needs.images_by_prompt.items():
            embeddings[prompt] = rows[at : at + n].astype("float64")
            at += n
    vectors = dict(zip(needs.texts, encoder.encode_texts(needs.texts), strict=True))
    by_prompt: dict[str, list[Image]] = {}
    for (prompt, _), image in images.items():
        by_prompt.setdefault(prompt, []).append(image)
    evidence = WorldEvidence(
        embeddings,
        {text: row.astype("float64") for text, row in vectors.items()},
        judged(needs, by_prompt),
        frozenset().union(*(unreachable(need.classes) for need in needs.questions)),
    )
    return Sample(evidence, world.truth, world.rows)
