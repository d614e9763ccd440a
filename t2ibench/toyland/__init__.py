"""A small drawn world with biases of known size: captions in, 64 x 64 pictures out.

A caption fixes what it names; what it leaves open is drawn from shares (`Dials`), the planted ones
by default. `read` gets the attributes back from the pixels alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from t2ibench.toyland.draw import draw_scene
from t2ibench.toyland.scene import Scene, sample_scene
from t2ibench.toyland.world import Dials, read_dials

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["Dials", "Scene", "draw", "draw_scene", "read_dials", "sample_scene"]


def draw(caption: str, seed: int, dials: Dials | None = None) -> Image:
    """The picture of a caption, RGB, 64 x 64."""
    return draw_scene(sample_scene(caption, seed, dials))
