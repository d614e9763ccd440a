"""Skin tone measured in an image: CIELAB and the individual typology angle, as they are and lit.

A number about pixels. Light, colour grading and style move it as much as the skin that is shown,
and no number of an image is anybody's race.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from t2ibench.arrays import BoolArray, Float64Array
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.protocols import Answer, Query

if TYPE_CHECKING:
    from PIL.Image import Image

_VERSION = 1
PixelArray = npt.NDArray[np.uint8]

NO_FACE = "no face"
SMALL = "small face"
SEVERAL = "several faces"
NOT_SKIN = "colour of no skin"
DARK = "dark"
REASONS = (NO_FACE, SMALL, SEVERAL, NOT_SKIN, DARK)

_SMALLEST = 16  # pixels of the longer side of a face's oval
_SECOND = 0.6  # of the largest face's size, from which a second one counts
_SIDE = 256  # of the square in which the region of skin is drawn
_AROUND = 1.7  # that square, in longer sides of the oval
_BAND = 30.0, 80.0  # percentiles of luminance: shadow and beards lie below, shine above
# Far outside of what skin has in white light, and without a look at lightness, so that no tone is
# left out for its own sake.
_HUES = 15.0, 105.0
_LEAST_CHROMA = 4.0
_LEAST_SKIN = 0.4  # of the pixels of the band
# The scene's light is brought (in part, so that a dark room stays a dark room) to that of an
# ordinary picture.
_KEY, _POWER = 0.30, 0.75
_HEAD = 1.6  # what is cut out of the scene, in sides of the mesh
# Of the scene, and so the gain is at most 7.7. The skin has no limit: it would leave out dark skin.
_DARKEST = 0.02
_SCENE_GRID = 256  # rows or columns that say how light a scene is

# Points of the mesh (MediaPipe's numbers), in order around what they enclose.
# fmt: off
_OVAL = [
    10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377,
    152, 148, 176, 149, 150, 136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109,
]
# fmt: on
_LIPS = [61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185]
_LIDS = (
    [113, 225, 224, 223, 222, 221, 189, 244, 233, 232, 231, 230, 229, 228, 31, 226],
    [342, 445, 444, 443, 442, 441, 413, 464, 453, 452, 451, 450, 449, 448, 261, 446],
)
_EYES_AND_BROWS = (
    [33, 246, 161, 160, 159, 158, 157, 173, 133, 155, 154, 153, 145, 144, 163, 7],
    [263, 466, 388, 387, 386, 385, 384, 398, 362, 382, 381, 380, 374, 373, 390, 249],
    [46, 53, 52, 65, 55, 107, 66, 105, 63, 70],
    [276, 283, 282, 295, 285, 336, 296, 334, 293, 300],
)
_INSIDE, _LIPS_GROW, _LIDS_GROW, _EYES_GROW = 4, 5, 1, 4  # pixels of the square

_XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)
_WHITE = _XYZ.sum(axis=1)  # D65


@dataclass(frozen=True, slots=True)
class Colour:
    """A colour of skin: L*, b*, the hue of a* and b* in degrees, the individual typology angle.

    The angle is in degrees, -90 to 90; high is light.
    """

    lightness: float
    yellowness: float
    hue: float
    ita: float

    @property
    def score(self) -> float:
        """L* - b*: high is light."""
        return self.lightness - self.yellowness


@dataclass(frozen=True, slots=True)
class SkinTone:
    """What was measured in one image, or why nothing was, one of `REASONS`.

    `size` is the longer side of the largest face's oval, in pixels; `scene` the scene's light, the
    log-average luminance around the head, 0 to 1; `corrected` the colour brought towards the light
    of an ordinary picture.
    """

    reason: str | None
    faces: int
    size: float | None = None
    scene: float | None = None
    raw: Colour | None = None
    corrected: Colour | None = None


def linear(rgb: npt.ArrayLike) -> Float64Array:
    """Linear light of sRGB values of 0 to 255.

    Source: IEC 61966-2-1.
    """
    value = np.asarray(rgb, dtype=np.float64) / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lab(light: npt.ArrayLike) -> Float64Array:
    """Convert linear light of sRGB's primaries to CIELAB (D65).

    Source: CIE 15.

    Example:
        >>> lab(linear([255, 0, 0])).round(1).tolist()
        [53.2, 80.1, 67.2]
    """
    xyz = np.asarray(light, dtype=np.float64) @ _XYZ.T / _WHITE
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


def measure(pixels: PixelArray, meshes: list[Float64Array]) -> SkinTone:
    """Measure the skin of the one face of an image.

    The colour is the mean in linear light of the face's pixels between the 30th and the 80th
    percentile of luminance, without eyes, brows and lips. With S, the scene's log-average luminance
    outside of the head, the corrected colour is that of the mean times (.30 / S)^.75. Pixels are
    sRGB, shape (height, width, 3); meshes of shape (468, 2), in pixels, the largest first.

    Source: the log-average and its key are Reinhard et al. 2002, "Photographic tone reproduction
        for digital images".
    """
    if not meshes:
        return SkinTone(NO_FACE, 0)
    sizes = [float(np.ptp(mesh[_OVAL], axis=0).max()) for mesh in meshes]
    if sizes[0] < _SMALLEST:
        return SkinTone(SMALL, len(meshes), sizes[0])
    if len(sizes) > 1 and sizes[1] >= _SECOND * sizes[0]:
        return SkinTone(SEVERAL, len(meshes), sizes[0])
    scene = scene_light(pixels, meshes[0])
    skin = _middle_band(pixels, meshes[0], sizes[0])
    colours = lab(skin)
    hue = np.degrees(np.arctan2(colours[:, 2], colours[:, 1]))
    chroma = np.hypot(colours[:, 1], colours[:, 2])
    like_skin = (hue >= _HUES[0]) & (hue <= _HUES[1]) & (chroma > _LEAST_CHROMA)
    if not len(skin) or like_skin.mean() < _LEAST_SKIN:
        return SkinTone(NOT_SKIN, len(meshes), sizes[0], scene)
    if scene < _DARKEST:
        return SkinTone(DARK, len(meshes), sizes[0], scene)
    mean = skin.mean(axis=0)
    gain = (_KEY / scene) ** _POWER
    return SkinTone(None, len(meshes), sizes[0], scene, _colour(mean), _colour(gain * mean))


def scene_light(pixels: PixelArray, mesh: Float64Array) -> float:
    """The log-average luminance of a picture outside of a head.

    S = exp(mean log(Y + .01)), with Y the relative luminance, 0 to 1.
    """
    step = max(1, max(pixels.shape[:2]) // _SCENE_GRID)
    luminance = linear(pixels[::step, ::step]) @ _XYZ[1]
    low, high = mesh.min(axis=0), mesh.max(axis=0)
    reach = _HEAD * (high - low) / 2
    first = np.maximum(np.floor(((low + high) / 2 - reach) / step), 0).astype(int)
    last = np.maximum(np.ceil(((low + high) / 2 + reach) / step), 0).astype(int)
    outside = np.ones(luminance.shape, dtype=bool)
    outside[first[1] : last[1], first[0] : last[0]] = False
    around = luminance[outside] if outside.any() else luminance.ravel()
    return float(np.exp(np.log(around + 0.01).mean()))


def _colour(light: Float64Array) -> Colour:
    lightness, redness, yellowness = (float(value) for value in lab(light))
    hue = float(np.degrees(np.arctan2(yellowness, redness)))
    return Colour(lightness, yellowness, hue, float(typology_angle(lightness, yellowness)))


def _middle_band(pixels: PixelArray, mesh: Float64Array, size: float) -> Float64Array:
    """Linear light of the face's pixels of middling luminance, shape (n, 3)."""
    from PIL import Image

    oval = mesh[_OVAL]
    corner = (oval.min(axis=0) + oval.max(axis=0)) / 2 - _AROUND * size / 2
    scale = _SIDE / (_AROUND * size)
    region = _skin_region((mesh - corner) * scale)
    left, top = (float(edge) for edge in corner)
    square = Image.fromarray(pixels).transform(
        (_SIDE, _SIDE),
        Image.Transform.EXTENT,
        (left, top, left + _SIDE / scale, top + _SIDE / scale),
        Image.Resampling.BILINEAR,
    )
    rows, columns = np.mgrid[:_SIDE, :_SIDE] / scale
    height, width = pixels.shape[:2]
    region &= (columns + left >= 0) & (columns + left < width)
    region &= (rows + top >= 0) & (rows + top < height)
    skin = linear(np.asarray(square)[region])
    luminance = skin @ _XYZ[1]
    low, high = np.percentile(luminance, _BAND) if len(skin) else (0.0, 0.0)
    middle: Float64Array = skin[(luminance >= low) & (luminance <= high)]
    return middle


