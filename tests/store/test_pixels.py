"""Reading images as a person sees them; every format: tests/pipeline/test_formats.py."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.pixels import (
    as_png,
    is_black,
    read_image,
    thumbnail,
)


def test_readable_images_are_read_and_others_raise_an_error(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.new("RGBA", (3, 3), (0, 0, 0, 1)).save(buffer, "PNG")
    assert not is_black(read_image(buffer.getvalue()))  # almost clear, but not quite
    with pytest.raises(UnreadableImageError):
        read_image(buffer.getvalue(), ("JPEG",))  # only the formats that are accepted
    assert is_black(Image.new("RGB", (3, 3)))
    assert not is_black(Image.new("RGB", (3, 3), (0, 0, 1)))
    (tmp_path / "x.png").write_bytes(buffer.getvalue()[:40])
    with pytest.raises(UnreadableImageError, match="cannot be read as an image"):
        thumbnail(tmp_path / "x.png", 8)


def test_what_is_made_of_an_image_has_no_profile_and_no_comment_of_its_file() -> None:
    buffer = io.BytesIO()
    profile = b"SECRET" + bytes(122)
    Image.new("RGB", (16, 8), (9, 200, 30)).save(
        buffer, format="JPEG", comment="SECRET", icc_profile=profile
    )
    decoded = read_image(buffer.getvalue())
    copy = as_png(decoded)
    for data in (copy, thumbnail(buffer.getvalue(), 8)):
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            assert not {"comment", "icc_profile"} & set(image.info)
    assert read_image(copy).tobytes() == decoded.tobytes()
