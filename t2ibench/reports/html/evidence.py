"""The images behind a task's headline: the highest, the lowest, and always a random sample.

None is picked by hand: they follow from the samples and the task's id.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from markupsafe import Markup

from t2ibench.methods.core.answer_counts import sorted_rows
from t2ibench.methods.core.describe import GROUP, people
from t2ibench.methods.core.presentation import ImageGroups, ImageSeries
from t2ibench.reports.html.numbers import signed
from t2ibench.reports.html.templating import fragment
from t2ibench.reports.view import TaskView
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import ImageFile

SHOWN = 5  # images in a strip
_STRIPS = 5  # of a test that asks a judge
_PROMPTS = 40  # rows of an attribute that have images
_EACH = 2  # of each prompt that a judge was asked about
_FEW = 12  # prompts, up to which each shows as many as a strip
_SIDE = 80
_QUALITY = 45
_LETTERS = 12  # of the name of a file

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Tile:
    """An image of a strip as a data URI, with its texts; None if its file is missing or changed.

    Its text is its prompt and number, never a guess about who is shown.
    """

    source: str | None
    alt: str
    caption: str
    number: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Strip:
    """A row of images, with its title and how they were chosen; `side` is their end of the axis."""

    title: str
    rule: str
    tiles: tuple[Tile, ...]
    side: str = ""


@dataclass(slots=True)
class Thumbnails:
    """Small WebP versions of a run's images, each made once, up to a limit of total size.

    From the first that would make all data URIs larger than the budget on, none is shown.
    """

    folder: Path
    budget: int = 3_500_000
    side: int = _SIDE
    quality: int = _QUALITY
    made: dict[str, str | None] = field(default_factory=dict)
    size: int = 0
    full: bool = False

    def of(self, row: Mapping[str, Any]) -> str | None:
        """Return the thumbnail of a sample's image as a data URI; None if there is none."""
        file = row.get("file")
        sha256 = row.get("sha256")
        if self.full or not isinstance(file, str) or not isinstance(sha256, str):
            return None
        if sha256 not in self.made:
            named, self.made[sha256] = PurePosixPath(file), None
            if not named.is_absolute() and ".." not in named.parts:
                with contextlib.suppress(UnreadableImageError):
                    small = ImageFile(self.folder / named, sha256).read()
                    small.thumbnail((self.side, self.side))
                    buffer = io.BytesIO()
                    small.save(buffer, format="WEBP", quality=self.quality, method=6)
                    data = base64.b64encode(buffer.getvalue()).decode()
                    self.made[sha256] = f"data:image/webp;base64,{data}"
        image = self.made[sha256]
        self.full = self.size + len(image or "") > self.budget
        if self.full:
            return None
        self.size += len(image or "")
        return image


def evidence(task: TaskView, samples: Rows, thumbnails: Thumbnails) -> Markup | None:
    """Return a page's part with the images behind a task's headline; None if it has none."""
    rows = [row for row in samples if isinstance(row.get("file"), str)]
    series = task.shown.images
    strips = []
    title = ""
    if isinstance(series, ImageSeries):
        strips = _ends(task.id, series, rows, thumbnails)
        title = f"The images, by {series.noun}"
    elif isinstance(series, ImageGroups):
        scored = [
            (abs(row.scores[series.row].value or 0.0), row.name)
            for row in task.result.by
            if series.row in row.scores and row.scores[series.row].value is not None
        ]
        if scored:  # the row that leans most
            name = max(scored)[1]
            strips = _groups(task.id, name, series, rows, thumbnails)
            title = f"The images behind “{name}”"
    return fragment("evidence.html", strips=strips, title=title) if strips else None


def of_prompts(
    task: TaskView, samples: Rows, thumbnails: Thumbnails
) -> dict[tuple[str, str], tuple[Tile, ...]]:
    """Return a few images of each prompt with the judge's answer, keyed by question and prompt."""
    shown = task.shown.images
    if not task.prompts or not isinstance(shown, ImageGroups):
        return {}
    wanted = {
        (attribute.counted.attribute, row.counted.name)
        for attribute in task.prompts
        for row in sorted_rows(attribute)[:_PROMPTS]
    }
    images: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in samples:
        prompt = str(row.get("prompt"))
        name = shown.stimuli.get(prompt, prompt)
        for attribute in task.prompts if isinstance(row.get("file"), str) else ():
            key = (attribute.counted.attribute, name)
            if key in wanted and shown.of(key[0], row) is not None:
                images.setdefault(key, []).append(row)
    tiles = {}
    few = len(images) <= _FEW
    for key, rows in images.items():
        drawn = drawn_rows("\0".join([task.id, *key]), rows)[: SHOWN if few else _EACH]
        tiles[key] = tuple(
            _tile(row, thumbnails, None, shown.of(key[0], row)) for row in drawn
        )
    return tiles