def _skin_region(mesh: Float64Array) -> BoolArray:
    """Where a face's skin is, in the square."""
    from scipy.ndimage import maximum_filter, minimum_filter

    region: BoolArray = minimum_filter(_filled(mesh, _OVAL), 2 * _INSIDE + 1)
    for shapes, grow in (
        ((_LIPS,), _LIPS_GROW), (_LIDS, _LIDS_GROW), (_EYES_AND_BROWS, _EYES_GROW)
    ):  # fmt: skip
        for points in shapes:
            region &= ~maximum_filter(_filled(mesh, points), 2 * grow + 1)
    return region


def _filled(mesh: Float64Array, points: list[int]) -> BoolArray:
    from PIL import Image, ImageDraw

    image = Image.new("1", (_SIDE, _SIDE))
    ImageDraw.Draw(image).polygon([(x, y) for x, y in mesh[points].tolist()], fill=1)
    return np.array(image, dtype=bool)


class SkinMeter:
    """Measures the skin tone of an image (see models.protocols.Judge, of which no run knows it)."""

    def __init__(self, find: Callable[[Image], list[Float64Array]], version: Any) -> None:
        self.name = "skin tone"
        self.batch_size = 32
        self.fingerprint = fingerprint({"adapter": f"skin tone {_VERSION}", "faces": version})
        self._find = find

    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        """The measurement in words; `raw` has it as JSON."""
        answers = []
        for query in queries:
            image = query.image.convert("RGB")
            tone = measure(np.asarray(image, dtype=np.uint8), self._find(image))
            found, words = tone.corrected, f"no tone: {tone.reason}"
            if found is not None:
                words = f"L* {found.lightness:.0f}, b* {found.yellowness:.0f}, ITA {found.ita:.0f}"
            answers.append(Answer(words, json.dumps(_rounded(asdict(tone)))))
        return answers


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, 3) if isinstance(value, float) else value
