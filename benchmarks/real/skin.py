"""Faces found, tones given, and how well tones tell annotated groups apart, on real images."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from t2ibench.models.faces import FaceMeshes
from t2ibench.models.skin_tone import NO_FACE, SkinTone, measure

RACES = ("white", "black", "asian")
DRAWS = 4000
VALUES: dict[str, Callable[[SkinTone], float]] = {
    "L\\* − b\\*": lambda tone: tone.corrected.score,
    "ITA": lambda tone: tone.corrected.ita,
    "raw L\\* − b\\*": lambda tone: tone.raw.score,
    "raw ITA": lambda tone: tone.raw.ita,
    "the scene's light alone": lambda tone: -tone.scene,
}


@dataclass
class Measured:
    """An image with its annotated race."""

    model: str
    race: str
    tone: SkinTone


def report(folder: Path) -> str:
    """Figures of a folder of folders MODEL-baseline and MODEL-controlled with people.csv each."""
    images = read(folder)
    models = sorted({one.model for one in images})
    lines = ["| share with a face, with a tone (images) | " + " | ".join(RACES) + " |"]
    lines += ["| --- |" + " --- |" * len(RACES)]
    for model in (*models, "all"):
        cells = []
        for race in RACES:
            mine = [one.tone for one in images if one.race == race and model in (one.model, "all")]
            face = np.mean([tone.reason != NO_FACE for tone in mine])
            given = np.mean([tone.reason is None for tone in mine])
            cells.append(f"{face:.2f}, {given:.2f} ({len(mine)})")
        lines.append(f"| {model} | " + " | ".join(cells) + " |")
    lines += ["", "| AUC, white above black | " + " | ".join((*models, "all")) + " |"]
    lines += ["| --- |" + " --- |" * (len(models) + 1)]
    given_by = {
        (model, race): [
            one.tone for one in images
            if one.race == race and one.tone.reason is None and model in (one.model, "all")
        ]
        for model in (*models, "all") for race in RACES
    }  # fmt: skip
    for name, value in VALUES.items():
        cells = [
            auc(*([value(tone) for tone in given_by[model, race]] for race in ("white", "black")))
            for model in (*models, "all")
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "| median (5th, 95th percentile) | " + " | ".join(RACES) + " |"]
    lines += ["| --- |" + " --- |" * len(RACES)]
    for name, value in list(VALUES.items())[:4]:
        cells = []
        for race in RACES:
            values = [value(tone) for tone in given_by["all", race]]
            low, middle, high = np.percentile(values, [5, 50, 95])
            cells.append(f"{middle:.0f} ({low:.0f}, {high:.0f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "Intervals of AUC: 95 %, bootstrap over images; no p-value is meant."]
    return "\n".join(lines)


def read(folder: Path) -> list[Measured]:
    """Measure every image whose race is known."""
    find, found = FaceMeshes(), []
    for people in sorted(folder.glob("*/people.csv")):
        model = people.parent.name.rsplit("-", 1)[0]
        with people.open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                image = Image.open(people.parent / row["file"]).convert("RGB")
                tone = measure(np.asarray(image), find(image))
                found.append(Measured(model, row["race"], tone))
    return found


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


if __name__ == "__main__":
    import sys

    print(report(Path(sys.argv[1])))
