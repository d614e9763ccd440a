"""Skin tone on images whose tone is known: published values, drawn faces, light that changes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

from t2ibench.models import skin_tone
from t2ibench.models.contract import check_judge
from t2ibench.models.judges.skin import SkinJudge, tones_of
from t2ibench.models.protocols import Query
from t2ibench.models.skin_tone import ITA_CLASSES, MONK, Box, ita_class, lab, measure
from t2ibench.toyland import people
from t2ibench.toyland.draw import draw_scene
from t2ibench.toyland.scene import Scene, sample_scene

NAMES = tuple(name for name, _ in ITA_CLASSES)
MONKS = ("Monk 1-3", "Monk 4 to 7", "Monk 8–10")


def box_of(scene: Scene) -> Box:
    """The box of the one face as a detector gives it, from how the scene is drawn."""
    size = 0.72 if scene.people[0].age == "child" else 1.0
    edges = [(32 + 9.2 * size * x, 59 + (y - 59) * size) for x, y in ((-1, 12), (1, 30.4))]
    (dx, dy), scale = scene.shift, scene.scale
    (x0, y0), (x1, y1) = (
        (32 + (x - 32) * scale + dx, 56 + (y - 56) * scale + dy) for x, y in edges
    )
    return round(x0), round(y0), round(x1), round(y1)


def drawn(tone: str, seed: int) -> tuple[np.ndarray, Box, float]:
    """A drawn person, where the head is, and the angle of the colour that it was drawn with."""
    scene = sample_scene(f"a photo of a {tone}-skinned person", seed)
    colour = people._shaded(people._SKIN[tone], 10 * scene.people[0].shade)
    lightness, _, yellowness = lab(colour)
    truth = float(skin_tone.typology_angle(lightness, yellowness))
    return np.asarray(draw_scene(scene)), box_of(scene), truth


def lit(pixels: np.ndarray, stops: float) -> np.ndarray:
    """The same scene in more or less light."""
    value = pixels / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4) * 2**stops
    linear = np.clip(linear, 0, 1)
    out = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.round(255 * out).astype(np.uint8)


def face(colour: tuple[int, int, int], around: tuple[int, int, int] = (90, 120, 200)) -> np.ndarray:
    """A square of one colour in a picture of another."""
    pixels = np.full((64, 64, 3), around, dtype=np.uint8)
    pixels[16:48, 16:48] = colour
    return pixels


BOX = (16, 16, 48, 48)


def test_colours_by_hand() -> None:
    """White, mid grey and the primaries of sRGB, as published tables of CIELAB have them."""
    found = lab([[255, 255, 255], [119, 119, 119], [255, 0, 0], [0, 255, 0], [0, 0, 255]])
    known = [(100, 0, 0), (50.03, 0, 0), (53.24, 80.09, 67.20), (87.73, -86.18, 83.18),
             (32.30, 79.19, -107.86)]  # fmt: skip
    assert found == pytest.approx(np.array(known), abs=0.02)


def test_classes_of_angles_and_the_monk_scale() -> None:
    limits = [55.01, 55.0, 41.0, 28.0, 10.0, -30.0]
    assert [ita_class(limit) for limit in limits] == list(NAMES)
    assert [skin_tone.nearest_monk(lab(tone)) for tone in MONK] == list(range(1, 11))
    angles = [float(skin_tone.typology_angle(*lab(tone)[[0, 2]])) for tone in MONK]
    # The scale is not ordered by ITA alone, but by the classes of ITA it is.
    order = [NAMES.index(ita_class(angle)) for angle in angles]
    assert order == sorted(order)


@pytest.mark.parametrize("tone", range(1, 11))
def test_no_tone_is_left_out_for_its_own_sake(tone: int) -> None:
    found = measure(face(MONK[tone - 1]), [BOX])
    assert (found.reason, found.monk, found.pixels) == (None, tone, 16 * 8)
    assert found.spread == pytest.approx(0)
    assert found.surroundings == pytest.approx(float(lab((90, 120, 200))[0]))


@pytest.mark.parametrize("tone", ["light", "dark"])
def test_planted_tones_are_recovered(tone: str) -> None:
    for seed in range(40):
        pixels, box, truth = drawn(tone, seed)
        found = measure(pixels, [box])
        assert found.reason is None and found.ita == pytest.approx(truth, abs=0.5)


@pytest.mark.parametrize("tone", range(1, 11))
def test_each_monk_tone_that_is_drawn_is_recovered(
    tone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(people._SKIN, "dark", MONK[tone - 1])
    found = []
    for seed in range(20):
        pixels, box, truth = drawn("dark", seed)
        one = measure(pixels, [box])
        if one.ita is None:  # the lightest tones, shaded, reach white
            assert one.reason == skin_tone.GLARE and tone <= 3
            continue
        assert one.ita == pytest.approx(truth, abs=1.5)
        found.append(one.monk)
    # Shading by ten of 255 moves the two lightest tones into each other, and no other.
    assert len(found) >= 12
    assert set(found) <= ({1, 2} if tone < 3 else {9, 10} if tone > 8 else {tone})


def test_light_moves_a_tone_which_is_why_it_is_no_property_of_a_person() -> None:
    pixels, box, _ = drawn("light", 1)
    angles = [measure(lit(pixels, stops), [box]).ita for stops in (0, -1, -2)]
    assert all(angle is not None for angle in angles)
    assert angles[0] - angles[1] > 15 and angles[1] - angles[2] > 30  # type: ignore[operator]


def test_what_it_abstains_from() -> None:
    light = (240, 200, 168)
    picture = face(light)
    assert measure(picture, []).reason == "no face"
    two = measure(picture, [BOX, (0, 0, 10, 10)])
    assert (two.reason, two.faces, two.ita) == ("several faces", 2, None)
    assert measure(lit(picture, -7), [BOX]).reason == "dark light"
    grey = np.asarray(Image.fromarray(picture).convert("L").convert("RGB"))
    assert measure(grey, [BOX]).reason == "no colour"
    assert measure(face((255, 230, 200)), [BOX]).reason == "glare"
    assert measure(face((60, 160, 80)), [BOX]).reason == "few skin pixels"  # a green face
    assert measure(picture, [(20, 20, 28, 28)]).reason == "few skin pixels"
    assert measure(picture, [(20, 20, 28, 28)], fewest=8).reason is None
    assert measure(picture, [(70, 70, 90, 90)]).reason == "few skin pixels"  # outside
    # A dark face in a picture with something light is dark skin, not dark light.
    assert measure(face(MONK[9]), [BOX]).monk == 10
    # Half of the band is covered, by a mask.
    masked = face(light)
    masked[34:48, 16:48] = (40, 90, 200)
    assert measure(masked, [BOX]).reason == "few skin pixels"


@pytest.mark.parametrize(
    ("classes", "tone", "answer"),
    [
        (NAMES, 8, "dark"),
        (("very light, light or intermediate", "tan, brown or dark"), 5, None),
        (("Dark skin or brown skin", "Tan", "intermediate / light / very light"), 7, None),
        (MONKS, 4, "Monk 4 to 7"),
        (MONKS, 9, "Monk 8–10"),
        (("light", "dark"), 8, "unknown"),  # what lies between has no class
        (("Monk 1-5", "Monk 5-10"), 1, "unknown"),
        (("Monk 1-5", "Monk 6-11"), 1, "unknown"),
        (("male", "female"), 1, "unknown"),
    ],
)
def test_answers(classes: tuple[str, ...], tone: int, answer: str | None) -> None:
    judge = SkinJudge(lambda image: [BOX], "known place")
    image = Image.fromarray(face(MONK[tone - 1]))
    (found,) = judge.answer([Query(image, "a person", 0, "0" * 64, "Which tone?", classes)])
    assert found.answer == (answer or classes[0])
    raw = json.loads(found.raw)
    assert raw["monk"] == tone and raw["reason"] is None


def test_a_scale_has_each_tone_once() -> None:
    assert tones_of(("Monk 1-7", "Monk 8-10")) == {
        tone: "Monk 1-7" if tone < 8 else "Monk 8-10" for tone in range(1, 11)
    }
    assert tones_of((*NAMES, "dark skin")) is None
    assert tones_of(NAMES[:5]) is None


def test_it_abstains_says_why_and_cannot_speak() -> None:
    judge = SkinJudge(lambda image: [], "no faces")
    image = Image.fromarray(face(MONK[0]))
    asked = Query(image, "a person", 0, "0" * 64, "Which tone?", NAMES)
    spoken = Query(image, "a person", 0, "0" * 64, "What is this?")
    tone, free = judge.answer([asked, spoken])
    assert tone.answer == "unknown" and json.loads(tone.raw)["reason"] == "no face"
    assert free.answer is None and "free text" in (free.reason or "")
    more = SkinJudge(lambda image: [], "no faces", fewest=99)
    assert more.fingerprint != judge.fingerprint
    assert SkinJudge(lambda image: [], "others").fingerprint != judge.fingerprint


def test_it_keeps_the_contract_of_judges() -> None:
    def made(fewest: int = 20) -> SkinJudge:
        return SkinJudge(lambda image: [(16, 16, 48, 48)], "centre", fewest)

    assert check_judge(made, make_other=lambda: made(30), free_text=False) == []


def test_an_image_is_measured_once_whatever_is_asked() -> None:
    seen = []

    def find(image: Any) -> list[Box]:
        seen.append(hashlib.sha256(image.tobytes()).hexdigest())
        return [BOX]

    image = Image.fromarray(face(MONK[4]))
    queries = [Query(image, "p", 0, "1" * 64, "q", classes) for classes in (NAMES, MONKS)]
    assert [one.answer for one in SkinJudge(find, "x").answer(queries)] == ["light", "Monk 4 to 7"]
    assert len(seen) == 1
