"""Skin tone measured in an image: CIELAB, the individual typology angle, the Monk Skin Tone scale.

A number about pixels. Light, colour grading and style move it as much as the skin that is shown,
and no number of an image is anybody's race.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import Float64Array

PixelArray = npt.NDArray[np.uint8]
Box = tuple[int, int, int, int]  # left, top, right, bottom, in pixels

# Name and lower limit in degrees: Chardon et al. 1991, with the sixth class of Del Bino & Bernerd
# 2013 (British Journal of Dermatology 169, suppl. 3).
ITA_CLASSES = (
    ("very light", 55.0),
    ("light", 41.0),
    ("intermediate", 28.0),
    ("tan", 10.0),
    ("brown", -30.0),
    ("dark", -np.inf),
)
# The ten tones as published in sRGB: Monk 2019, skintone.google.
MONK = (
    (0xF6, 0xED, 0xE4),
    (0xF3, 0xE7, 0xDB),
    (0xF7, 0xEA, 0xD0),
    (0xEA, 0xDA, 0xBA),
    (0xD7, 0xBD, 0x96),
    (0xA0, 0x7E, 0x56),
    (0x82, 0x5C, 0x43),
    (0x60, 0x41, 0x34),
    (0x3A, 0x31, 0x2A),
    (0x29, 0x24, 0x20),
)

NO_FACE = "no face"
SEVERAL = "several faces"
DARK = "dark light"
GREY = "no colour"
GLARE = "glare"
FEW = "few skin pixels"
REASONS = (NO_FACE, SEVERAL, DARK, GREY, GLARE, FEW)

FEWEST = 20  # pixels of skin
# Cheeks and the bridge of the nose, as shares of a face's box: left, top, right, bottom. Hair,
# eyes, mouth and beards lie outside.
_BAND = (0.25, 0.5, 0.75, 0.75)
# All ten Monk tones have hues of 48 to 90 degrees and chromas of 3.8 to 28. The limits lie far
# outside of them and do not look at lightness, so that no tone is left out for its own sake.
_HUES = (15.0, 105.0)
_CHROMAS = (2.0, 60.0)
_GRID = 256  # rows or columns that say how light and how colourful an image is as a whole
_LEAST_SKIN = 0.5  # of the band
_CLIPPED = 254
_MOST_CLIPPED = 0.2
# About the light, not the skin: the lightness that the brightest twentieth of the image exceeds.
_DARKEST = 25.0
_GREYEST = 3.0  # the chroma that the most colourful hundredth of the image exceeds
_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_WHITE = _XYZ.sum(axis=1)  # D65


@dataclass(frozen=True, slots=True)
class SkinTone:
    """What was measured in one image.

    Attributes:
        reason: Why nothing was measured, one of `REASONS`; None where something was.
        faces: Faces found.
        ita: Individual typology angle in degrees, -90 to 90; high is light.
        monk: The nearest tone of the Monk scale, 1 (light) to 10.
        lightness: Median L* of the skin.
        yellowness: Median b* of the skin.
        pixels: Pixels of skin measured.
        spread: Distance between the quartiles of the pixels' own angles, in degrees.
        surroundings: Median L* outside of the face: how light the picture is otherwise.
    """

    reason: str | None
    faces: int
    ita: float | None = None
    monk: int | None = None
    lightness: float | None = None
    yellowness: float | None = None
    pixels: int = 0
    spread: float | None = None
    surroundings: float | None = None


def lab(rgb: npt.ArrayLike) -> Float64Array:
    """Convert sRGB to CIELAB.

    Source: IEC 61966-2-1 (sRGB); CIE 15 (CIELAB).

    Example:
        >>> lab([255, 0, 0]).round(1).tolist()
        [53.2, 80.1, 67.2]
    """
    value = np.asarray(rgb, dtype=np.float64) / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    xyz = linear @ _XYZ.T / _WHITE
    delta = 6 / 29
    f = np.where(xyz > delta**3, np.cbrt(xyz), xyz / (3 * delta**2) + 4 / 29)
    x, y, z = f[..., 0], f[..., 1], f[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def typology_angle(lightness: npt.ArrayLike, yellowness: npt.ArrayLike) -> Float64Array:
    """Individual typology angle (ITA).

    ITA = arctan((L* - 50) / b*) 180 / pi

    Source: Chardon, Cretois & Hourseau 1991, International Journal of Cosmetic Science 13.

    Example:
        >>> float(typology_angle(70.0, 20.0).round(6))
        45.0
    """
    above = np.asarray(lightness, dtype=np.float64) - 50.0
    return np.degrees(np.arctan2(above, np.asarray(yellowness, dtype=np.float64)))


def ita_class(degrees: float) -> str:
    """The published class of an angle.

    Example:
        >>> ita_class(55.1), ita_class(55.0), ita_class(-30.0)
        ('very light', 'light', 'dark')
    """
    return next(name for name, above in ITA_CLASSES if degrees > above)


def nearest_monk(colour: npt.ArrayLike) -> int:
    """The tone of the Monk scale that is nearest in CIELAB.

    Source: Monk 2019, the Monk Skin Tone scale; distance is CIE 1976, the straight line.

    Example:
        >>> nearest_monk(lab([160, 126, 86]))
        6
    """
    apart = lab(MONK) - np.asarray(colour, dtype=np.float64)
    return int(np.argmin((apart**2).sum(axis=1))) + 1


def measure(pixels: PixelArray, faces: list[Box], fewest: int = FEWEST) -> SkinTone:
    """Measure the skin of the one face of an image."""
    if len(faces) != 1:
        return SkinTone(SEVERAL if faces else NO_FACE, len(faces))
    (face,) = faces
    step = max(1, max(pixels.shape[:2]) // _GRID)
    whole = lab(pixels[::step, ::step])
    if np.percentile(whole[..., 0], 95) < _DARKEST:
        return SkinTone(DARK, 1)
    if np.percentile(np.hypot(whole[..., 1], whole[..., 2]), 99) < _GREYEST:
        return SkinTone(GREY, 1)
    rows, columns = _band(face, pixels.shape)
    band = pixels[rows, columns].reshape(-1, 3)
    clipped = (band >= _CLIPPED).any(axis=1)
    if len(band) and clipped.mean() > _MOST_CLIPPED:
        return SkinTone(GLARE, 1)
    values = lab(band)
    skin = values[_like_skin(values) & ~clipped]
    if len(skin) < max(fewest, _LEAST_SKIN * len(band), 1):
        return SkinTone(FEW, 1, pixels=len(skin))
    middle = np.median(skin, axis=0)
    quartiles = np.percentile(typology_angle(skin[:, 0], skin[:, 2]), [25, 75])
    outside = np.ones(whole.shape[:2], dtype=bool)
    left, top, right, bottom = (max(edge, 0) // step for edge in face)
    outside[top:bottom, left:right] = False
    around = whole[..., 0][outside]
    return SkinTone(
        None,
        1,
        ita=float(typology_angle(middle[0], middle[2])),
        monk=nearest_monk(middle),
        lightness=float(middle[0]),
        yellowness=float(middle[2]),
        pixels=len(skin),
        spread=float(quartiles[1] - quartiles[0]),
        surroundings=float(np.median(around)) if len(around) else None,
    )


def _band(face: Box, shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Rows and columns of the band of cheeks within the image."""
    left, top, right, bottom = face
    width, height = right - left, bottom - top
    edges = (
        left + _BAND[0] * width,
        top + _BAND[1] * height,
        left + _BAND[2] * width,
        top + _BAND[3] * height,
    )
    x0, y0, x1, y1 = (round(edge) for edge in edges)
    return slice(max(y0, 0), min(max(y1, 0), shape[0])), slice(
        max(x0, 0), min(max(x1, 0), shape[1])
    )


def _like_skin(values: Float64Array) -> npt.NDArray[np.bool_]:
    """Which colours have a hue that skin has in white light."""
    chroma = np.hypot(values[:, 1], values[:, 2])
    hue = np.degrees(np.arctan2(values[:, 2], values[:, 1]))
    coloured = (chroma > _CHROMAS[0]) & (chroma < _CHROMAS[1])
    # arctan2 would turn the angle around where b* is not above 0.
    return coloured & (hue > _HUES[0]) & (hue < _HUES[1]) & (values[:, 2] > 0)
