"""Reading images as a person sees them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from t2ibench.store.pixels import UnreadableImageError, read_image, thumbnail


def encoded(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparency_lies_on_white(mode: str) -> None:
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((1, 0), (0, 0, 0, 255))
    options = {"transparency": 0} if mode == "P" else {}
    if mode == "P":
        image = Image.new("P", (2, 1), 0)
        image.putpalette([9, 9, 9, 0, 0, 0])
        image.putpixel((1, 0), 1)
    pixels = np.asarray(read_image(encoded(image.convert(mode), **options)))
    assert pixels[0].tolist() == [[255, 255, 255], [0, 0, 0]]


@pytest.mark.parametrize("data", [b"", b"not an image", encoded(Image.new("RGB", (9, 9)))[:40]])
def test_what_is_no_image_says_so(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(UnreadableImageError, match="cannot be read as an image"):
        read_image(data)
    (tmp_path / "x.png").write_bytes(data)
    with pytest.raises(UnreadableImageError):
        thumbnail(tmp_path / "x.png", 8)


def test_only_the_formats_that_are_accepted() -> None:
    with pytest.raises(UnreadableImageError):
        read_image(encoded(Image.new("RGB", (2, 2))), ("JPEG",))
