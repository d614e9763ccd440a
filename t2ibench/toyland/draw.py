"""Draw a scene with Pillow at three times its size, and scale it down to 64 x 64."""

from __future__ import annotations

import colorsys
import math
from functools import lru_cache
from typing import TYPE_CHECKING

from t2ibench.toyland.people import draw_person, height_of, place_on_figure
from t2ibench.toyland.scene import Scene, look

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

SIZE = 64
_SCALE = 3
_BIG = SIZE * _SCALE
_HORIZON = round(0.78 * _BIG)
Colour = tuple[int, int, int]
# Ground of places, in pleasant and in unpleasant weather: about as bright as the meadow, as the
# reader was trained on nothing else.
GROUNDS: dict[str, dict[str, Colour]] = {
    "beach": {"pleasant": (176, 164, 104), "unpleasant": (118, 106, 78)},
    "street": {"pleasant": (150, 150, 156), "unpleasant": (104, 104, 112)},
}


def accent(kind: str, noun: str, *, other: bool = False) -> Colour:
    """Return a noun's colour, in a hue that stands out; with `other`, its second colour."""
    hue, value, *_ = look(noun)
    if kind == "flower":
        hue = (0.68 + 0.48 * hue) % 1.0  # violet to yellow; leaves are green
    if other:
        hue = (hue + 0.42) % 1.0
    red, green, blue = colorsys.hsv_to_rgb(hue, 0.78, 0.62 + 0.3 * value)
    return round(255 * red), round(255 * green), round(255 * blue)


def clothes_colour(noun: str) -> Colour:
    """Return the colour of clothes for a noun: an occupation's own, or blue for 'person'."""
    return (92, 112, 168) if noun == "person" else accent("person", noun)


@lru_cache(maxsize=2)
def _background(weather: str) -> Image.Image:
    """Return an image of sky and ground, without sun, clouds and rain, whose places vary."""
    from PIL import Image, ImageDraw

    image = Image.new("RGB", (_BIG, _BIG))
    draw = ImageDraw.Draw(image)
    pleasant = weather == "pleasant"
    if pleasant:
        top = (96, 178, 245)
        low = (206, 234, 250)
    else:
        top = (72, 76, 88)
        low = (136, 138, 142)
    for y in range(_HORIZON):
        share = y / _HORIZON
        colour = tuple(
            round(above + share * (below - above))
            for above, below in zip(top, low, strict=True)
        )
        draw.line([(0, y), (_BIG, y)], fill=colour)
    draw.rectangle(
        (0, _HORIZON, _BIG, _BIG), fill=(126, 190, 92) if pleasant else (92, 84, 72)
    )
    if pleasant:
        for width, colour in enumerate(
            [
                (228, 96, 92),
                (240, 164, 76),
                (246, 222, 104),
                (120, 196, 120),
                (110, 150, 226),
            ]
        ):
            r = 0.64 * _BIG - 4 * width
            box = (0.5 * _BIG - r, _HORIZON - r, 0.5 * _BIG + r, _HORIZON + r)
            draw.arc(box, 180, 360, fill=colour, width=4)
    return image


def draw_scene(scene: Scene) -> Image.Image:
    """Return the image of a scene, RGB, 64 x 64."""
    from PIL import Image, ImageDraw

    if scene.light is None:
        image = _sky(scene)
    else:
        dark = _background("unpleasant")
        image = Image.blend(dark, _background("pleasant"), scene.light)
    if scene.ground is not None:
        colour = GROUNDS[scene.ground][scene.weather]
        ImageDraw.Draw(image).rectangle((0, _HORIZON, _BIG, _BIG), fill=colour)
    pen = Pen(ImageDraw.Draw(image), scene)
    if scene.kind == "person":
        _people(pen, scene)
    else:
        _THINGS[scene.kind](pen, scene.noun)
    return image.resize((SIZE, SIZE), Image.Resampling.BOX)


