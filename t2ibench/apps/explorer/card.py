"""The evidence card, one SVG with a number, its interval and the images behind it."""

from __future__ import annotations

import base64
import hashlib
import random
import textwrap
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jinja2
import numpy as np

from t2ibench.apps.explorer.album import Picture, Source
from t2ibench.apps.explorer.collection import Collection
from t2ibench.apps.explorer.queries import Question, score_texts, similarities
from t2ibench.apps.explorer.questions import CardAsk
from t2ibench.apps.explorer.reference import Reference
from t2ibench.decimals import readable
from t2ibench.errors import T2IBenchError
from t2ibench.reports.figures.text_size import shortened
from t2ibench.reports.html.templating import environment
from t2ibench.results.states import STATES, State
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.pixels import thumbnail

# The state that shows each verdict on a text.
_STATES: dict[str, State] = {"leans": "clear", "no_lean": "not_clear"}
_LINE = 118  # letters of a line
_SHOWN = 10  # images of a row
_TILE = 164  # pixels of a thumbnail's longest side, twice its size on the card
_ZERO, _HALF = 748.0, 188.0  # where the axis has its 0, and the length of either side
CAVEAT = (
    "A score describes these prompts, this model and this encoder. It says nothing about real "
    "people."
)


@dataclass(frozen=True, slots=True)
class TileView:
    """An image of an evidence card as a data URI, '' if unreadable, with its title and caption."""

    uri: str
    title: str
    caption: str


@dataclass(frozen=True, slots=True)
class TileRow:
    """A row of images on an evidence card, and how they were selected."""

    title: str
    rule: str
    tiles: tuple[TileView, ...]


@dataclass(frozen=True, slots=True)
class MarkView:
    """A card's number and its interval as text, and their positions on the axis.

    Attributes:
        value: The number.
        interval: Its interval; empty where it is not known.
        number: The place of the number, in pixels.
        ends: The places of both ends of the interval.
        ticks: The place and the name of each tick.
        clear: Whether it leans clearly.
        side: Which side it leans to, 'plain' where it leans to none.
    """

    value: str
    interval: str
    number: float
    ends: tuple[float, float] | None
    ticks: tuple[tuple[float, str], ...]
    clear: bool
    side: str


@dataclass(frozen=True, slots=True)
class EvidenceCardView:
    """All content of an evidence card, ready for its SVG template.

    Attributes:
        title: Its text, quoted.
        sentence: The result in words, in at most two lines.
        state: What the result shows, in words.
        unsure: Whether that is that nothing can be told.
        sizes: What the number is, and how many images it is of.
        poles: The names of both anchors; None where there are more.
        rows: Images that are most and least like the text, and some at random.
        mark: The number on its axis.
        source: The run and the encoder.
        caveat: What no card shows.
    """

    title: str
    sentence: tuple[str, ...]
    state: str
    unsure: bool
    sizes: str
    poles: tuple[str, str] | None
    rows: tuple[TileRow, ...]
    mark: MarkView
    source: str
    caveat: str


def card(collection: Collection, reference: Reference, asked: CardAsk) -> str:
    """Return an evidence card as SVG text; its number is computed here, not sent by the page."""
    return _template().render(card=card_view(collection, reference, asked))


def card_view(
    collection: Collection, reference: Reference, asked: CardAsk
) -> EvidenceCardView:
    """Return the content of an evidence card: the score in words, and sample images."""
    source = collection.source(asked.run)  # a run that does not exist is refused here
    names = asked.names if len(asked.names) == len(asked.anchors) else asked.anchors
    words = reference.texts(asked.anchors)
    score = _score(collection, asked, names, words)
    state = STATES[_STATES.get(score["verdict"], "cannot_tell")]
    two_anchors = len(asked.anchors) == 2
    poles = (names[1], names[0]) if two_anchors else None
    return EvidenceCardView(
        title=f"“{asked.text}”",
        sentence=_sentence(score, len(words)),
        state=state.word,
        unsure=state.unsure,
        sizes=_sizes(score),
        poles=poles,
        rows=_tile_rows(collection, asked, names),
        mark=_mark_view(score, axial=two_anchors),
        source=_made_by(source, collection.encoder.name),
        caveat=CAVEAT,
    )


def _score(
    collection: Collection,
    asked: CardAsk,
    names: Sequence[str],
    words: Sequence[str],
) -> dict[str, Any]:
    """Return the score of the card's text, with p-values corrected for the texts tested with it."""
    together = list(dict.fromkeys([asked.text, *asked.family]))
    question = Question(together, asked.anchors, words, together, names)
    score = score_texts(collection, question)[0][asked.run]
    if score is None:
        raise T2IBenchError("Fewer than two anchors have images in this run.")
    return score


def _sentence(score: dict[str, Any], words: int) -> tuple[str, ...]:
    """Return the score in words, in at most two lines; `words` counts the reference words."""
    result = f"{score['says'][:1].upper()}{score['says'][1:]}"
    place = f"{score['percentile']:.0f} % of {words:,} everyday words"
    text = f"{result}. Its effect exceeds that of {place}."
    return tuple(textwrap.wrap(text, _LINE)[:2])


