"""Skin tone on faces whose colour, light and place are known."""

from __future__ import annotations

import json
from dataclasses import astuple

import numpy as np
import pytest
from PIL import Image

from t2ibench.arrays import Float64Array
from t2ibench.models import skin_tone
from t2ibench.models.protocols import Query
from t2ibench.models.skin_tone import Colour, SkinMeter, lab, linear, measure

LIGHT, DARK = (224, 178, 150), (92, 60, 44)
GREY = (120, 120, 120)


def mesh_at(x: float = 100.0, y: float = 100.0, height: float = 80.0) -> Float64Array:
    """A face: an oval, and eyes, brows, lids and lips within."""
    mesh = np.zeros((468, 2))
    shapes = [(skin_tone._OVAL, (0.0, 0.0, 0.36, 0.5)), (skin_tone._LIPS, (0.0, 0.27, 0.13, 0.05))]
    for side, points in zip((-1, 1), skin_tone._LIDS, strict=True):
        shapes.append((points, (0.17 * side, -0.1, 0.12, 0.07)))
    places = [(-0.17, -0.1), (0.17, -0.1), (-0.17, -0.2), (0.17, -0.2)]
    for points, (cx, cy) in zip(skin_tone._EYES_AND_BROWS, places, strict=True):
        shapes.append((points, (cx, cy, 0.08, 0.03)))
    for points, (cx, cy, width, tall) in shapes:
        turn = 2 * np.pi * np.arange(len(points)) / len(points)
        mesh[points] = np.stack([cx + width * np.sin(turn), cy - tall * np.cos(turn)], axis=1)
    return mesh * height + (x, y)


def portrait(skin: tuple[int, int, int], around: tuple[int, int, int] = GREY) -> np.ndarray:
    """A face of one colour, where `mesh_at()` says, before a wall of another."""
    pixels = np.full((200, 200, 3), around, dtype=np.uint8)
    rows, columns = np.mgrid[:200, :200]
    pixels[((columns - 100) / 33) ** 2 + ((rows - 100) / 45) ** 2 < 1] = skin
    return pixels


def same(one: Colour | None, other: Colour | None) -> bool:
    assert one is not None and other is not None
    return astuple(one) == pytest.approx(astuple(other), abs=1e-6)


def lit(pixels: np.ndarray, stops: float) -> np.ndarray:
    light = np.clip(linear(pixels) * 2**stops, 0, 1)
    out = np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)
    return np.round(255 * out).astype(np.uint8)


def test_colours_by_hand() -> None:
    """White, mid grey and the primaries of sRGB, as published tables of CIELAB have them."""
    found = lab(linear([[255, 255, 255], [119, 119, 119], [255, 0, 0], [0, 255, 0], [0, 0, 255]]))
    known = [(100, 0, 0), (50.03, 0, 0), (53.24, 80.09, 67.20), (87.73, -86.18, 83.18),
             (32.30, 79.19, -107.86)]  # fmt: skip
    assert found == pytest.approx(np.array(known), abs=0.02)


@pytest.mark.parametrize("skin", [LIGHT, DARK, (36, 24, 18)])
def test_the_colour_and_its_correction_are_those_of_the_formula(skin: tuple[int, int, int]) -> None:
    tone = measure(portrait(skin), [mesh_at()])
    assert tone.reason is None and tone.raw is not None and tone.corrected is not None
    wall = float(linear(GREY)[0])
    assert tone.scene == pytest.approx(wall + 0.01, abs=1e-6)
    lightness, redness, yellowness = lab(linear(skin))
    assert (tone.raw.lightness, tone.raw.yellowness) == pytest.approx((lightness, yellowness))
    assert tone.raw.hue == pytest.approx(np.degrees(np.arctan2(yellowness, redness)))
    assert tone.raw.score == pytest.approx(lightness - yellowness)
    gain = (0.3 / (wall + 0.01)) ** 0.75
    lightness, _, yellowness = lab(gain * linear(skin))
    assert tone.corrected.lightness == pytest.approx(lightness)
    assert tone.corrected.ita == pytest.approx(np.degrees(np.arctan2(lightness - 50, yellowness)))


def test_beard_shine_eyes_and_lips_do_not_count() -> None:
    plain = measure(portrait(LIGHT), [mesh_at()]).raw
    pixels = portrait(LIGHT)
    pixels[128:144, 60:140] = np.where(pixels[128:144, 60:140] == LIGHT, (40, 28, 20), GREY)
    pixels[62:68, 85:115] = (255, 250, 245)  # shine on the forehead
    for x in (86, 114):
        pixels[88:97, x - 8 : x + 9] = (20, 60, 160)
    pixels[118:126, 90:111] = (200, 20, 60)
    assert same(measure(pixels, [mesh_at()]).raw, plain)


def test_what_it_abstains_from() -> None:
    face, picture = mesh_at(), portrait(LIGHT)
    assert measure(picture, []) == skin_tone.SkinTone("no face", 0)
    assert measure(picture, [mesh_at(height=15)]).reason == "small face"
    two = [face, mesh_at(40, 40, height=49)]
    assert (measure(picture, two).reason, measure(picture, two).faces) == ("several faces", 2)
    assert measure(picture, [face, mesh_at(40, 40, height=47)]).reason is None
    assert measure(portrait((70, 160, 190)), [face]).reason == "colour of no skin"
    grey = np.asarray(Image.fromarray(picture).convert("L").convert("RGB"))
    assert measure(grey, [face]).reason == "colour of no skin"
    assert measure(portrait(LIGHT, around=(8, 8, 8)), [face]).reason == "dark"
    # The rule is about the scene: very dark skin in an ordinary one has a tone.
    assert measure(portrait((30, 20, 15)), [face]).reason is None
    # A face at the edge is measured on what can be seen; one outside of the picture is not.
    cut = picture[:, 100:]
    assert same(measure(cut, [face - (100, 0)]).raw, measure(picture, [face]).raw)
    assert measure(picture, [mesh_at(400, 400)]).reason == "colour of no skin"


def test_less_light_moves_the_corrected_tone_less() -> None:
    """And not by nothing: the correction is partial."""
    bright, dim = (measure(lit(portrait(LIGHT), stops), [mesh_at()]) for stops in (0, -1))
    assert bright.raw and dim.raw and bright.corrected and dim.corrected
    raw = bright.raw.lightness - dim.raw.lightness
    corrected = bright.corrected.lightness - dim.corrected.lightness
    assert 0 < corrected < raw / 2


def test_the_meter_says_what_it_found() -> None:
    found = [mesh_at()]
    meter = SkinMeter(lambda image: found, "known place")
    query = Query(Image.fromarray(portrait(LIGHT)), "a person", 0, "0" * 64, "Which tone?")
    (answer,) = meter.answer([query])
    raw = json.loads(answer.raw)
    assert raw["reason"] is None and raw["corrected"]["ita"] > raw["raw"]["ita"] - 90
    assert answer.answer == (
        f"L* {raw['corrected']['lightness']:.0f}, b* {raw['corrected']['yellowness']:.0f}, "
        f"ITA {raw['corrected']['ita']:.0f}"
    )
    found.clear()
    (none,) = meter.answer([query])
    assert none.answer == "no tone: no face" and json.loads(none.raw)["corrected"] is None
    assert meter.fingerprint != SkinMeter(lambda image: found, "others").fingerprint
