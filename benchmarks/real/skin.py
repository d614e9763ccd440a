"""Faces found, tones given, and how well tones tell annotated groups apart, on real images."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from t2ibench.models.faces import FaceMeshes
from t2ibench.models.skin_tone import NO_FACE, SkinTone, linear, measure

RACES = {"white": "white", "black": "black", "asian": "asian", "mixed": "several people"}
DRAWS = 4000
ALL = "all"
VALUES: dict[str, Callable[[SkinTone], float]] = {
    "L\\* − b\\*": lambda tone: tone.corrected.score,
    "ITA": lambda tone: tone.corrected.ita,
    "L\\*": lambda tone: tone.corrected.lightness,
    "raw L\\* − b\\*": lambda tone: tone.raw.score,
    "raw ITA": lambda tone: tone.raw.ita,
    "darkness of the scene alone": lambda tone: -tone.scene,
}
LIGHTS = {  # linear light is multiplied by
    "two stops less light": (0.25, 0.25, 0.25),
    "a warm tint": (1.2, 1.0, 0.7),
    "a cool tint": (0.8, 1.0, 1.3),
}


class Measured(NamedTuple):
    """An image with its annotated race, and its tones in other lights."""

    model: str
    race: str
    tone: SkinTone
    lit: dict[str, SkinTone]


def report(folder: Path) -> str:
    """Figures of a folder of folders MODEL-baseline and MODEL-controlled with people.csv each."""
    images = list(read(folder))
    models = [*sorted({one.model for one in images}), ALL]

    def of(model: str, race: str) -> list[Measured]:
        return [one for one in images if one.race == race and model in (one.model, ALL)]

    def tones(model: str, race: str) -> list[SkinTone]:
        return [one.tone for one in of(model, race) if one.tone.reason is None]

    lines = ["## Skin tone in pixels", ""]
    lines += header("share with a face, with a tone (images)", RACES.values())
    for model in models:
        cells = []
        for race in RACES:
            mine = [one.tone for one in of(model, race)]
            found = sum(tone.reason != NO_FACE for tone in mine) / max(len(mine), 1)
            given = sum(tone.reason is None for tone in mine) / max(len(mine), 1)
            cells.append(f"{found:.2f}, {given:.2f} ({len(mine)})" if mine else "–")
        lines.append(row(model, cells))
    for above, below in (("white", "black"), ("asian", "black")):
        lines += ["", *header(f"AUC, {above} above {below}", models)]
        for name, value in VALUES.items():
            pairs = [[list(map(value, tones(m, race))) for race in (above, below)] for m in models]
            lines.append(row(name, [auc(*pair) for pair in pairs]))
    lines += ["", *header("median (5th, 95th percentile)", list(RACES.values())[:3])]
    for name, value in list(VALUES.items())[:-1]:
        cells = []
        for race in list(RACES)[:3]:
            low, middle, high = np.percentile(list(map(value, tones(ALL, race))), [5, 50, 95])
            cells.append(f"{middle:.0f} ({low:.0f}, {high:.0f})")
        lines.append(row(name, cells))
    lines += ["", *header("median change of L\\* − b\\*, ITA, raw ITA", ["white", "black"])]
    for light in LIGHTS:
        cells = []
        for race in ("white", "black"):
            pairs = [
                (one.tone, one.lit[light]) for one in of(ALL, race)
                if one.tone.reason is None and one.lit[light].reason is None
            ]  # fmt: skip
            values = [VALUES[name] for name in ("L\\* − b\\*", "ITA", "raw ITA")]
            moved = [np.median([value(b) - value(a) for a, b in pairs]) for value in values]
            cells.append(", ".join(f"{change:+.0f}" for change in moved))
        lines.append(row(light, cells))
    lines += ["", "Intervals of AUC: 95 %, bootstrap over images."]
    return "\n".join(lines)


def header(title: str, columns: Iterable[str]) -> list[str]:
    """The first two lines of a table."""
    columns = list(columns)
    return [row(title, columns), row("---", ["---"] * len(columns))]


def row(title: str, cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join([title, *cells])} |"


def read(folder: Path) -> Iterable[Measured]:
    """Measure every image whose race is known."""
    find = FaceMeshes()
    for people in sorted(folder.glob("*/people.csv")):
        model = people.parent.name.rsplit("-", 1)[0]
        with people.open(encoding="utf-8", newline="") as stream:
            for given in csv.DictReader(stream):
                image = Image.open(people.parent / given["file"]).convert("RGB")
                pixels, meshes = np.asarray(image), find(image)
                lit = {name: measure(relit(pixels, gain), meshes) for name, gain in LIGHTS.items()}
                yield Measured(model, given["race"], measure(pixels, meshes), lit)


def relit(pixels: np.ndarray, gain: tuple[float, float, float]) -> np.ndarray:
    """The same picture in another light."""
    light = np.clip(linear(pixels) * gain, 0, 1)
    out = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.round(255 * out).astype(np.uint8)


def auc(above: list[float], below: list[float]) -> str:
    """The probability that a value of one group exceeds one of the other, with its interval."""
    if min(len(above), len(below)) < 2:
        return "–"
    wins = np.sign(np.subtract.outer(above, below)) / 2 + 0.5
    rng = np.random.default_rng(0)
    draws = [
        wins[np.ix_(*(rng.integers(size, size=size) for size in wins.shape))].mean()
        for _ in range(DRAWS)
    ]
    low, high = np.percentile(draws, [2.5, 97.5])
    return f"{wins.mean():.2f} [{low:.2f}, {high:.2f}] ({len(above)} v {len(below)})"
