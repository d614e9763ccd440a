"""The evidence card: a number, its interval and the images behind it, as one SVG."""

from __future__ import annotations

import base64
import hashlib
import random
import textwrap
from contextlib import suppress
from functools import lru_cache
from typing import Any

import jinja2
import numpy as np

from t2ibench.apps.explorer.queries import Question, score_texts, similarities
from t2ibench.apps.explorer.questions import CardAsk
from t2ibench.apps.explorer.reference import Reference
from t2ibench.apps.explorer.source import Collection, Picture, Source
from t2ibench.errors import T2IBenchError
from t2ibench.reports.figures.canvas import shortened
from t2ibench.reports.html.templating import environment
from t2ibench.store.pixels import UnreadableImageError, thumbnail

_SHOWN = 10  # images of a row
_TILE = 164  # pixels of a thumbnail's longest side, twice its size on the card
_ZERO, _HALF = 748.0, 188.0  # where the axis has its 0, and the length of either side
CAVEAT = (
    "A score describes these prompts, this model and this encoder. It says nothing about real "
    "people."
)


def card(collection: Collection, reference: Reference, asked: CardAsk) -> str:
    """Draw an evidence card. Its number is worked out here; the page cannot give one."""
    gallery, text, source = collection.gallery, asked.text, collection.source(asked.run)
    names = asked.names if len(asked.names) == len(asked.anchors) else asked.anchors
    words = reference.texts(asked.anchors)
    # one card is one test of many
    together = list(dict.fromkeys([text, *asked.family]))
    question = Question(together, asked.anchors, words, together, names)
    score = score_texts(collection, question)[0][asked.run]
    if score is None:
        raise T2IBenchError("Fewer than two anchors have images in this run.")
    pool = gallery.of_run(asked.run, asked.anchors)
    (values,) = similarities(collection, [text])
    called = dict(zip(asked.anchors, names, strict=True))
    ordered = pool[np.argsort(-values[pool], kind="stable")]
    count, of = min(_SHOWN, len(ordered) // 2), f"{len(ordered):,}"
    seed = hashlib.sha256(f"{asked.run}\0{text}".encode()).digest()[:8]
    some = random.Random(int.from_bytes(seed, "little")).sample(
        sorted(pool.tolist()), min(_SHOWN, len(pool))
    )
    sentence = (
        f"{score['says'][:1].upper()}{score['says'][1:]}. Its effect "
        f"exceeds that of {score['percentile']:.0f} % of {len(words):,} everyday words."
    )
    return _template().render(
        title=f"“{text}”",
        sentence=textwrap.wrap(sentence, 118)[:2],
        state={"leans": "clear", "no_lean": "not clear"}.get(
            score["verdict"], "cannot tell"
        ),
        n="difference of mean cosines beyond the anchors' words; "
        f"{', '.join(f'{n:,}' for n in score['n'])} images",
        poles=(names[1], names[0]) if len(asked.anchors) == 2 else None,
        rows=[
            (
                f"most like “{text}”",
                f"the {count} highest of {of}",
                ordered[:count].tolist(),
            ),
            (
                f"least like “{text}”",
                f"the {count} lowest of {of}",
                ordered[::-1][:count].tolist(),
            ),
            (
                "at random",
                f"{len(some)} of {of}, drawn by the card’s subject, not chosen",
                some,
            ),
        ],
        tile_of=lambda k: _tile(
            gallery.pictures[k], f"{called[gallery.pictures[k].prompt]} {values[k]:.3f}"
        ),
        source=_made_by(source, collection.encoder.name),
        caveat=CAVEAT,
        **_marks(score, axial=len(asked.anchors) == 2),
    )


def _made_by(source: Source, encoder: str) -> str:
    made = "a folder of images"
    if source.run is not None and source.run.record.generator is not None:
        made = f"run fingerprint {source.run.record.generator.fingerprint[:16]}"
    return " · ".join((source.name, made, f"encoder {encoder}", "t2ibench"))


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    templates = jinja2.PackageLoader("t2ibench.apps.explorer", "templates")
    own = environment().overlay(loader=templates)
    own.filters = own.filters | {
        "short": lambda text, most: _clean(shortened(text, most))
    }
    return own.get_template("card.svg")


def _clean(text: str) -> str:
    """A text without the characters that XML cannot hold."""
    kept = "".join(c if c.isprintable() else " " for c in text)
    return kept.encode("utf-8", "replace").decode("utf-8")


def _tile(picture: Picture, caption: str) -> dict[str, str]:
    """An image with its caption; without a picture where it cannot be read."""
    uri = ""
    with suppress(UnreadableImageError):
        small = base64.b64encode(thumbnail(picture.data(), _TILE, 80)).decode()
        uri = f"data:image/jpeg;base64,{small}"
    return {
        "uri": uri,
        "title": f"{picture.prompt}, number {picture.index}",
        "caption": caption,
    }


def _marks(score: dict[str, Any], axial: bool) -> dict[str, Any]:
    """The value and its interval in words, and where they lie on the axis."""
    value, low, high = (score[f"beyond_{name}"] for name in ("words", "low", "high"))
    span = 1.25 * max(abs(x) for x in (value, low, high) if x is not None) or 1.0
    places, sign = 2 if span > 0.1 else 3, "+" if axial else ""

    def at(x: float) -> float:
        return round(_ZERO + x / span * _HALF, 1)

    def told(x: float, digits: int, plus: str = "") -> str:
        return f"{x:{plus}.{digits}f}".replace("-", "−")

    ticks = [(at(x), told(x, places, sign) if x else "0") for x in (-span, 0.0, span)]
    interval, ends = "", None
    if low is not None and high is not None:
        interval = f"95 % interval {told(low, 4)} to {told(high, 4)}"
        ends = (at(low), at(high))
    clear = score["verdict"] == "leans"
    side = ("left" if value < 0 else "right") if clear and axial and value else "plain"
    return {
        "value": told(value, 4, sign),
        "interval": interval,
        "number": at(value),
        "ends": ends,
        "ticks": ticks if axial else ticks[1:],
        "clear": clear,
        "side": side,
    }
