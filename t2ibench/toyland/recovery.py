"""Recover the scene that an image shows from its pixels, so that it can be drawn again.

The reader recognises the attributes. What it knows nothing of, the figure's place and size, the
colour of clothes and hair and the shade of the skin, is found by drawing: of the scenes that could
have been drawn, the one whose pixels differ least from the image. All comparisons are of integers,
so that the result is the same on every processor.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from t2ibench.toyland import reader
from t2ibench.toyland.caption import nouns_of_people
from t2ibench.toyland.draw import (
    GROUNDS,
    SIZE,
    clothes_colour,
    draw_scene,
    place_on_person,
)
from t2ibench.toyland.people import SKIN
from t2ibench.toyland.reader import PixelArray, Reading
from t2ibench.toyland.scene import Person, Scene
from t2ibench.toyland.world import world

if TYPE_CHECKING:
    from PIL.Image import Image

# In 64ths of the image, and as a factor: how far a place and a size are tried to either side.
_STEPS_OF_PLACE = (1.0, 0.5, 0.25)
_STEPS_OF_SCALE = (0.04, 0.02, 0.01)
_LARGEST_SHIFT = (2.0, 1.0)
_SCALES = (0.92, 1.08)
_HAIR = (0.0, 0.5, 1.0)
_NEAREST_OUTFITS = 6
_STILL = (0.0,) * 8  # the middle of all small variations
_CHEST = (0.0, 36.0)
_CHEEK = (0.0, 21.5)


def recover_scene(image: Image) -> Scene:
    """Return the scene whose drawing is most like an image, as far as pixels tell.

    Args:
        image: An image of toyland, or one that imitates it; of any size.

    Returns:
        A scene with the attributes that the reader recognises, and with sun, clouds and rain at
        their middle places. Each of several people is the one whose drawing differs least.
    """
    return _recovered(reader.prepare(image).tobytes())


@lru_cache(maxsize=4096)
def _recovered(data: bytes) -> Scene:
    """Return the scene of 64 x 64 RGB pixels."""
    pixels = np.frombuffer(data, dtype=np.uint8).reshape(SIZE, SIZE, 3)
    reading = reader.split(reader.outputs([pixels])[0])
    if reading.top("kind") == "person":
        return _recovered_people(pixels, reading)
    return _recovered_thing(pixels, reading)


def _recovered_people(pixels: PixelArray, reading: Reading) -> Scene:
    person = Person(
        gender=reading.top("gender"),
        skin=reading.top("skin"),
        age=reading.top("age"),
        hair=_HAIR[0],
        shade=0.0,
    )
    number = 3 if reading.top("several") == "several" else 1
    scene = Scene(
        kind="person",
        noun="person",
        weather=reading.top("weather"),
        people=(person,) * number,
        shift=(0.0, 0.0),
        scale=1.0,
        jitter=_STILL,
    )
    scene = _on_ground(pixels, scene)
    scene = _in_place(pixels, _dressed(pixels, scene)[0])
    scene = _nearest(pixels, _dressed(pixels, scene))
    scene = _with_people(scene, shade=_shade(pixels, scene))
    scene = _nearest(pixels, (_with_people(scene, hair=hair) for hair in _HAIR))
    scene = _in_place(pixels, scene)
    return scene if number == 1 else _with_each_person(pixels, scene)


def _recovered_thing(pixels: PixelArray, reading: Reading) -> Scene:
    kind = reading.top("kind")
    things = world().things.values()
    nouns_of_kind = sorted(
        {thing for thing, _, kind_of_thing in things if kind_of_thing == kind}
    )
    scene = Scene(
        kind=kind,
        noun=kind,
        weather=reading.top("weather"),
        people=(),
        shift=(0.0, 0.0),
        scale=1.0,
        jitter=_STILL,
    )
    nouns = (replace(scene, noun=noun) for noun in nouns_of_kind or [kind])
    return _in_place(pixels, _nearest(pixels, nouns))


def _with_people(
    scene: Scene, *, hair: float | None = None, shade: float | None = None
) -> Scene:
    """Return a scene whose people all have another hair or shade of skin."""
    people = tuple(
        replace(
            person,
            hair=person.hair if hair is None else hair,
            shade=person.shade if shade is None else shade,
        )
        for person in scene.people
    )
    return replace(scene, people=people)


def _with_each_person(pixels: PixelArray, scene: Scene) -> Scene:
    """Return a scene of several people, each with the most likely gender, skin and age."""
    for index in range(len(scene.people)):
        scene = _nearest(pixels, _with_others_at(scene, index))
    return scene


def _with_others_at(scene: Scene, index: int) -> Iterator[Scene]:
    """Yield a scene, and that scene with every other person at a place."""
    yield scene
    combinations = product(
        reader.HEADS["gender"], reader.HEADS["skin"], reader.HEADS["age"]
    )
    for gender, skin, age in combinations:
        people = list(scene.people)
        people[index] = replace(people[index], gender=gender, skin=skin, age=age)
        yield replace(scene, people=tuple(people))


def _on_ground(pixels: PixelArray, scene: Scene) -> Scene:
    """Return a scene on the ground that is most like that of the image."""
    return _nearest(
        pixels, (replace(scene, ground=ground) for ground in (None, *GROUNDS))
    )


def _dressed(pixels: PixelArray, scene: Scene) -> list[Scene]:
    """Return a scene in the clothes that are most like those at the chest, the likest first."""
    colour = _colour_at(pixels, scene, _CHEST)
    clothes = sorted(set(world().clothes.values()))
    outfits: list[tuple[str, str | None]]
    outfits = [(noun, None) for noun in nouns_of_people()]
    outfits += [("person", worn) for worn in clothes]
    by_distance = sorted(
        outfits,
        key=lambda outfit: _squared_distance(
            colour, clothes_colour(outfit[1] or outfit[0])
        ),
    )
    return [
        replace(scene, noun=noun, clothes=worn)
        for noun, worn in by_distance[:_NEAREST_OUTFITS]
    ]


def _shade(pixels: PixelArray, scene: Scene) -> float:
    """Return the shade of the skin between eyes and mouth, from -1 to 1."""
    colour = _colour_at(pixels, scene, _CHEEK)
    base = SKIN[scene.people[0].skin]
    lighter = sum(seen - plain for seen, plain in zip(colour, base, strict=True))
    return max(-1.0, min(1.0, lighter / 30))


def _colour_at(
    pixels: PixelArray, scene: Scene, place: tuple[float, float]
) -> tuple[int, int, int]:
    """Return the colour of the first person at a place, in the figure's coordinates."""
    x, y = place_on_person(scene, *place)
    row = min(SIZE - 1, max(0, int(y)))
    column = min(SIZE - 1, max(0, int(x)))
    red, green, blue = (int(value) for value in pixels[row, column])
    return red, green, blue


