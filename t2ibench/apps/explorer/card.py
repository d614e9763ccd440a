"""The evidence card: a number, its interval and the images behind it, as one SVG."""

from __future__ import annotations

import hashlib
import random
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from t2ibench.apps.explorer.drawing import INK, LEFT, MUTED, QUIET, RIGHT, Drawing, Tile
from t2ibench.apps.explorer.gallery import Gallery, WrongQuestionError
from t2ibench.apps.explorer.queries import Question, score_texts, similarities
from t2ibench.apps.explorer.questions import CardAsk
from t2ibench.apps.explorer.reference import Reference
from t2ibench.apps.explorer.scores import Scores
from t2ibench.apps.explorer.source import Collection
from t2ibench.arrays import IntArray
from t2ibench.results.display import WORDS

WIDTH, HEIGHT = 1000, 600
_EDGE = 40
_SHOWN = 10
_TILE, _GAP = 82, 10
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
        tiles: Image number and caption of each.
        colour: Of the title.
    """

    title: str
    rule: str
    tiles: Sequence[tuple[int, str]]
    colour: str = INK


@dataclass(frozen=True, slots=True)
class Content:
    """What a card says.

    Attributes:
        title: The heading.
        sentence: The result in words.
        value: The number; None without one.
        low: Lower end of its interval.
        high: Upper end.
        span: The axis goes from -span to span.
        poles: What its ends mean; None where the number has no direction.
        clear: Whether the number is a finding.
        state: The state in words.
        n: What it is based on.
        instruments: Encoders and judges.
        rows: Rows of images.
    """

    title: str
    sentence: str
    value: float | None
    low: float | None
    high: float | None
    span: float
    poles: tuple[str, str] | None
    clear: bool
    state: str
    n: str
    instruments: str
    rows: Sequence[Row]


def card(
    collection: Collection, gallery: Gallery, scores: Scores, reference: Reference, asked: CardAsk
) -> str:
    """Draw an evidence card. Its number is worked out here; the page cannot give one."""
    if asked.task is not None:
        content = _of_task(collection, gallery, scores, asked)
    else:
        content = _of_text(collection, gallery, reference, asked)
    return _drawn(collection, gallery, asked.run, content)


def _of_text(
    collection: Collection, gallery: Gallery, reference: Reference, asked: CardAsk
) -> Content:
    text = asked.text or ""
    names = asked.names if len(asked.names) == len(asked.anchors) else asked.anchors
    words = reference.texts(asked.anchors)
    question = Question([text], asked.anchors, words, asked.family, names)
    score = score_texts(collection, _asked_together(question))[0][asked.run]
    if score is None:
        raise WrongQuestionError("fewer than two anchors have images in this run")
    pool = gallery.of_run(asked.run, asked.anchors)
    (values,) = similarities(collection, [text])
    called = dict(zip(asked.anchors, names, strict=True))
    captions = {
        k: f"{called[gallery.pictures[k].prompt]} {values[k]:.3f}"[:40] for k in pool.tolist()
    }
    ordered = pool[np.argsort(-values[pool], kind="stable")]
    two = len(asked.anchors) == 2
    rows = _rows_of(
        gallery,
        asked,
        ordered,
        (f"least like “{text}”", f"most like “{text}”"),
        captions,
        f"{asked.run}\0{text}",
    )
    value, low, high = (score[key] for key in ("beyond_words", "beyond_low", "beyond_high"))
    ends = [abs(x) for x in (value, low, high) if x is not None]
    clear = score["verdict"] == "leans"
    return Content(
        asked.title or f"“{text}”",
        f"{score['says'][:1].upper()}{score['says'][1:]}. Its effect "
        f"exceeds that of {score['percentile']:.0f} % of {len(words):,} everyday words.",
        value,
        low,
        high,
        max(ends) * 1.25 or 1.0,
        (names[1], names[0]) if two else None,
        clear,
        {"leans": "clear", "no_lean": "not clear"}.get(score["verdict"], "cannot tell"),
        f"difference of mean cosines beyond the anchors' words; "
        f"{', '.join(f'{n:,}' for n in score['n'])} images",
        f"encoder {collection.encoder.name}",
        [replace(row, colour=INK) for row in (rows[1], rows[0], rows[2])],
    )


def _asked_together(question: Question) -> Question:
    """The question with all texts that are tested together: one card is one test of many."""
    more = [text for text in question.family if text not in question.texts]
    return Question(
        [*question.texts, *more],
        question.anchors,
        question.reference,
        [*question.texts, *more],
        question.names,
    )


def _of_task(collection: Collection, gallery: Gallery, scores: Scores, asked: CardAsk) -> Content:
    task = scores.task(asked.run, asked.task or "")
    if task is None:
        raise WrongQuestionError(f"this run has no task '{(asked.task or '')[:80]}'")
    found = scores.of_images(gallery, asked.run, task, asked.row)
    ids = np.array(found["ids"], dtype=np.int64)
    numeric = bool(found["values"]) and isinstance(found["values"][0], float)
    poles = found["poles"] or ["least", "most"]
    name = found["row"]
    if numeric:
        order = np.argsort(-np.array(found["values"], dtype=np.float64), kind="stable")
        said = [f"most like {pole}" if found["poles"] else f"{pole}: {name}" for pole in poles]
        captions = {
            number: f"{value:+.2f} {label}".replace("-", "−")[:40]
            for number, value, label in zip(
                found["ids"], found["values"], found["labels"], strict=True
            )
        }
        rows = _rows_of(gallery, asked, ids[order], (said[0], said[1]), captions, task.id)
    else:
        rows = _answered(gallery, asked, found, task.id)
    mark, shown = task.mark, task.shown.axis
    ends = [abs(x) for x in (mark.value, mark.low, mark.high) if x is not None]
    settings = task.result.settings
    told = f"encoder {', '.join(settings.encoders)}" if settings.encoders else ""
    judged = f"judge {', '.join(settings.judges)}" if settings.judges else ""
    return Content(
        asked.title or task.name,
        task.sentence,
        mark.value,
        mark.low,
        mark.high,
        max([1.0, *ends]),
        (shown.low, shown.high) if shown is not None and task.scale != "rms lean" else None,
        mark.state == "clear",
        WORDS[mark.state],
        f"{task.scale}; {len(np.unique(ids)):,} images",
        "; ".join(part for part in (told, judged) if part),
        rows,
    )


def _rows_of(
    gallery: Gallery,
    asked: CardAsk,
    ordered: IntArray,
    titles: tuple[str, str],
    captions: dict[int, str],
    seed: str,
) -> list[Row]:
    """The low end, the high end and some at random, of images from the highest to the lowest."""
    count = min(_SHOWN, len(ordered) // 2)
    lowest, highest = ordered[::-1][:count].tolist(), ordered[:count].tolist()
    rows = []
    for title, ids, hand, end, colour in (
        (titles[0], lowest, asked.ids_low, "lowest", LEFT),
        (titles[1], highest, asked.ids_high, "highest", RIGHT),
    ):
        if hand:
            chosen = gallery.numbers(hand, asked.run).tolist()[:_SHOWN]
            rows.append(Row("chosen by hand", "not a sample", _tiles(chosen, captions)))
        else:
            rule = f"the {count} {end} of {len(ordered):,}"
            rows.append(Row(title, rule, _tiles(ids, captions), colour))
    return [*rows, _at_random(ordered, captions, seed)]


def _answered(gallery: Gallery, asked: CardAsk, found: dict[str, Any], seed: str) -> list[Row]:
    """Some images of the two most frequent answers, and some of all."""
    groups: dict[str, list[int]] = {}
    for number, value in zip(found["ids"], found["values"], strict=True):
        groups.setdefault(value, []).append(number)
    captions = dict(zip(found["ids"], found["labels"], strict=True))
    rows = []
    frequent = sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))[:2]
    for hand, (value, members) in zip((asked.ids_low, asked.ids_high), frequent, strict=False):
        if hand:
            chosen = gallery.numbers(hand, asked.run).tolist()[:_SHOWN]
            rows.append(Row("chosen by hand", "not a sample", _tiles(chosen, captions)))
        else:
            drawn = _at_random(np.array(members), captions, f"{seed}\0{value}")
            title = found["said"].replace("{group}", value)
            rows.append(Row(title, drawn.rule, drawn.tiles))
    return [*rows, _at_random(np.array(found["ids"], dtype=np.int64), captions, seed)]


def _at_random(pool: IntArray, captions: dict[int, str], seed: str) -> Row:
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "little")
    every = sorted(set(pool.tolist()))
    chosen = random.Random(number).sample(every, min(_SHOWN, len(every)))
    rule = f"{len(chosen)} of {len(every):,}, drawn by the card’s subject, not chosen"
    return Row("at random", rule, _tiles(chosen, captions))


def _tiles(ids: Sequence[int], captions: dict[int, str]) -> list[tuple[int, str]]:
    return [(number, captions.get(number, "")) for number in ids]


def _drawn(collection: Collection, gallery: Gallery, run: int, content: Content) -> str:
    spoken = f"{content.title}. {content.sentence} {content.state}."
    drawing = Drawing(WIDTH, HEIGHT, spoken)
    drawing.text(_EDGE, 50, content.title, 26, INK, serif=True, bold=True, most=62)
    for number, line in enumerate(textwrap.wrap(content.sentence, 118)[:2]):
        drawing.text(_EDGE, 78 + 20 * number, line, 15, MUTED, most=124)
    _number(drawing, content)
    top = 192.0
    for row in content.rows[:3]:
        drawing.text(_EDGE, top, row.title, 13, row.colour, bold=True, most=70)
        drawing.text(WIDTH - _EDGE, top, row.rule, 12, QUIET, anchor="end", most=70)
        for place, (number, caption) in enumerate(row.tiles):
            left = _EDGE + place * (_TILE + _GAP)
            tile = Tile(left, top + 8, _TILE, caption, gallery.pictures[number])
            drawing.picture(tile)
        top += _TILE + 40
    _foot(drawing, collection, run, content)
    return drawing.svg()


def _number(drawing: Drawing, content: Content) -> None:
    """The value, its interval and the axis."""
    colour = INK
    if content.clear and content.poles is not None and content.value:
        colour = LEFT if content.value < 0 else RIGHT
    digits = 2 if content.span >= 1 else 4
    if content.value is None:
        drawing.text(_EDGE, 140, "no score", 22, QUIET, bold=True)
    else:
        sign = "+" if content.poles is not None else ""
        told = f"{content.value:{sign}.{digits}f}".replace("-", "−")
        drawing.text(_EDGE, 140, told, 28, colour, bold=True)
    if content.low is not None and content.high is not None:
        ends = f"95 % interval {content.low:.{digits}f} to {content.high:.{digits}f}"
        drawing.text(_EDGE + 150, 131, ends.replace("-", "−"), 13, MUTED)
    drawing.text(_EDGE + 150, 149, content.state, 13, INK, bold=True)
    drawing.text(_EDGE, 168, content.n, 12, QUIET, most=90)
    drawing.rail(
        (560, 936, 136),
        content.span,
        (content.value, content.low, content.high),
        (content.clear, content.state == "cannot tell"),
        colour,
        half=content.poles is None,
    )
    if content.poles is not None:
        drawing.text(560, 163, f"◂ {content.poles[0]}", 13, LEFT, bold=True, most=24)
        drawing.text(936, 163, f"{content.poles[1]} ▸", 13, RIGHT, anchor="end", bold=True, most=24)


def _foot(drawing: Drawing, collection: Collection, run: int, content: Content) -> None:
    source = collection.sources[run]
    made = "a folder of images"
    if source.run is not None and source.run.record.generator is not None:
        made = f"run fingerprint {source.run.record.generator.fingerprint[:16]}"
    line = " · ".join(part for part in (source.name, made, content.instruments, "t2ibench") if part)
    drawing.text(_EDGE, HEIGHT - 34, line, 12, MUTED, most=140)
    drawing.text(_EDGE, HEIGHT - 16, CAVEAT, 11, QUIET, most=190)
