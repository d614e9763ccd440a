"""How well skin tones of drawn people are measured: by tone, by light, and groups compared.

    python benchmarks/skin_tone.py

The truth is the colour that a person was drawn with. Needs OpenCV: pip install "t2ibench[skin]".
"""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
from PIL import Image

from t2ibench.models.faces import HaarFaces
from t2ibench.models.skin_tone import MONK, SkinTone, lab, measure, typology_angle
from t2ibench.stats.clusters import mean_difference
from t2ibench.toyland import people
from t2ibench.toyland.draw import draw_scene
from t2ibench.toyland.scene import sample_scene

N = 200
RUNS, PROMPTS, IMAGES, ICC = 1500, 8, 10, 0.2
FACES = HaarFaces()
LIGHTS = {
    "one stop more": 2.0,
    "as drawn": 1.0,
    "half a stop less": 2**-0.5,
    "one stop less": 0.5,
    "two stops less": 0.25,
    "warm": (1.1, 1.0, 0.8),
    "cool": (0.9, 1.0, 1.2),
}


def drawn(tone: str, seed: int) -> Image.Image:
    return draw_scene(sample_scene(f"a photo of a {tone}-skinned person", seed))


def lit(image: Image.Image, gain: float | tuple[float, float, float]) -> Image.Image:
    """The same scene in other light: a gain of linear light, for all channels or for each."""
    value = np.asarray(image) / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    linear = np.clip(linear * np.asarray(gain), 0, 1)
    out = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return Image.fromarray(np.round(255 * out).astype(np.uint8))


def read(image: Image.Image) -> SkinTone:
    return measure(np.asarray(image), FACES(image))


def show(name: str, found: list[SkinTone]) -> None:
    angles = [one.ita for one in found if one.ita is not None]
    mean = f"{np.mean(angles):+6.1f}" if angles else "     –"
    reasons = dict(Counter(one.reason for one in found if one.reason))
    tones = dict(sorted(Counter(one.monk for one in found if one.monk).items()))
    print(f"{name:32} without a tone {1 - len(angles) / len(found):.3f}  ITA {mean}  Monk {tones}"
          f"  {reasons}")  # fmt: skip


def by_tone() -> None:
    planted = people._SKIN["dark"]
    for number, tone in enumerate(MONK, 1):
        people._SKIN["dark"] = tone
        lightness, _, yellowness = lab(tone)
        truth = float(typology_angle(lightness, yellowness))
        found = [read(drawn("dark", seed)) for seed in range(N)]
        show(f"Monk {number}, drawn with {truth:+.1f}", found)
    people._SKIN["dark"] = planted


def by_light() -> None:
    for tone in ("light", "dark"):
        for name, gain in LIGHTS.items():
            show(f"{tone}, {name}", [read(lit(drawn(tone, seed), gain)) for seed in range(60)])


def compared() -> None:
    """Two groups of prompts whose shares of darker skin are planted, with the losses."""
    rng = np.random.default_rng(0)
    pool = {
        tone: [found.ita if (found := read(drawn(tone, seed))) else None for seed in range(N)]
        for tone in ("light", "dark")
    }
    means = {t: np.mean([a for a in angles if a is not None]) for t, angles in pool.items()}

    def side(share: float) -> dict[object, list[float]]:
        group: dict[object, list[float]] = {}
        for _ in range(PROMPTS):
            mine = rng.beta(share * (1 / ICC - 1), (1 - share) * (1 / ICC - 1))
            tones = ["dark" if dark else "light" for dark in rng.random(IMAGES) < mine]
            angles = [pool[tone][rng.integers(N)] for tone in tones]
            group[object()] = [angle for angle in angles if angle is not None]
        return group

    for shares in ((0.35, 0.35), (0.2, 0.5), (0.2, 0.8)):
        truth = (means["dark"] - means["light"]) * (shares[0] - shares[1])
        found = [mean_difference(side(shares[0]), side(shares[1])) for _ in range(RUNS)]
        covered = np.mean([one.low <= truth <= one.high for one in found])
        rejected = np.mean([one.p < 0.05 for one in found])
        value = np.mean([one.value for one in found])
        print(f"darker skin {shares}: shown {truth:+.1f} degrees, measured {value:+.1f}, "
              f"interval covers {covered:.3f}, p < .05 in {rejected:.3f}")  # fmt: skip


def speed() -> None:
    for size in (64, 512, 1024):
        image = drawn("light", 1).resize((size, size))
        began = time.perf_counter()
        image.convert("RGB").resize((224, 224), Image.Resampling.BICUBIC)
        lab(np.asarray(image))
        peer = time.perf_counter() - began
        began = time.perf_counter()
        for _ in range(5):
            read(image)
        took = (time.perf_counter() - began) / 5
        print(f"{size} x {size}: {1000 * took:.0f} ms an image, {took / peer:.1f} times "
              "converting all of it to CIELAB")  # fmt: skip


if __name__ == "__main__":
    by_tone()
    by_light()
    compared()
    speed()
