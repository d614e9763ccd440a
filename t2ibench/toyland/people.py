"""Draw a person: gender by hair and clothes, age by size and hair, skin by its tone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from t2ibench.toyland.scene import Person

if TYPE_CHECKING:
    from t2ibench.toyland.draw import Pen

Colour = tuple[int, int, int]
_HAIR = ((38, 28, 24), (84, 52, 30), (150, 98, 48))
SKIN = {"light": (240, 200, 168), "dark": (124, 80, 52)}


class _Figure:
    """Draws in the coordinates of one person: x from their middle, y from the ground."""

    def __init__(self, pen: Pen, x: float, size: float) -> None:
        self.pen = pen
        self.x = x
        self.size = size

    def at(self, x: float, y: float) -> tuple[float, float]:
        return place_on_figure(x, y, middle=self.x, size=self.size)

    def ellipse(self, x: float, y: float, rx: float, ry: float, colour: Colour) -> None:
        cx, cy = self.at(x, y)
        self.pen.ellipse(cx, cy, rx * self.size, ry * self.size, colour)

    def box(self, x0: float, y0: float, x1: float, y1: float, colour: Colour) -> None:
        self.pen.box(*self.at(x0, y0), *self.at(x1, y1), colour)

    def shape(self, points: list[tuple[float, float]], colour: Colour) -> None:
        self.pen.shape([self.at(x, y) for x, y in points], colour)

    def line(
        self, points: list[tuple[float, float]], width: float, colour: Colour
    ) -> None:
        self.pen.line([self.at(x, y) for x, y in points], width * self.size, colour)


def _shaded(colour: Colour, amount: float) -> Colour:
    red, green, blue = (max(0, min(255, round(value + amount))) for value in colour)
    return red, green, blue


def height_of(person: Person) -> float:
    """Return how tall a person is, as a share of an adult's height."""
    return 0.72 if person.age == "child" else 1.0


def place_on_figure(
    x: float, y: float, *, middle: float, size: float
) -> tuple[float, float]:
    """Return the place (x, y) of a figure, in 64ths of the image before it is shifted.

    Args:
        x: From the figure's middle to the right.
        y: From the top of the image, for a person of full size.
        middle: Where the figure stands.
        size: Its size; the feet stay on the ground.
    """
    return middle + x * size, 59 + (y - 59) * size


def draw_person(
    pen: Pen, person: Person, clothes: Colour, x: float, size: float
) -> None:
    """Draw a person who stands at `x`, in clothes of a colour and `size` times full size."""
    figure = _Figure(pen, x, size * height_of(person))
    skin = _shaded(SKIN[person.skin], 10 * person.shade)
    hair = (206, 206, 204) if person.age == "old" else _HAIR[int(person.hair * 2.999)]
    dark = _shaded(clothes, -46)
    if person.gender == "female":
        figure.ellipse(0, 18.5, 11.5, 12.5, hair)  # long hair, behind the shoulders
        figure.box(-11.5, 18, 11.5, 33, hair)
    elif person.gender == "androgynous":
        figure.ellipse(0, 18, 10.8, 11.5, hair)
        figure.box(-10.8, 17, 10.8, 23, hair)
    _body(figure, person, clothes, dark, skin)
    figure.box(-2.4, 25, 2.4, 31, skin)  # neck
    figure.ellipse(0, 18.5, 8.6, 9.6, skin)
    _face(figure, person, hair, skin)


def _body(
    figure: _Figure, person: Person, clothes: Colour, dark: Colour, skin: Colour
) -> None:
    shoes = (44, 38, 38)
    if person.gender == "female":
        for x in (-4, 4):
            figure.box(x - 1.8, 50, x + 1.8, 59, skin)
            figure.ellipse(x, 59.5, 3, 1.6, shoes)
        figure.line([(-8, 33), (-13, 44)], 3.6, skin)
        figure.line([(8, 33), (13, 42)], 3.6, skin)
        figure.shape(
            [(-7, 30), (7, 30), (8, 40), (15, 53), (-15, 53), (-8, 40)], clothes
        )
        figure.box(-7.6, 39, 7.6, 41, dark)
        return
    for leg in (-4.6, 4.6):
        figure.box(leg - 3.6, 44, leg + 3.6, 59, dark)
        figure.ellipse(leg, 59.5, 4, 1.7, shoes)
    figure.line([(-10, 32), (-13.5, 45)], 4.6, clothes)
    figure.line([(10, 32), (13.5, 43)], 4.6, clothes)
    figure.ellipse(-13.6, 46, 2.2, 2.2, skin)
    figure.ellipse(13.6, 44, 2.2, 2.2, skin)
    figure.shape([(-11, 30), (11, 30), (9, 46), (-9, 46)], clothes)


def _face(figure: _Figure, person: Person, hair: Colour, skin: Colour) -> None:
    fringe = [(-8.8, 17), (-7.5, 10.5), (0, 8), (7.5, 10.5), (8.8, 17)]
    if person.gender == "male":
        figure.shape([*fringe, (6, 13.5), (-6, 13.5)], hair)
    else:
        figure.shape([*fringe, (4, 12.5), (-1, 15), (-6, 13.5)], hair)
    for x in (-3.2, 3.2):
        figure.ellipse(x, 19, 1.1, 1.3, (30, 24, 24))
    figure.line([(-2.4, 23.6), (0, 24.6), (2.4, 23.6)], 0.9, _shaded(skin, -74))
    if person.age == "old":  # glasses
        for x in (-3.4, 3.4):
            figure.line([(x - 2.4, 17.4), (x + 2.4, 17.4)], 0.7, (70, 70, 78))
            figure.line([(x - 2.4, 20.8), (x + 2.4, 20.8)], 0.7, (70, 70, 78))