def _sky(scene: Scene) -> Image.Image:
    """Return an image of sky and ground with sun, or with clouds and rain."""
    from PIL import ImageDraw

    image = _background(scene.weather).copy()
    draw = ImageDraw.Draw(image)
    if scene.weather == "pleasant":
        x = (52 + 3 * scene.jitter[0]) * _SCALE
        y = (10 + 2 * scene.jitter[1]) * _SCALE
        _disc(draw, x, y, 7.5 * _SCALE, (255, 238, 150))
        _disc(draw, x, y, 5.5 * _SCALE, (255, 214, 64))
    else:
        _storm(draw, scene)
    return image


def _disc(
    draw: ImageDraw.ImageDraw, x: float, y: float, r: float, colour: Colour
) -> None:
    draw.ellipse((x - r, y - r, x + r, y + r), fill=colour)


def _storm(draw: ImageDraw.ImageDraw, scene: Scene) -> None:
    for index, (x, y, r) in enumerate(
        ((10, 8, 8), (22, 6, 9), (36, 8, 8), (48, 5, 9), (58, 9, 7))
    ):
        shift = 2 * scene.jitter[index]
        _disc(draw, (x + shift) * _SCALE, y * _SCALE, r * _SCALE, (52, 55, 64))
    for number in range(12):
        across = (5.5 * number + 2 + 2 * scene.jitter[number % 8]) * _SCALE
        down = (18 + (number * 13) % 26) * _SCALE
        draw.line(
            [(across, down), (across - 4, down + 15)], fill=(164, 176, 196), width=3
        )


