"""A folder of real formats: each file is read as a person sees it, or is named with its reason."""

from __future__ import annotations

import csv
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from t2ibench.store.pixels import read_image
from tests import hand
from tests.conftest import Cli
from tests.pipeline.tasks import write_bias

COLOURS = ((200, 40, 40), (40, 180, 40), (50, 60, 200), (230, 220, 180))
GREYS = tuple(round(0.299 * r + 0.587 * g + 0.114 * b) for r, g, b in COLOURS)
WHITE = (255, 255, 255)
SIDE = 64


def picture(side: int = SIDE, turn: int = 0) -> Image.Image:
    """Four squares of a colour each; `turn` moves them on."""
    pixels = np.zeros((side, side, 3), dtype=np.uint8)
    half = side // 2
    for number in range(4):
        row, column = divmod(number, 2)
        pixels[row * half :, column * half :] = COLOURS[(number + turn) % 4]
    return Image.fromarray(pixels)


def animated(path: Path) -> None:
    picture().save(path, save_all=True, append_images=[picture(turn=1)], duration=90)


def half_clear(path: Path, mode: str = "RGBA") -> None:
    image = picture().convert(mode)
    alpha = np.full((SIDE, SIDE), 255, dtype=np.uint8)
    alpha[SIDE // 2 :] = 0
    image.putalpha(Image.fromarray(alpha))
    image.save(path)


def grey_16(path: Path) -> None:
    """As a scanner has it: scaled to eight bits, and not clipped."""
    levels = np.asarray(picture().convert("L")).astype(np.uint16) * 257
    Image.fromarray(levels).save(path)


def on_its_side(path: Path) -> None:
    """What a camera writes that was held on its side: as stored, it lies."""
    exif = Image.Exif()
    exif[0x0112] = 6
    picture().rotate(90).save(path, exif=exif, quality=95)


def deep_colour(path: Path) -> None:
    """A PNG of 16 bits a channel, by hand: Pillow writes none."""
    rows = (np.asarray(picture()).astype(np.uint16) * 257).astype(">u2")
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 16, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(raw)), (b"IEND", b""),
    ]  # fmt: skip
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + b"".join(
            struct.pack(">I", len(data))
            + kind
            + data
            + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks
        )
    )


def cut_off(path: Path) -> None:
    picture(256).save(path, "JPEG", quality=95)
    path.write_bytes(path.read_bytes()[:900])