def _ends(
    task: str, series: ImageSeries, rows: Rows, thumbnails: Thumbnails
) -> list[Strip]:
    key = series.value
    axis = series.axis
    valued = [
        row
        for row in rows
        if isinstance(row.get(key), float) and math.isfinite(row[key])
    ]
    if not valued:
        return []
    ordered = sorted(valued, key=lambda row: (row[key], row["file"]))
    count = min(SHOWN, len(ordered) // 2)
    drawn = drawn_rows(task, valued)
    total = f"of {len(valued):,}"
    low, high = (f"most like {people(name, GROUP)}" for name in (axis.low, axis.high))
    parts = [
        (low, f"the {count} lowest {total}", ordered[:count], "left"),
        (high, f"the {count} highest {total}", ordered[::-1][:count], "right"),
        ("at random", _seeded(len(drawn)), drawn, ""),
    ]
    strips = []
    for title, rule, chosen, side in parts:
        tiles = tuple(
            _tile(row, thumbnails, row[key], row[series.caption]) for row in chosen
        )
        strips.append(Strip(title, rule, tiles, side))
    return strips


def _groups(
    task: str, name: str, series: ImageGroups, rows: Rows, thumbnails: Thumbnails
) -> list[Strip]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        group = series.of(name, row)
        if group is not None:
            groups.setdefault(group, []).append(row)
    value = series.value or (lambda *_: None)
    strips = []
    for group, members in sorted(groups.items(), key=lambda pair: -len(pair[1]))[
        :_STRIPS
    ]:
        chosen = drawn_rows(f"{task}\0{group}", members)
        rule = "at random"
        if series.value is not None:
            chosen = sorted(members, key=lambda row: -(value(name, row) or 0.0))[:SHOWN]
            rule = f"most like “{name}”"
        tiles = tuple(_tile(row, thumbnails, value(name, row)) for row in chosen)
        caption = series.phrase.format(group=group)
        strips.append(
            Strip(caption, f"{len(tiles)} of {len(members):,}, {rule}", tiles)
        )
    if series.value is not None and len(strips) < _STRIPS:
        drawn = drawn_rows(
            task, [row for members in groups.values() for row in members]
        )
        tiles = tuple(_tile(row, thumbnails, None) for row in drawn)
        strips.append(Strip("at random", _seeded(len(drawn)), tiles))
    return strips


def drawn_rows(
    seed: str,
    rows: Rows,
    *,
    most: int = SHOWN,
    files: Sequence[str] = ("file",),
) -> list[Mapping[str, Any]]:
    """Return at most some rows, drawn with a seed and independently of the order of rows.

    Args:
        seed: What decides which are drawn.
        rows: All of them.
        most: How many are drawn at most.
        files: The columns that a row is known by.
    """
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "little")
    ordered = sorted(rows, key=lambda row: [str(row[name]) for name in files])
    return random.Random(number).sample(ordered, min(most, len(ordered)))


def _seeded(count: int) -> str:
    return f"{count} drawn by the task’s id, not chosen"


def _tile(
    row: Mapping[str, Any],
    thumbnails: Thumbnails,
    value: float | None,
    caption: object = None,
) -> Tile:
    prompt = str(row.get("prompt", ""))
    caption = prompt if caption is None else caption
    number = "" if value is None else signed(value)
    used = rewritten_to(row)
    alt = f"{prompt}{used}, number {row.get('index')}" + (
        f", {number}" if number else ""
    )
    return Tile(
        thumbnails.of(row), alt, f"{caption}{used}", number, beginning_of_file(row)
    )


def beginning_of_file(row: Mapping[str, Any]) -> str:
    """Return how the name of a sample's image file begins, which finds it in the run's folder."""
    return PurePosixPath(str(row["file"])).name[:_LETTERS]


def rewritten_to(row: Mapping[str, Any]) -> str:
    """Return the prompt that a model used instead, as text to follow the prompt; "" if the same."""
    used = row.get("revised_prompt")
    return f" → “{used}”" if isinstance(used, str) else ""
