"""Image files that are pipes, devices, bombs or broken: read in bounds, or named as unreadable."""

from __future__ import annotations

import hashlib
import io
import os
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import (
    EpsImagePlugin,
    Image,
    ImageFile,
    PngImagePlugin,
    TiffImagePlugin,
    UnidentifiedImageError,
)

from t2ibench.models.generators.image_replies import checked_file
from t2ibench.models.generators.plain_files import media_type_of_plain
from t2ibench.store.files import read_ordinary
from t2ibench.store.image_headers import UnreadableImageError
from t2ibench.store.images import ImageFile as StoredFile
from t2ibench.store.pixels import (
    READ_FORMATS,
    image_format,
    read_image,
)

NO_FILES: dict[str, Callable[[Path], object]] = {
    "a pipe": lambda path: os.mkfifo(path),  # noqa: PLW0108  # not on Windows
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a folder": lambda path: path.mkdir(),
    "a link that leads nowhere": lambda path: path.symlink_to("nowhere"),
    "nothing": lambda path: None,
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("kind", NO_FILES)
def test_what_is_no_file_is_unreadable_at_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    NO_FILES[kind](path)
    with pytest.raises(UnreadableImageError):
        StoredFile(path, "0" * 64).read()
    with pytest.raises(OSError, match=r".+"):
        read_ordinary(path)


def test_a_link_to_a_file_is_read_where_its_hash_is_the_stored_one(
    tmp_path: Path,
) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(buffer, "PNG")
    (tmp_path / "there.png").write_bytes(buffer.getvalue())
    (tmp_path / "secret").write_text("of somebody")
    link = tmp_path / "a.png"
    link.symlink_to("there.png")
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    assert StoredFile(link, digest).read().size == (4, 4)
    link.unlink()
    link.symlink_to("secret")
    with pytest.raises(UnreadableImageError, match="has changed"):
        StoredFile(link, digest).data()


def png(width: int, height: int) -> bytes:
    """A small file of a large image, in which no row is there."""

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(name + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + name + data + crc

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\2\0\0\0"
    rows = zlib.compress(b"\0" * 1000)
    parts = [chunk(b"IHDR", header), chunk(b"IDAT", rows), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("size", [(8193, 8192), (30_000, 5_000), (2**31 - 1, 1)])
def test_a_server_cannot_fill_the_memory_with_pixels(size: tuple[int, int]) -> None:
    image = checked_file(png(*size))
    assert image.status == "failed" and image.image is None
    assert "pixels, more than 67,108,864" in str(image.reason) or "Bomb" in str(
        image.reason
    )


@pytest.mark.parametrize("size", [(1, 100_000), (100_000, 1), (2, 201)])
def test_an_image_that_encoders_would_make_huge_is_unreadable(
    size: tuple[int, int],
) -> None:
    """Encoders scale the shorter side to 224 pixels or more, and the longer one with it."""
    buffer = io.BytesIO()
    Image.new("RGB", size).save(buffer, "PNG")
    with pytest.raises(UnreadableImageError, match="more than 100 times the other"):
        read_image(buffer.getvalue())


PROGRAM = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\n%%EndComments\n"


def iptc(content: bytes) -> bytes:
    """An IPTC file, 64 pixels a side by its header, whose image data are another file."""

    def record(number: int, kind: int, data: bytes) -> bytes:
        mark = bytes([0x1C, number, kind])
        return mark + len(data).to_bytes(2, "big") + data

    records = [
        record(3, 20, b"\x00\x40"),  # its width
        record(3, 30, b"\x00\x40"),  # its height
        record(3, 60, b"\x01\x00"),  # one layer
        record(3, 65, b"\x01"),  # and what it is
        record(3, 120, b"\x05"),  # "JPEG", which Pillow takes for any format
        record(8, 10, content),
    ]
    return b"".join(records)


@pytest.mark.parametrize("file", [PROGRAM, iptc(PROGRAM)], ids=["alone", "in IPTC"])
def test_an_image_that_is_a_program_is_not_run(
    file: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = Mock(return_value=Image.new("RGB", (64, 64)).im)
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", interpreter)
    path = tmp_path / "a.png"
    path.write_bytes(file)
    for source in (file, path):
        with pytest.raises(UnreadableImageError):
            read_image(source)
    with pytest.raises(UnidentifiedImageError):
        image_format(file)
    with pytest.raises(UnidentifiedImageError):
        media_type_of_plain(file)
    assert not interpreter.called


def test_a_file_within_a_file_is_no_way_past_the_limits() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (1, 20_000)).save(buffer, "PNG")
    with pytest.raises(UnreadableImageError):
        read_image(iptc(buffer.getvalue()))


@pytest.mark.filterwarnings("ignore:Image was not the expected size")
@pytest.mark.parametrize(
    ("size", "why"), [((200, 200), "40,000 pixels, more"), ((1, 200), "100 times")]
)
def test_an_icon_that_is_larger_than_its_header_says_is_unreadable(
    size: tuple[int, int], why: str
) -> None:
    """Each icon is a file of its own, decoded whatever the list of sizes says."""
    buffer = io.BytesIO()
    Image.new("RGB", size).save(buffer, "PNG")
    inner = buffer.getvalue()
    sizes = b"\x10\x10\0\0\1\0\x20\0"  # 16 by 16 pixels
    place = len(inner).to_bytes(4, "little") + (22).to_bytes(4, "little")
    icon = b"\0\0\1\0\1\0" + sizes + place + inner
    with pytest.raises(UnreadableImageError, match=why):
        read_image(icon, most_pixels=1000)


def icon_of(inner: bytes, count: int = 1) -> bytes:
    """A file of icons that all are the same file, of 16 pixels by their list."""
    sizes = b"\x10\x10\0\0\1\0\x20\0"
    entry = sizes + len(inner).to_bytes(4, "little")
    place = (6 + 16 * count).to_bytes(4, "little")
    return b"\0\0\1\0" + count.to_bytes(2, "little") + (entry + place) * count + inner


def bitmap(width: int, height: int) -> bytes:
    """The header of a bitmap within an icon, without its pixels."""
    return struct.pack("<IiiHHIIiiII", 40, width, 2 * height, 1, 32, *[0] * 6)


def tiff_of_a_tile(side: int) -> bytes:
    """A TIFF file of an image of 64 pixels a side in one tile, which is decoded as a whole."""
    tags = [(256, 64), (257, 64), (258, 8), (259, 8), (262, 1), (277, 1)]
    tags += [(322, side), (323, side), (324, 8 + 2 + 12 * 11 + 4), (325, 1000)]
    tags.insert(6, (284, 1))
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    start = struct.pack("<2sHIH", b"II", 42, 8, len(tags))
    return start + entries + b"\0" * 4 + zlib.compress(b"\0" * 10**6)[:1000]


BOMBS = {
    "an icon that is a PNG": icon_of(png(40_000, 20_000)),
    "an icon that is a bitmap": icon_of(bitmap(40_000, 20_000)),
    "a PNG that has two headers": icon_of(png(16, 16)[:33] + png(40_000, 20_000)[8:]),
    "a tile of a TIFF file": tiff_of_a_tile(40_000),
}


@pytest.mark.parametrize("bomb", [*BOMBS])
@pytest.mark.parametrize("most_pixels", [2**26, None])
def test_what_is_too_large_is_not_decoded_while_it_is_opened(
    bomb: str,
    most_pixels: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pillow decodes icons while it opens the file, and a tile however small its image is."""
    path = tmp_path / "a.png"
    path.write_bytes(BOMBS[bomb])
    decoding = Mock(side_effect=AssertionError("it was decoded"))
    for decoder in (PngImagePlugin.PngImageFile, TiffImagePlugin.TiffImageFile):
        monkeypatch.setattr(decoder, "load", decoding)
    monkeypatch.setattr(ImageFile.ImageFile, "load", decoding)
    for source in (path, BOMBS[bomb]):
        with pytest.raises(UnreadableImageError, match=r"800,000,000|1,600,000,000"):
            read_image(source, most_pixels=most_pixels)
    with pytest.raises(UnreadableImageError):
        image_format(BOMBS[bomb])
    with pytest.raises(UnreadableImageError):
        media_type_of_plain(BOMBS[bomb])
    assert not decoding.called


@pytest.mark.parametrize(
    "damaged",
    [b"", b"\xff" * 40, png(16, 16)[:20]],
    ids=["empty", "noise", "cut off"],
)
def test_an_icon_beside_a_damaged_smaller_one_is_read(damaged: bytes) -> None:
    """Pillow decodes the largest alone."""
    buffer = io.BytesIO()
    Image.new("RGB", (64, 64), "red").save(buffer, "PNG")
    file = buffer.getvalue()
    largest = struct.pack("<BBHHHII", 64, 64, 0, 1, 32, len(file), 38)
    other = struct.pack("<BBHHHII", 16, 16, 0, 1, 32, len(damaged), 38 + len(file))
    icons = b"\0\0\1\0\2\0" + largest + other + file + damaged
    assert read_image(icons).size == (64, 64)


def test_icons_without_end_are_unreadable() -> None:
    with pytest.raises(UnreadableImageError, match="60,000 icons, more than 256"):
        read_image(icon_of(png(16, 16), count=60_000))


# Pillow writes no PSD. Files are read by content, whatever their name is.
@pytest.mark.parametrize(
    "form",
    [form for form in (*READ_FORMATS, "MPO") if form != "PSD"],
)
@pytest.mark.parametrize("name", ["a.png", "a.webp", "a"])
def test_images_of_many_formats_are_read(name: str, form: str, tmp_path: Path) -> None:
    image = Image.linear_gradient("L").resize((48, 48)).convert("RGB")
    path = tmp_path / name
    options = {"save_all": True, "append_images": [image]} if form == "MPO" else {}
    image.save(path, form, **options)
    for source in (path, path.read_bytes()):
        pixels = read_image(source)
        assert pixels.size == (48, 48)
        assert np.abs(np.asarray(pixels) - np.asarray(image, dtype=float)).max() < 16
    assert image_format(path.read_bytes()) == form


FORMATS = (
    "PNG",
    "JPEG",
    "WEBP",
    "GIF",
    "BMP",
    "TIFF",
    "DDS",
    "PCX",
    "ICO",
    "TGA",
    "SGI",
    "JPEG2000",
    "QOI",
    "AVIF",
)


@pytest.mark.filterwarnings("ignore")
def test_whatever_a_decoder_raises_is_an_unreadable_image() -> None:
    """Bytes of many formats with a few of them changed; each decoder has its own errors."""
    rng = random.Random(7)
    noise = Image.frombytes("RGB", (24, 20), rng.randbytes(24 * 20 * 3))
    files = []
    for form in FORMATS:
        buffer = io.BytesIO()
        try:
            noise.save(buffer, form)
        except (KeyError, OSError, ValueError):
            continue  # Pillow was built without it, or cannot write it
        files.append(buffer.getvalue())
    damaged = 0
    for _ in range(1500):
        data = bytearray(rng.choice(files))
        for _ in range(rng.randint(1, 5)):
            place = rng.randrange(min(len(data), rng.choice([40, 200, 10**6])))
            data[place] = rng.choice([0, 1, 16, 127, 255, rng.randrange(256)])
        try:
            assert read_image(bytes(data)).mode == "RGB"
        except UnreadableImageError:
            damaged += 1
    assert damaged > 300
