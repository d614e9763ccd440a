"""The evidence card: a number, its interval and the images behind it, as one SVG."""

from __future__ import annotations

import base64
import hashlib
import random
import textwrap
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from t2ibench.apps.explorer.queries import Question, score_texts, similarities
from t2ibench.apps.explorer.questions import CardAsk
from t2ibench.apps.explorer.reference import Reference
from t2ibench.apps.explorer.scores import Scores
from t2ibench.apps.explorer.source import Collection, Gallery, Picture
from t2ibench.arrays import IntArray
from t2ibench.errors import T2IBenchError
from t2ibench.reports.figures.canvas import shortened
from t2ibench.results.display import WORDS
from t2ibench.store.pixels import UnreadableImageError, thumbnail

_SHOWN = 10  # images of a row
_TILE = 164  # pixels of a thumbnail's longest side, twice its size on the card
_ZERO, _HALF = 748.0, 188.0  # where the axis has its 0, and the length of either side
CAVEAT = (
    "A score describes these prompts, this model and this encoder or judge. It says nothing about "
    "real people."
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of images.

    Attributes:
        title: What they have in common.
        rule: How they were picked.
        ids: Their numbers.
        side: Of the axis, for the title's colour: 'left', 'right' or 'plain'.
    """

    title: str
    rule: str
    ids: Sequence[int]
    side: str = "plain"


@dataclass(frozen=True, slots=True)
class Content:
    """What a card says.

    Attributes:
        title: The heading.
        sentence: The result in words.
        value: The number and the ends of its interval; None where there is none.
        least: How far the axis goes at least, to either side of 0.
        poles: What its ends mean; None where the number has no direction.
        state: The state in words; 'clear' is a finding.
        n: What it is based on.
        instruments: Encoders and judges.
        rows: Rows of images.
        captions: What stands under images.
    """

    title: str
    sentence: str
    value: tuple[float | None, float | None, float | None]
    least: float
    poles: tuple[str, str] | None
    state: str
    n: str
    instruments: str
    rows: Sequence[Row]
    captions: Mapping[int, str]


def card(
    collection: Collection, gallery: Gallery, scores: Scores, reference: Reference, asked: CardAsk
) -> str:
    """Draw an evidence card. Its number is worked out here; the page cannot give one."""
    content = (
        _of_text(collection, gallery, reference, asked)
        if asked.task is None
        else _of_task(gallery, scores, asked, asked.task)
    )
    source = collection.sources[asked.run]
    made = "a folder of images"
    if source.run is not None and source.run.record.generator is not None:
        made = f"run fingerprint {source.run.record.generator.fingerprint[:16]}"
    return _template().render(
        card=content,
        sentence=textwrap.wrap(content.sentence, 118)[:2],
        tile_of=lambda number: _tile(gallery.pictures[number], content.captions.get(number, "")),
        source=" · ".join(filter(None, (source.name, made, content.instruments, "t2ibench"))),
        caveat=CAVEAT,
        **_marks(content),
    )


@lru_cache(maxsize=1)
def _template() -> jinja2.Template:
    folder = Path(__file__).parent / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["short"] = lambda text, most: _clean(shortened(text, most))
    return environment.get_template("card.svg")


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
    return {"uri": uri, "title": f"{picture.prompt}, number {picture.index}", "caption": caption}


def _marks(content: Content) -> dict[str, Any]:
    """The value and its interval in words, and where they lie on the axis."""
    value, low, high = content.value
    span = max([content.least, *(abs(x) for x in content.value if x is not None)]) or 1.0
    if content.least < 1.0:
        span *= 1.25
    digits = 2 if span >= 1 else 4
    sign = "+" if content.poles else ""
    clear = content.state == "clear"

    def at(x: float) -> float:
        return round(_ZERO + max(-1.0, min(1.0, x / span)) * _HALF, 1)

    def told(x: float, places: int, plus: str = "") -> str:
        return f"{x:{plus}.{places}f}".replace("-", "−")

    places = 0 if span == 1 else 2 if span > 0.1 else 3
    ticks = [(at(x), told(x, places, sign) if x else "0") for x in (-span, 0.0, span)]
    interval, ends = "", None
    if low is not None and high is not None:
        interval = f"95 % interval {told(low, digits)} to {told(high, digits)}"
        ends = (at(low), at(high))
    side = "plain"
    if clear and content.poles and value:
        side = "left" if value < 0 else "right"
    return {
        "value": "no score" if value is None else told(value, digits, sign),
        "interval": interval,
        "number": None if value is None else at(value),
        "ends": ends,
        "ticks": ticks if content.poles else ticks[1:],
        "clear": clear,
        "side": side,
    }


def _of_text(
    collection: Collection, gallery: Gallery, reference: Reference, asked: CardAsk
) -> Content:
    text = asked.text or ""
    names = asked.names if len(asked.names) == len(asked.anchors) else asked.anchors
    words = reference.texts(asked.anchors)
    together = list(dict.fromkeys([text, *asked.family]))  # one card is one test of many
    question = Question(together, asked.anchors, words, together, names)
    score = score_texts(collection, question)[0][asked.run]
    if score is None:
        raise T2IBenchError("Fewer than two anchors have images in this run.")
    pool = gallery.of_run(asked.run, asked.anchors)
    (values,) = similarities(collection, [text])
    called = dict(zip(asked.anchors, names, strict=True))
    captions = {k: f"{called[gallery.pictures[k].prompt]} {values[k]:.3f}" for k in pool.tolist()}
    ordered = pool[np.argsort(-values[pool], kind="stable")]
    ends = (f"least like “{text}”", f"most like “{text}”")
    least, most, some = _rows_of(ordered, ends, f"{asked.run}\0{text}", ("plain", "plain"))
    return Content(
        asked.title or f"“{text}”",
        f"{score['says'][:1].upper()}{score['says'][1:]}. Its effect "
        f"exceeds that of {score['percentile']:.0f} % of {len(words):,} everyday words.",
        (score["beyond_words"], score["beyond_low"], score["beyond_high"]),
        0.0,
        (names[1], names[0]) if len(asked.anchors) == 2 else None,
        {"leans": "clear", "no_lean": "not clear"}.get(score["verdict"], "cannot tell"),
        f"difference of mean cosines beyond the anchors' words; "
        f"{', '.join(f'{n:,}' for n in score['n'])} images",
        f"encoder {collection.encoder.name}",
        [most, least, some],
        captions,
    )


def _of_task(gallery: Gallery, scores: Scores, asked: CardAsk, name: str) -> Content:
    task = scores.task(asked.run, name)
    if task is None:
        raise T2IBenchError(f"This run has no task '{name[:80]}'.")
    found = scores.of_images(gallery, asked.run, task, asked.row)
    ids, values, labels = (found[key] for key in ("ids", "values", "labels"))
    signed = bool(values) and isinstance(values[0], float)
    captions = {
        number: f"{value:+.2f} {label}".replace("-", "−") if signed else label
        for number, value, label in zip(ids, values, labels, strict=True)
    }
    if signed:
        poles = found["poles"] or ["least", "most"]
        low, high = (f"most like {p}" if found["poles"] else f"{p}: {found['row']}" for p in poles)
        ordered = np.array(ids)[np.argsort(-np.array(values), kind="stable")]
        rows = _rows_of(ordered, (low, high), task.id)
    else:
        rows = _answered(found, task.id)
    mark, axis, settings = task.mark, task.shown.axis, task.result.settings
    used = (("encoder", settings.encoders), ("judge", settings.judges))
    return Content(
        asked.title or task.name,
        task.sentence,
        (mark.value, mark.low, mark.high),
        1.0,
        (axis.low, axis.high) if axis is not None and task.scale != "rms lean" else None,
        WORDS[mark.state],
        f"{task.scale}; {len(set(ids)):,} images",
        "; ".join(f"{kind} {', '.join(names)}" for kind, names in used if names),
        rows,
        captions,
    )


def _rows_of(
    ordered: IntArray,
    titles: tuple[str, str],
    seed: str,
    sides: tuple[str, str] = ("left", "right"),
) -> list[Row]:
    """The low end, the high end and some at random, of images from the highest to the lowest."""
    count, of = min(_SHOWN, len(ordered) // 2), f"{len(ordered):,}"
    return [
        Row(titles[0], f"the {count} lowest of {of}", ordered[::-1][:count].tolist(), sides[0]),
        Row(titles[1], f"the {count} highest of {of}", ordered[:count].tolist(), sides[1]),
        _at_random(ordered.tolist(), seed),
    ]


def _answered(found: Mapping[str, Any], seed: str) -> list[Row]:
    """Some images of the two most frequent answers, and some of all."""
    groups: dict[str, list[int]] = defaultdict(list)
    for number, value in zip(found["ids"], found["values"], strict=True):
        groups[value].append(number)
    rows = [
        _at_random(groups[value], f"{seed}\0{value}", found["said"].replace("{group}", value))
        for value in sorted(groups, key=lambda value: (-len(groups[value]), value))[:2]
    ]
    return [*rows, _at_random(found["ids"], seed)]


def _at_random(pool: Sequence[int], seed: str, title: str = "at random") -> Row:
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "little")
    every = sorted(set(pool))
    chosen = random.Random(number).sample(every, min(_SHOWN, len(every)))
    rule = f"{len(chosen)} of {len(every):,}, drawn by the card’s subject, not chosen"
    return Row(title, rule, chosen)
