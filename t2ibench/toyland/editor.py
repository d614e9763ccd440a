"""Edit an image as an instruction says, from its pixels alone, with planted faults.

The scene is recovered from the pixels, what the instruction names is changed, and the scene is
drawn again. What it does not name stays as far as it was recovered. Where sun, clouds and rain are
is sampled independently, as in any image of toyland.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from t2ibench.arrays import Float64Array
from t2ibench.toyland.draw import SIZE, draw_scene
from t2ibench.toyland.edit_faults import FAULTS, EditFaults
from t2ibench.toyland.instruction import Instruction, parse_instruction
from t2ibench.toyland.recovery import recover_scene
from t2ibench.toyland.scene import Person, Scene

if TYPE_CHECKING:
    from PIL.Image import Image

# The part of an image that a crop keeps, in pixels from the left and the top; it is enlarged again.
_CROPPED = (8, 2, 56, 50)
# Edits take random numbers of another stream than the image of a prompt with the same seed.
_STREAM = (1,)


@dataclass(frozen=True, slots=True)
class Edit:
    """An edited image, and the faults that came about.

    Attributes:
        image: RGB, 64 x 64; None where the edit was refused.
        faults: Names of planted faults.
    """

    image: Image | None
    faults: tuple[str, ...] = ()


def edit_image(
    source: Image, instruction: str, seed: int, faults: EditFaults | None = None
) -> Edit:
    """Return the image that an instruction makes of a source image.

    An instruction that asks for no change, or for none that toyland understands, never has a fault.

    Args:
        source: The source image; only its pixels are used.
        instruction: What to change.
        seed: The same source, instruction and seed give the same image.
        faults: Planted faults; none by default.
    """
    numbers = _random_numbers(seed)
    scene = recover_scene(source)
    changes = parse_instruction(instruction)
    occurring: tuple[str, ...] = ()
    if faults is not None and changes.changes_something:
        occurring = _occurring(faults, scene, numbers[: len(FAULTS)])
    if "refuses" in occurring:
        return Edit(None, occurring)
    if "ignores" in occurring:
        return Edit(source.convert("RGB"), occurring)
    edited = _with_faults(_changed(scene, changes), occurring)
    jitter = tuple(float(2 * number - 1) for number in numbers[len(FAULTS) :])
    image = draw_scene(replace(edited, jitter=jitter))
    if "crops" in occurring:
        image = image.crop(_CROPPED).resize((SIZE, SIZE))
    return Edit(image, occurring)


def _random_numbers(seed: int) -> Float64Array:
    """Return a number from 0 to 1 for each fault, and eight for small variations."""
    stream = np.random.SeedSequence(seed, spawn_key=_STREAM)
    return np.random.Generator(np.random.PCG64(stream)).random(len(FAULTS) + 8)


def _occurring(
    faults: EditFaults, scene: Scene, numbers: Float64Array
) -> tuple[str, ...]:
    """Return the faults of an edit: each has its share, independently of the others."""
    person = scene.people[0] if scene.people else None
    return tuple(
        fault
        for fault, number in zip(FAULTS, numbers.tolist(), strict=True)
        if number < faults.share(fault, person)
    )


def _changed(scene: Scene, changes: Instruction) -> Scene:
    """Return a scene with what an instruction names."""
    edited = replace(
        scene,
        weather=changes.weather or scene.weather,
        ground=changes.ground or scene.ground,
    )
    if not scene.people:
        return edited
    people = tuple(_changed_person(person, changes) for person in scene.people)
    edited = replace(edited, people=people)
    if changes.noun is not None:
        edited = replace(edited, noun=changes.noun, clothes=None)
    return replace(edited, clothes=changes.clothes or edited.clothes)


def _changed_person(person: Person, changes: Instruction) -> Person:
    return replace(
        person,
        gender=changes.gender or person.gender,
        skin=changes.skin or person.skin,
        age=changes.age or person.age,
    )


def _with_faults(scene: Scene, faults: tuple[str, ...]) -> Scene:
    """Return a scene whose people are lightened or aged, where these faults come about."""
    people = scene.people
    if "lightens" in faults:
        people = tuple(replace(person, skin="light") for person in people)
    if "ages" in faults:
        people = tuple(replace(person, age="old") for person in people)
    return replace(scene, people=people)
