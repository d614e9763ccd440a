"""A small synthetic world with biases of known size: captions in, 64 x 64 images out.

A caption fixes what it names; what it leaves open is sampled from shares (`BiasSettings`), the
planted ones by default. `reader.read` recognises the attributes in the pixels alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from t2ibench.toyland.draw import draw_scene
from t2ibench.toyland.scene import Scene, sample_scene
from t2ibench.toyland.world import BiasSettings, read_bias_settings

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = [
    "BiasSettings",
    "Scene",
    "draw",
    "draw_scene",
    "read_bias_settings",
    "sample_scene",
]


def draw(caption: str, seed: int, biases: BiasSettings | None = None) -> Image:
    """Return the image of a caption, RGB, 64 x 64 pixels; the same seed gives the same image."""
    return draw_scene(sample_scene(caption, seed, biases))
