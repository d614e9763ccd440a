"""Sample a scene, which is everything that an image shows, from a caption and a seed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from t2ibench.toyland.caption import Caption, parse
from t2ibench.toyland.framing import light_of
from t2ibench.toyland.world import AXES, BiasSettings

if TYPE_CHECKING:
    from t2ibench.arrays import Float64Array


@dataclass(frozen=True, slots=True)
class Person:
    """A person in a scene.

    Attributes:
        gender: Presentation, such as 'female'.
        skin: 'dark' or 'light'.
        age: Such as 'adult'.
        hair: Colour of the hair, from 0 (dark) to 1.
        shade: Variation of the skin's tone, from -1 to 1.
    """

    gender: str
    skin: str
    age: str
    hair: float
    shade: float


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that an image shows.

    Attributes:
        kind: One of world.KINDS.
        noun: The thing that decides what the subject looks like.
        weather: 'pleasant' or 'unpleasant'.
        people: Of kind 'person', one person or three.
        shift: How far the subject is moved to the right and down, in 64ths of the image.
        scale: Size of the subject, about 1.
        jitter: Eight further small variations, from -1 to 1.
        light: How bright a plain sky is, from 0 to 1; None for one with weather.
        clothes: What decides the colour of clothes; None for the noun.
        ground: The place whose ground it is: 'beach' or 'street'; None for a meadow.
    """

    kind: str
    noun: str
    weather: str
    people: tuple[Person, ...]
    shift: tuple[float, float]
    scale: float
    jitter: tuple[float, ...]
    light: float | None = None
    clothes: str | None = None
    ground: str | None = None


def look(noun: str) -> tuple[float, ...]:
    """Return eight numbers from 0 to 1, a hash of a noun, that decide its appearance."""
    digest = hashlib.sha256(noun.encode()).digest()
    return tuple(byte / 255 for byte in digest[:8])


def sample_scene(caption: str, seed: int, biases: BiasSettings | None = None) -> Scene:
    """Return a scene with the values that a caption fixes; others are sampled from shares.

    The same random numbers are sampled whatever the caption fixes. So with the same seed and other
    bias settings, a value changes only if the change of its share passes its random number.
    """
    import numpy as np  # models are listed without it

    settings = biases or BiasSettings()
    content = parse(caption)
    numbers = np.random.Generator(np.random.PCG64(seed)).random(32)
    weather = content.weather
    if weather is None:
        is_first = float(numbers[0]) < settings.share("weather", content.things)
        weather = AXES["weather"][0 if is_first else 1]
    people = []
    if content.kind == "person":
        for index in range(3 if content.several else 1):
            start = 4 + 5 * index
            person = _sample_person(content, settings, numbers[start : start + 5])
            people.append(person)
    to_the_right = float(4 * numbers[1] - 2)
    down = float(2 * numbers[2] - 1)
    light = None
    if settings.framing and people:
        light = light_of(people[0].gender, is_framed=content.described)
    return Scene(
        kind=content.kind,
        noun=content.noun,
        weather=weather,
        people=tuple(people),
        shift=(to_the_right, down),
        scale=float(0.92 + 0.16 * numbers[3]),
        jitter=tuple(float(2 * number - 1) for number in numbers[20:28]),
        light=light,
    )


def _sample_person(
    content: Caption, settings: BiasSettings, numbers: Float64Array
) -> Person:
    """Return a person sampled with five random numbers: gender, skin, age, hair and shade."""
    fixed = {"gender": content.gender, "skin": content.skin, "age": content.age}
    values: dict[str, str] = {}
    sampled: dict[str, str] = {}
    for number, (axis, value) in zip(numbers.tolist(), fixed.items(), strict=False):
        if value is None:
            is_first = number < settings.following(axis, sampled, content.things)
            sampled[axis] = AXES[axis][0 if is_first else 1]
        values[axis] = value or sampled[axis]
    return Person(
        gender=values["gender"],
        skin=values["skin"],
        age=values["age"],
        hair=float(numbers[3]),
        shade=float(2 * numbers[4] - 1),
    )
