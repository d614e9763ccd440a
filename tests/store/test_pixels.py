"""Reading images as a person sees them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from t2ibench.store.pixels import UnreadableImageError, is_black, read_image, thumbnail


def encoded(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()


def test_the_camera_s_orientation_is_applied() -> None:
    image = Image.new("RGB", (8, 4))
    image.putpixel((0, 0), (255, 0, 0))
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held on its side: turn by 90 degrees
    upright = read_image(encoded(image, exif=exif))
    assert upright.size == (4, 8) and upright.getpixel((3, 0)) == (255, 0, 0)


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_not_clipped(form: str) -> None:
    levels = np.array([[0, 257, 32_896, 65_535]], dtype=np.uint16)
    image = read_image(encoded(Image.fromarray(levels), form))
    assert np.asarray(image)[0, :, 0].tolist() == [0, 1, 128, 255]


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


def test_black_is_black() -> None:
    assert is_black(Image.new("RGB", (3, 3)))
    assert not is_black(Image.new("RGB", (3, 3), (0, 0, 1)))


def test_an_image_of_which_nothing_can_be_seen_is_no_image() -> None:
    with pytest.raises(UnreadableImageError, match="every pixel of it is transparent"):
        read_image(encoded(Image.new("RGBA", (3, 3), (200, 0, 0, 0))))
    read_image(encoded(Image.new("RGBA", (3, 3), (200, 0, 0, 1))))


def test_pixels_of_no_known_range_say_so() -> None:
    with pytest.raises(UnreadableImageError, match="floating-point pixels have no known range"):
        read_image(encoded(Image.new("F", (3, 3)), "TIFF"))
