"""From a caption and a seed to everything an image shows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.toyland.caption import parse
from t2ibench.toyland.world import AXES, BiasSettings


@dataclass(frozen=True, slots=True)
class Person:
    """One person: presentation, a hair colour from 0 to 1, and a shade of skin from -1 to 1."""

    gender: str
    skin: str
    age: str
    hair: float
    shade: float


@dataclass(frozen=True, slots=True)
class Scene:
    """What is in an image: of kind 'person', one or three.

    The subject is moved by `shift`, in 64ths of the image, and scaled; `jitter` holds further small
    variations, from -1 to 1.
    """

    kind: str
    noun: str
    weather: str
    people: tuple[Person, ...]
    shift: tuple[float, float]
    scale: float
    jitter: tuple[float, ...]


def look(noun: str) -> tuple[float, ...]:
    """Eight numbers from 0 to 1 that decide how a noun looks, the same everywhere."""
    digest = hashlib.sha256(noun.encode()).digest()
    return tuple(byte / 255 for byte in digest[:8])


def sample_scene(caption: str, seed: int, biases: BiasSettings | None = None) -> Scene:
    """Draw what the caption leaves open.

    The same numbers are drawn whatever the caption fixes, so two bias settings share their noise:
    an image changes only where a share passes its number.
    """
    chosen, what = biases or BiasSettings(), parse(caption)
    rng = np.random.Generator(np.random.PCG64(seed))
    numbers = rng.random(32)

    def pick(axis: str, fixed: str | None, number: float) -> str:
        if fixed is not None:
            return fixed
        return AXES[axis][0 if number < chosen.share(axis, what.things) else 1]

    def person(own: Float64Array) -> Person:
        values: dict[str, str] = {}
        drawn: dict[str, str] = {}
        fixed = {"gender": what.gender, "skin": what.skin, "age": what.age}
        for number, (axis, value) in zip(own.tolist(), fixed.items(), strict=False):
            if value is None:
                first = number < chosen.following(axis, drawn, what.things)
                drawn[axis] = AXES[axis][0 if first else 1]
            values[axis] = value or drawn[axis]
        return Person(**values, hair=float(own[3]), shade=float(2 * own[4] - 1))

    people = []
    if what.kind == "person":
        for index in range(3 if what.several else 1):
            people.append(person(numbers[4 + 5 * index : 9 + 5 * index]))
    return Scene(
        what.kind,
        what.noun,
        pick("weather", what.weather, float(numbers[0])),
        tuple(people),
        (float(4 * numbers[1] - 2), float(2 * numbers[2] - 1)),
        float(0.92 + 0.16 * numbers[3]),
        tuple(float(2 * number - 1) for number in numbers[20:28]),
    )