def _squared_distance(first: Sequence[int], second: Sequence[int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(first, second, strict=True))


def _in_place(pixels: PixelArray, scene: Scene) -> Scene:
    """Return a scene with the place and the size at which it is most like the image."""
    # Neighbours of neighbours are scenes that were drawn before.
    differences: dict[Scene, int] = {}

    def difference(candidate: Scene) -> int:
        if candidate not in differences:
            differences[candidate] = _difference(pixels, candidate)
        return differences[candidate]

    for step, scale_step in zip(_STEPS_OF_PLACE, _STEPS_OF_SCALE, strict=True):
        while True:
            neighbours = _neighbours(scene, step, scale_step)
            nearer = min((scene, *neighbours), key=difference)
            if nearer == scene:
                break
            scene = nearer
    return scene


def _neighbours(scene: Scene, step: float, scale_step: float) -> Iterator[Scene]:
    """Yield a scene moved to either side, up and down, and made larger and smaller."""
    right, down = scene.shift
    farthest_right, farthest_down = _LARGEST_SHIFT
    for sign in (-1, 1):
        if abs(right + sign * step) <= farthest_right:
            yield replace(scene, shift=(right + sign * step, down))
        if abs(down + sign * step) <= farthest_down:
            yield replace(scene, shift=(right, down + sign * step))
        scale = round(scene.scale + sign * scale_step, 2)
        if _SCALES[0] <= scale <= _SCALES[1]:
            yield replace(scene, scale=scale)


def _nearest(pixels: PixelArray, scenes: Iterable[Scene]) -> Scene:
    """Return the scene whose drawing differs least from the image; of equal ones the first."""
    return min(scenes, key=lambda scene: _difference(pixels, scene))


def _difference(pixels: PixelArray, scene: Scene) -> int:
    """Return the sum of the squared differences between an image and the drawing of a scene."""
    drawn = np.asarray(draw_scene(scene), dtype=np.int32)
    return int(((drawn - pixels) ** 2).sum(dtype=np.int64))