class Pen:
    """Draws shapes in units of 1/64 of the image, shifted and scaled with the scene."""

    def __init__(self, draw: ImageDraw.ImageDraw, scene: Scene) -> None:
        self._draw = draw
        self._scene = scene
        self._scale = scene.scale

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return the pixel coordinates of the place (x, y), shifted and scaled with the scene."""
        right, down = _moved(self._scene, x, y)
        return right * _SCALE, down * _SCALE

    def ellipse(self, x: float, y: float, rx: float, ry: float, colour: Colour) -> None:
        """Draw a filled ellipse around (x, y)."""
        self._draw.ellipse(
            (*self.at(x - rx, y - ry), *self.at(x + rx, y + ry)), fill=colour
        )

    def box(self, x0: float, y0: float, x1: float, y1: float, colour: Colour) -> None:
        """Draw a filled rectangle."""
        self._draw.rectangle((*self.at(x0, y0), *self.at(x1, y1)), fill=colour)

    def shape(self, points: list[tuple[float, float]], colour: Colour) -> None:
        """Draw a filled polygon."""
        self._draw.polygon([self.at(x, y) for x, y in points], fill=colour)

    def line(
        self, points: list[tuple[float, float]], width: float, colour: Colour
    ) -> None:
        """Draw a line through points."""
        big = max(1, round(width * _SCALE * self._scale))
        self._draw.line(
            [self.at(x, y) for x, y in points], fill=colour, width=big, joint="curve"
        )


def _moved(scene: Scene, x: float, y: float) -> tuple[float, float]:
    """Return the place (x, y) shifted and scaled with the scene, in 64ths of the image.

    Scaling does not move the middle of the ground.
    """
    right, down = scene.shift
    return (
        32 + (x - 32) * scene.scale + right,
        56 + (y - 56) * scene.scale + down,
    )


def _people(pen: Pen, scene: Scene) -> None:
    clothes = clothes_colour(scene.clothes or scene.noun)
    middles, size = _standing(scene)
    for person, x in zip(scene.people, middles, strict=True):
        draw_person(pen, person, clothes, x, size)
    if len(scene.people) == 1 and scene.noun != "person":
        _tool(pen, scene.noun, 49, 38)


def _standing(scene: Scene) -> tuple[tuple[float, ...], float]:
    """Return where the middles of the people are, and how large people are drawn."""
    return ((32,), 1.0) if len(scene.people) == 1 else ((15, 49, 32), 0.74)


def place_on_person(scene: Scene, x: float, y: float) -> tuple[float, float]:
    """Return where the first person's place (x, y) is in the image, in 64ths of it.

    Args:
        scene: A scene with people.
        x: From the person's middle to the right.
        y: From the top, for a person of full size.
    """
    middles, size = _standing(scene)
    tall = size * height_of(scene.people[0])
    return _moved(scene, *place_on_figure(x, y, middle=middles[0], size=tall))


def _tool(pen: Pen, noun: str, x: float, y: float) -> None:
    """Draw the tool of an occupation or activity: one of eight shapes in its second colour."""
    colour = accent("person", noun, other=True)
    dark = (58, 48, 44)
    which = int(look(noun)[2] * 7.999)
    if which == 0:  # a tablet
        pen.box(x - 4, y - 5, x + 4, y + 5, dark)
        pen.box(x - 3, y - 4, x + 3, y + 4, colour)
    elif which == 1:  # a ball
        pen.ellipse(x, y, 5, 5, colour)
    elif which == 2:  # a hammer
        pen.box(x - 1, y - 3, x + 1, y + 9, dark)
        pen.box(x - 5, y - 6, x + 5, y - 2, colour)
    elif which == 3:  # a flask
        pen.box(x - 1.5, y - 8, x + 1.5, y - 2, (226, 232, 236))
        pen.shape(
            [(x - 1.5, y - 3), (x + 1.5, y - 3), (x + 6, y + 6), (x - 6, y + 6)], colour
        )
    elif which == 4:  # a book
        pen.shape([(x - 6, y - 4), (x, y - 2), (x, y + 6), (x - 6, y + 4)], colour)
        pen.shape([(x + 6, y - 4), (x, y - 2), (x, y + 6), (x + 6, y + 4)], colour)
        pen.line([(x, y - 2), (x, y + 6)], 0.8, dark)
    elif which == 5:  # a bag
        pen.box(x - 5, y, x + 5, y + 8, colour)
        pen.line([(x - 3, y), (x, y - 4), (x + 3, y)], 1.2, dark)
    elif which == 6:  # a long tool
        pen.line([(x, y - 14), (x, y + 14)], 1.5, dark)
        pen.shape(
            [(x - 4, y - 18), (x + 4, y - 18), (x + 3, y - 11), (x - 3, y - 11)], colour
        )
    else:  # a star
        points = []
        for step in range(10):
            r = 6.5 if step % 2 == 0 else 2.8
            angle = math.pi * step / 5 - math.pi / 2
            points.append((x + r * math.cos(angle), y + r * math.sin(angle)))
        pen.shape(points, colour)


def _flower(pen: Pen, noun: str) -> None:
    colour = accent("flower", noun)
    pen.line([(32, 58), (32, 32)], 2.4, (44, 120, 52))
    pen.ellipse(25, 48, 6, 2.6, (58, 146, 64))
    pen.ellipse(39, 44, 6, 2.6, (58, 146, 64))
    petals = 5 + int(look(noun)[2] * 3.999)
    for petal in range(petals):
        angle = 2 * math.pi * petal / petals - math.pi / 2
        pen.ellipse(
            32 + 8 * math.cos(angle), 25 + 8 * math.sin(angle), 5.2, 5.2, colour
        )
    pen.ellipse(32, 25, 4.6, 4.6, (250, 214, 72))


def _insect(pen: Pen, noun: str) -> None:
    colour = accent("insect", noun)
    dark = (34, 28, 30)
    for x in (26, 32, 38):
        pen.line([(x, 42), (x - 8, 52), (x - 10, 56)], 1.3, dark)
        pen.line([(x, 42), (x + 8, 52), (x + 10, 56)], 1.3, dark)
    if look(noun)[2] > 0.5:
        pen.ellipse(26, 32, 8, 5, (222, 230, 238))
        pen.ellipse(38, 32, 8, 5, (222, 230, 238))
    pen.ellipse(36, 42, 11, 7, colour)
    for x in (32, 37, 42):
        pen.line([(x, 36.5), (x, 47.5)], 1.6, dark)
    pen.ellipse(21, 41, 6, 5.5, dark)
    pen.ellipse(19, 40, 1.3, 1.3, (246, 246, 240))
    pen.line([(19, 36), (14, 30)], 1.1, dark)
    pen.line([(22, 36), (20, 29)], 1.1, dark)


def _instrument(pen: Pen, noun: str) -> None:
    """Draw an instrument: a body in the noun's hue with a sound hole, a neck and strings."""
    colour = accent("instrument", noun)
    pen.box(30, 8, 34, 36, (92, 58, 34))
    pen.box(28, 5, 36, 11, (60, 38, 24))
    wide = 11 + 3 * look(noun)[2]
    pen.ellipse(32, 47, wide, 10, colour)
    pen.ellipse(32, 36, wide - 3.5, 7, colour)
    pen.ellipse(32, 44, 4, 4, (44, 28, 20))
    for x in (30.8, 33.2):
        pen.line([(x, 9), (x, 52)], 0.6, (244, 236, 214))
    pen.box(26, 51, 38, 53, (60, 38, 24))