Colours = tuple[tuple[int, int, int], ...]
GREY: Colours = tuple((level, level, level) for level in GREYS)
CLEAR: Colours = (*COLOURS[:2], WHITE, WHITE)
# File, how it is made, the colours of its quarters as a person sees them, how far they may be off.
READ: list[tuple[str, Callable[[Path], object], Colours, int]] = [
    ("plain.png", lambda p: picture().save(p), COLOURS, 0),
    ("with space.jpg", lambda p: picture().save(p, quality=95), COLOURS, 4),
    ("смех 😀 日本語.webp", lambda p: picture().save(p, quality=95), COLOURS, 6),
    ("one.avif", lambda p: picture().save(p, quality=90), COLOURS, 6),
    ("CAPITALS.JPEG", lambda p: picture().save(p, "JPEG", quality=94), COLOURS, 4),
    ("cmyk.jpg", lambda p: picture().convert("CMYK").save(p, quality=95), COLOURS, 6),
    ("cmyk.tif", lambda p: picture().convert("CMYK").save(p), COLOURS, 1),
    ("exif.jpg", on_its_side, COLOURS, 4),
    ("exif.webp", on_its_side, COLOURS, 8),
    ("grey.png", lambda p: picture().convert("L").save(p), GREY, 0),
    ("grey 16.png", grey_16, GREY, 0),
    ("grey 16.tif", grey_16, GREY, 0),
    ("deep.png", deep_colour, COLOURS, 1),
    ("palette.gif", lambda p: picture().quantize(8).save(p), COLOURS, 1),
    ("animated.gif", animated, COLOURS, 8),
    ("animated.png", animated, COLOURS, 0),
    ("animated.webp", animated, COLOURS, 8),
    ("animated.avif", animated, COLOURS, 8),
    ("clear.png", half_clear, CLEAR, 0),
    ("clear.webp", half_clear, CLEAR, 8),
    ("clear.avif", half_clear, CLEAR, 8),
    ("clear palette.gif", half_clear, CLEAR, 1),
    ("clear grey.png", lambda p: half_clear(p, "LA"), (*GREY[:2], WHITE, WHITE), 0),
    ("a jpeg.png", lambda p: picture().save(p, "JPEG", quality=93), COLOURS, 4),
    ("a webp.jpg", lambda p: picture().save(p, "WEBP", quality=97), COLOURS, 8),
    ("copy.png", lambda p: picture().save(p), COLOURS, 0),
    ("sub folder/é.bmp", lambda p: picture().save(p), COLOURS, 0),
]  # fmt: skip
NOT_READ: list[tuple[str, Callable[[Path], object], str]] = [
    (
        "text.jpg",
        lambda p: p.write_text("not an image"),
        "it cannot be read as an image",
    ),
    ("empty.png", lambda p: p.write_bytes(b""), "it cannot be read as an image"),
    ("cut off.jpg", cut_off, "it cannot be read as an image"),
    ("float.tif", lambda p: Image.new("F", (9, 9)).save(p), "floating-point pixels"),
    ("gone.png", lambda p: None, "there is no such file"),
    ("nowhere.png", lambda p: p.symlink_to("nothing.png"), "there is no such file"),
    ("loop.png", lambda p: p.symlink_to("loop.png"), "there is no such file"),
    ("x" * 300 + ".png", lambda p: None, "there is no such file"),
    ("folder.png", lambda p: p.mkdir(), "there is no such file"),
    (
        "clear.tif",
        lambda p: Image.new("RGBA", (9, 9)).save(p),
        "every pixel of it is transparent",
    ),
    ("black.png", lambda p: Image.new("RGB", (9, 9)).save(p), "it is all black"),
]
NAMES = [row[0] for row in (*READ, *NOT_READ)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with every file, each of a prompt of its own."""
    folder = tmp_path / "pictures"
    for name, make, *_ in (*READ, *NOT_READ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        make(folder / name)
    prompts = {name: f"picture {number}" for number, name in enumerate(NAMES)}
    with (folder / "prompts.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("file", "prompt"), *prompts.items()])
    write_bias(tmp_path / "tasks", 1, captions=list(prompts.values()))
    return folder


def test_every_file_is_read_or_named(folder: Path, cli: Cli) -> None:
    root, place = folder.parent, folder.parent / "runs" / "pictures"
    words = (
        "--model",
        f"folder:{folder}",
        "--include-path",
        root / "tasks",
        "--tasks",
        "hand",
    )
    words += ("--judge", "toyland", "--permutations", "100", "--bootstrap", "100")
    words += ("--output-dir", root / "runs")
    # what it could not read, the second run reads again
    for said in (NOT_READ, NOT_READ[:-1]):
        status, _, errors = cli(*words)
        # some evidence is missing
        assert status == 3 and "Replace or remove these files" in errors
        for name, _, reason in said:
            assert (
                f"image failed: {name}: {reason}" in errors
                or f"filtered: {name}" in errors
            )
        page = (place / "results.md").read_text()
        assert "empty.png: it cannot be read as an image" in page
        assert str(place / "images") not in errors and "generat" not in errors.lower()
    assert f"{len(NOT_READ) - 1} failed" in errors
    attempts = {row["prompt"]: row for row in hand.stored(place, "attempts")}
    attempts = {
        name: attempts[f"picture {number}"] for number, name in enumerate(NAMES)
    }
    for name, _, colours, off in READ:
        assert attempts[name]["status"] == "ok", name
        pixels = np.asarray(
            read_image(place / "images" / attempts[name]["file"])
        ).astype(int)
        quarter = pixels.shape[0] // 4
        for where, colour in enumerate(colours):
            row, column = divmod(where, 2)
            seen = pixels[(2 * row + 1) * quarter, (2 * column + 1) * quarter]
            assert abs(seen - colour).max() <= off, (name, where, seen, colour)
    for name, _, reason in NOT_READ:
        assert attempts[name]["status"] in ("failed", "filtered")
        assert f"{name}: {reason}" in attempts[name]["reason"]
    # Names on disk are those of the contents, so that whatever opens a file by its name can.
    odd = ("a jpeg.png", "a webp.jpg", "one.avif", "CAPITALS.JPEG")
    suffixes = [Path(attempts[name]["file"]).suffix for name in odd]
    assert suffixes == [".jpg", ".webp", ".avif", ".jpeg"]
    assert cli("label", "export", place, "--images", "90")[0] == 0
    # equal ones once
    assert len(list((place / "labels" / "images").iterdir())) == len(READ) - 1
    assert cli("report", place)[0] == 0 and (place / "report.html").is_file()
    shutil.copy(folder / "plain.png", folder / "empty.png")
    _, _, errors = cli(*words)  # a replaced file is another folder of images
    counts = f"{len(READ) + 1} ok, {len(NOT_READ) - 2} failed, 1 filtered"
    assert "empty.png: it" not in errors and counts in errors
