"""What the bundled models are trained on: captions, and the images toyland draws of them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from t2ibench.toyland import BiasSettings, draw
from t2ibench.toyland.caption import parse
from t2ibench.toyland.world import world

# Every share at one half: what `toy-fair`, the autoencoder and `toy-clip` learn from.
FAIR = BiasSettings({"all": {"gender": 0.5, "skin": 0.5, "age": 0.5, "weather": 0.5}})
_GENDERS = [
    *(
        "male",
        "female",
        "man",
        "woman",
        "boy",
        "girl",
        "son",
        "daughter",
        "brother",
        "sister",
    ),
    *("father", "mother", "nonbinary person", "person", "person", "child"),
]
_OPENINGS = ["a photo of", "a picture of", "an image of", "a portrait of"]


@lru_cache(maxsize=1)
def written_captions() -> list[str]:
    """The prompts and texts of the shipped tasks, and of the papers they come from."""
    path = Path(__file__).with_name("captions.txt")
    return path.read_text(encoding="utf-8").splitlines()


@lru_cache(maxsize=1)
def _nouns() -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for phrase, (_, _, kind) in world().things.items():
        kinds.setdefault(kind, []).append(" ".join(phrase))
    return kinds


def _composed(rng: np.random.Generator) -> str:
    """A caption of words that toyland knows, put together anew."""
    kinds, which = _nouns(), rng.random()
    opening = str(rng.choice(_OPENINGS))
    skin = str(rng.choice(["", "", "", "light-skinned ", "dark-skinned "]))
    age = str(rng.choice(["", "", "", "old ", "young "]))
    if which < 0.35:
        kind = str(rng.choice([kind for kind in kinds if kind != "person"]))
        caption = f"{opening} {rng.choice(kinds[kind])}"
    elif which < 0.6:
        caption = f"{opening} a {skin}{age}{rng.choice(_GENDERS)}"
    else:
        gender = str(rng.choice(["", "male ", "female "]))
        caption = f"{opening} a {skin}{age}{gender}{rng.choice(kinds['person'])}"
    if rng.random() < 0.35:
        caption += f", {rng.choice(_weather_words())}"
    return caption


@lru_cache(maxsize=1)
def _weather_words() -> list[str]:
    return [
        " ".join(phrase)
        for phrase, fixed in world().fixed.items()
        if "weather" in fixed
    ]


@lru_cache(maxsize=1)
def leaning_captions() -> list[str]:
    """The written captions whose images lean somewhere: their thing's share is not one half."""
    shares = world().shares

    def leans(text: str) -> bool:
        what = parse(text)
        return any(
            getattr(what, axis) is None and share != 0.5
            for thing in what.things
            for axis, share in shares.get(thing, {}).items()
        )

    return [text for text in written_captions() if " " in text and leans(text)]


def caption_pool(
    seed: int,
    count: int,
    *,
    written: float = 0.6,
    leaning: float = 0.0,
    phrases_only: bool = False,
) -> list[str]:
    """Captions to draw: a share of the written ones, the rest composed.

    Args:
        seed: Of the choice.
        count: How many.
        written: Share of the written ones.
        leaning: Share of written ones that lean somewhere, on top of those.
        phrases_only: Leave single words out, which are embedded but never drawn.
    """
    rng = np.random.default_rng(seed)
    known = [text for text in written_captions() if " " in text or not phrases_only]
    captions = []
    for _ in range(count):
        if leaning and rng.random() < leaning:
            captions.append(
                str(leaning_captions()[rng.integers(len(leaning_captions()))])
            )
        elif rng.random() < written:
            captions.append(str(known[rng.integers(len(known))]))
        else:
            captions.append(_composed(rng))
    return captions


def meaning(caption: str) -> tuple[Any, ...]:
    """What decides a caption's images; captions of one meaning are drawn alike."""
    what = parse(caption)
    return (
        what.kind,
        what.noun,
        what.gender,
        what.skin,
        what.age,
        what.weather,
        what.several,
    )


def pictures(captions: list[str], biases: BiasSettings, seed: int) -> torch.Tensor:
    """uint8, shape (n, 3, 64, 64)."""
    rows = np.empty((len(captions), 64, 64, 3), dtype=np.uint8)
    for number, caption in enumerate(captions):
        rows[number] = np.asarray(draw(caption, seed + number, biases))
    return torch.from_numpy(rows).permute(0, 3, 1, 2).contiguous()


def scaled(batch: torch.Tensor) -> torch.Tensor:
    """Pixels from -1 to 1."""
    return batch.float() / 127.5 - 1