def _weapon(pen: Pen, noun: str) -> None:
    """Draw a weapon: a steel blade across the image, with a grip in the noun's colour."""
    steel = (150, 156, 166)
    shine = (214, 220, 228)
    pen.shape([(20, 47), (25, 52), (54, 20), (57, 11), (48, 14)], steel)
    pen.shape([(22, 49), (24, 51), (55, 16), (57, 11)], shine)
    pen.shape([(14, 39), (17, 36), (34, 53), (31, 56)], (58, 52, 50))
    wide = 2 + 1.5 * look(noun)[2]
    pen.line([(21, 50), (11, 60)], 2 * wide, accent("weapon", noun))
    pen.ellipse(10, 61, 3.4, 3.4, (58, 52, 50))


def _building(pen: Pen, noun: str) -> None:
    """Draw a house with a roof, a door and windows; the noun decides the roof's shape."""
    colour = accent("building", noun)
    wall = (232, 220, 198)
    pen.box(14, 32, 50, 58, wall)
    which = int(look(noun)[2] * 2.999)
    if which == 0:
        pen.shape([(10, 33), (32, 14), (54, 33)], colour)
    elif which == 1:
        pen.ellipse(32, 32, 17, 13, colour)
        pen.box(14, 32, 50, 38, wall)
    else:
        pen.box(12, 26, 52, 33, colour)
        pen.shape([(26, 27), (32, 6), (38, 27)], colour)
    pen.box(28, 46, 36, 58, (104, 70, 48))
    for x in (18, 40):
        pen.box(x, 38, x + 6, 45, (120, 170, 208))


def _thing(pen: Pen, noun: str) -> None:
    """Draw any other thing as a plain shape on a small table."""
    colour = accent("thing", noun)
    pen.box(18, 50, 46, 53, (128, 92, 62))
    pen.box(20, 53, 23, 60, (128, 92, 62))
    pen.box(41, 53, 44, 60, (128, 92, 62))
    which = int(look(noun)[2] * 3.999)
    if which == 0:
        pen.box(22, 30, 42, 50, colour)
    elif which == 1:
        pen.ellipse(32, 39, 11, 11, colour)
    elif which == 2:
        pen.shape([(20, 50), (32, 28), (44, 50)], colour)
    else:
        pen.shape([(32, 26), (44, 38), (32, 50), (20, 38)], colour)


_THINGS = {
    "flower": _flower,
    "insect": _insect,
    "instrument": _instrument,
    "weapon": _weapon,
    "building": _building,
    "thing": _thing,
}
