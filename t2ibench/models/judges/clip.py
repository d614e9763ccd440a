"""The judge `clip`: picks classes with an encoder, or 'unknown' if two are too close."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from t2ibench.arguments import Arguments, Share
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.models.adapter import Adapter, Request
from t2ibench.models.downloads import Download
from t2ibench.models.encoders import create_encoder, embeds_images, encoder_downloads
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.protocols import Answer, Encoder, Query

_SCALE = 100.0  # CLIP's learnt temperature
_NO_EMBEDDING = "its encoder cannot embed the image"


class ClipArguments(Arguments):
    """The options of the judge `clip` that --judge-args accepts (see `ClipJudge`)."""

    margin: Share = 0.1
    template: str = "a photo of a {class}"


class ClipJudge:
    """Picks the class whose text is nearest to the image (see models.protocols.Judge).

    'unknown' is the answer where the first two classes' probabilities differ by less than the
    margin; '{class}' in the template is the class.
    """

    def __init__(self, name: str, encoder: Encoder, args: ClipArguments) -> None:
        self.name = name if ":" in name else f"{name}:{encoder.name}"
        self._encoder = encoder
        self._margin = args.margin
        self._template = args.template
        self._texts: dict[tuple[str, ...], Float32Array] = {}
        self.batch_size = encoder.batch_size
        self.fingerprint = fingerprint(
            adapter="clip judge 1",
            encoder=encoder.fingerprint,
            margin=args.margin,
            template=args.template,
        )

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """Answer questions with classes, embedding each image once; others get no answer."""
        wanted = {query.sha256: query for query in queries if query.classes}
        rows = {}
        if wanted:
            prepared = [self._encoder.prepare(query.image) for query in wanted.values()]
            rows = dict(zip(wanted, self._encoder.encode_images(prepared), strict=True))
        return [
            self._answer_query(query, rows[query.sha256])
            if query.classes
            else Answer(
                None,
                reason="an encoder can only choose among classes; it cannot answer in free text",
            )
            for query in queries
        ]

    def _answer_query(self, query: Query, row: Float32Array) -> Answer:
        texts = self._texts.get(query.classes)
        if texts is None:
            filled = [self._template.replace("{class}", name) for name in query.classes]
            texts = self._texts[query.classes] = self._encoder.encode_texts(filled)
        unknown = [
            name
            for name, text in zip(query.classes, texts, strict=True)
            if not np.isfinite(text).all()
        ]
        if unknown:
            return Answer(
                None,
                reason=f"its encoder has no vector of the text of: {', '.join(unknown)}",
            )
        if not np.isfinite(row).all():
            return Answer(UNKNOWN, _NO_EMBEDDING)
        logits = _SCALE * (texts.astype(np.float64) @ row.astype(np.float64))
        weights = np.exp(logits - logits.max())
        shares = weights / weights.sum()
        order = np.argsort(-shares, kind="stable")
        sure = len(order) < 2 or shares[order[0]] - shares[order[1]] >= self._margin
        raw = {
            name: round(float(share), 4)
            for name, share in zip(query.classes, shares, strict=True)
        }
        return Answer(query.classes[order[0]] if sure else UNKNOWN, json.dumps(raw))


def _create(request: Request[ClipArguments]) -> ClipJudge:
    usable = [
        encoder
        for encoder in request.encoders
        if (
            embeds_images(encoder)
            if isinstance(encoder, str)
            else encoder.embeds_images
        )
    ]
    if not (request.source or usable):
        raise T2IBenchError(
            f"--judge {request.spec}: none of the run's encoders embeds images.",
            "Give one, for example --judge clip:open_clip:ViT-L-14/openai.",
        )
    encoder = create_encoder(
        request.source or usable[0],
        device=request.device,
        dtype=request.dtype,
        recorded=request.recorded,
    )
    return ClipJudge(request.spec, encoder, request.args)


def _downloads(request: Request[ClipArguments]) -> Sequence[Download]:
    """Return the downloads of the judge's own encoder; the run's encoders are separate."""
    return encoder_downloads(request.source) or () if request.source else ()


ADAPTER = Adapter(
    create=_create,
    downloads=_downloads,
    form="clip[:ENCODER]",
    description="the run's encoder, zero-shot; clip:ENCODER for another; classes only",
    Args=ClipArguments,
    free_text=False,
)