def _sizes(score: dict[str, Any]) -> str:
    counts = ", ".join(f"{count:,}" for count in score["n"])
    return f"difference of mean cosines beyond the anchors' words; {counts} images"


def _tile_rows(
    collection: Collection, asked: CardAsk, names: Sequence[str]
) -> tuple[TileRow, ...]:
    """Return three rows of images: the most like the text, the least like it, and random ones."""
    gallery = collection.gallery
    pool = gallery.of_run(asked.run, asked.anchors)
    (values,) = similarities(collection, [asked.text])
    name_of = dict(zip(asked.anchors, names, strict=True))
    ordered = pool[np.argsort(-values[pool], kind="stable")].tolist()
    count = min(_SHOWN, len(ordered) // 2)
    total = f"{len(ordered):,}"
    drawn = _drawn(asked, pool.tolist())

    def row(title: str, rule: str, images: Sequence[int]) -> TileRow:
        tiles = []
        for image in images:
            picture = gallery.pictures[image]
            tiles.append(
                _tile(picture, f"{name_of[picture.prompt]} {values[image]:.3f}")
            )
        return TileRow(title, rule, tuple(tiles))

    highest = row(
        f"most like “{asked.text}”", f"the {count} highest of {total}", ordered[:count]
    )
    lowest = row(
        f"least like “{asked.text}”",
        f"the {count} lowest of {total}",
        ordered[::-1][:count],
    )
    at_random = row(
        "at random",
        f"{len(drawn)} of {total}, drawn by the card’s subject, not chosen",
        drawn,
    )
    return highest, lowest, at_random


def _drawn(asked: CardAsk, pool: Sequence[int]) -> list[int]:
    """Return the indices of a few random images, always the same ones for the same run and text."""
    digest = hashlib.sha256(f"{asked.run}\0{asked.text}".encode()).digest()
    generator = random.Random(int.from_bytes(digest[:8], "little"))
    return generator.sample(sorted(pool), min(_SHOWN, len(pool)))


def _made_by(source: Source, encoder: str) -> str:
    made = "a folder of images"
    if source.run is not None and source.run.record.generator is not None:
        made = f"run fingerprint {source.run.record.generator.fingerprint[:16]}"
    return " · ".join((source.name, made, f"encoder {encoder}", "t2ibench"))


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    loader = jinja2.PackageLoader("t2ibench.apps.explorer", "templates")
    cards = environment().overlay(loader=loader)
    cards.filters = {**cards.filters, "short": _short}
    return cards.get_template("card.svg")


def _short(text: str, most: int) -> str:
    """Return a text cut to `most` characters, with a space for each that XML forbids."""
    return _clean(shortened(text, most))


def _clean(text: str) -> str:
    """Return a text with a space for each unprintable character, so that it is valid in XML."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return printable.encode("utf-8", "replace").decode("utf-8")


def _tile(picture: Picture, caption: str) -> TileView:
    """Return an image and its caption as a tile, without a picture if the file is unreadable."""
    uri = ""
    with suppress(UnreadableImageError):
        small = base64.b64encode(thumbnail(picture.data(), _TILE, 80)).decode()
        uri = f"data:image/jpeg;base64,{small}"
    return TileView(uri, f"{picture.prompt}, number {picture.index}", caption)


def _mark_view(score: dict[str, Any], axial: bool) -> MarkView:
    """Return a score and its interval as text, with their positions on an axis that fits both."""
    value, low, high = (score[f"beyond_{name}"] for name in ("words", "low", "high"))
    span = _span(value, low, high)
    sign = "+" if axial else ""
    clear = score["verdict"] == "leans"
    side = "plain"
    if clear and axial and value:
        side = "left" if value < 0 else "right"
    interval = ""
    ends = None
    if low is not None and high is not None:
        interval = f"95 % interval {_number(low, 4)} to {_number(high, 4)}"
        ends = (_place(low, span), _place(high, span))
    return MarkView(
        value=_number(value, 4, sign),
        interval=interval,
        number=_place(value, span),
        ends=ends,
        ticks=_ticks(span, axial),
        clear=clear,
        side=side,
    )


def _span(*ends: float | None) -> float:
    """Return how far the card's axis reaches from 0 to either side, to show all given numbers."""
    return 1.25 * max(abs(end) for end in ends if end is not None) or 1.0


def _ticks(span: float, axial: bool) -> tuple[tuple[float, str], ...]:
    """Return position and label of each axis tick; unless `axial`, the axis begins at 0."""
    digits = 2 if span > 0.1 else 3
    sign = "+" if axial else ""
    ticks = [
        (_place(end, span), _number(end, digits, sign) if end else "0")
        for end in (-span, 0.0, span)
    ]
    return tuple(ticks if axial else ticks[1:])


def _place(value: float, span: float) -> float:
    """Return the horizontal position of a value on the card, in pixels."""
    return round(_ZERO + value / span * _HALF, 1)


def _number(value: float, digits: int, sign: str = "") -> str:
    return readable(value, digits, sign=sign == "+")
