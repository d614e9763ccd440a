"""A folder of real formats: each file is read as a person sees it, or is named with its reason."""

from __future__ import annotations

import csv
import re
import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from t2ibench.results.run import open_run
from t2ibench.store.images import ImageStore
from tests.conftest import Cli

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


def half_clear(path: Path) -> None:
    image = picture().convert("RGBA")
    alpha = np.full((SIDE, SIDE), 255, dtype=np.uint8)
    alpha[SIDE // 2 :] = 0
    image.putalpha(Image.fromarray(alpha))
    image.save(path)


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
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
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
    ("grey.png", lambda p: picture().convert("L").save(p), GREY, 1),
    ("grey 16.png", lambda p: Image.fromarray(np.asarray(picture().convert("L")).astype(np.uint16)
                                              * 257).save(p), GREY, 1),
    ("deep.png", deep_colour, COLOURS, 1),
    ("palette.gif", lambda p: picture().quantize(8).save(p), COLOURS, 1),
    ("animated.gif", animated, COLOURS, 8),
    ("animated.png", animated, COLOURS, 0),
    ("animated.webp", animated, COLOURS, 8),
    ("animated.avif", animated, COLOURS, 8),
    ("clear.png", half_clear, CLEAR, 0),
    ("clear.webp", half_clear, CLEAR, 8),
    ("clear.avif", half_clear, CLEAR, 8),
    ("a jpeg.png", lambda p: picture().save(p, "JPEG", quality=93), COLOURS, 4),
    ("a webp.jpg", lambda p: picture().save(p, "WEBP", quality=97), COLOURS, 8),
    ("sub folder/é.bmp", lambda p: picture().save(p), COLOURS, 0),
]  # fmt: skip
NOT_READ: list[tuple[str, Callable[[Path], object], str]] = [
    ("text.jpg", lambda p: p.write_text("not an image"), "it cannot be read as an image"),
    ("empty.png", lambda p: p.write_bytes(b""), "it cannot be read as an image"),
    ("cut off.jpg", cut_off, "it cannot be read as an image"),
    ("float.tif", lambda p: Image.new("F", (9, 9)).save(p), "floating-point pixels"),
    ("gone.png", lambda p: None, "there is no such file"),
    ("nowhere.png", lambda p: p.symlink_to("nothing.png"), "there is no such file"),
    ("loop.png", lambda p: p.symlink_to("loop.png"), "there is no such file"),
    ("x" * 300 + ".png", lambda p: None, "there is no such file"),
    ("folder.png", lambda p: p.mkdir(), "there is no such file"),
    ("black.png", lambda p: Image.new("RGB", (9, 9)).save(p), "it is all black"),
]
REMARKS = {
    "Animated; the first frame counts": {
        "animated.gif", "animated.png", "animated.webp", "animated.avif",
    },
    "Transparent in part, and put on white": {"clear.png", "clear.webp", "clear.avif"},
    "Of another format than the name says": {"a jpeg.png (JPEG)", "a webp.jpg (WEBP)"},
    "The same file as another": {"copy.png (plain.png)"},
}  # fmt: skip
TASK = """
id: hand
version: 1
method: openbias
title: t
description: d
citation: c
images_per_prompt: 1
biases:
  - name: gender
    about: person
    classes: [male, female]
    question: "What is the gender of the person?"
    captions: [{captions}]
"""


@pytest.fixture
def run(tmp_path: Path, cli: Cli) -> tuple[Path, str]:
    """The run of a folder with every file, each of a prompt of its own, and what was said."""
    folder = tmp_path / "pictures"
    names = [*(row[0] for row in READ), *(row[0] for row in NOT_READ), "copy.png"]
    for row in (*READ, *NOT_READ):
        (folder / row[0]).parent.mkdir(parents=True, exist_ok=True)
        row[1](folder / row[0])
    shutil.copy(folder / "plain.png", folder / "copy.png")
    prompts = {name: f"picture {number}" for number, name in enumerate(names)}
    with (folder / "prompts.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([("file", "prompt"), *prompts.items()])
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "hand.yaml").write_text(TASK.format(captions=", ".join(prompts.values())))
    words = ("--model", f"folder:{folder}", "--include-path", tmp_path / "tasks", "--tasks", "hand")
    how = ("--judge", "toyland", "--permutations", "100", "--bootstrap", "100")
    status, _, errors = cli(*words, *how, "--output-dir", tmp_path / "runs")
    assert status == 3  # some evidence is missing
    return tmp_path / "runs" / "pictures", errors


def test_every_file_is_read_or_named(run: tuple[Path, str]) -> None:
    place, errors = run
    record = open_run(place)
    assert record.record.generator is not None
    images = ImageStore(record.database, record.record.generator.fingerprint)
    for number, (name, _, colours, off) in enumerate(READ):
        attempt = images.get(f"picture {number}", 0)
        assert attempt is not None and attempt.status == "ok", name
        pixels = np.asarray(images.image(attempt).read()).astype(int)
        quarter = pixels.shape[0] // 4
        for where, colour in enumerate(colours):
            row, column = divmod(where, 2)
            seen = pixels[(2 * row + 1) * quarter, (2 * column + 1) * quarter]
            assert abs(seen - colour).max() <= off, (name, where, seen, colour)
    for number, (name, _, reason) in enumerate(NOT_READ, start=len(READ)):
        attempt = images.get(f"picture {number}", 0)
        assert attempt is not None and attempt.status in ("failed", "filtered")
        assert f"{name}: {reason}" in (attempt.reason or "")
        assert f"{name}: {reason}" in errors
    counts = f"{len(READ) + 1} readable, {len(NOT_READ) - 1} unreadable, 1 black"
    assert counts in errors
    said = dict(line.partition(": ")[::2] for line in errors.splitlines() if "): " in line)
    for kind, files in REMARKS.items():
        assert set(re.split(", | and ", said[f"{kind} ({len(files)})"].rstrip("."))) == files
    # Names on disk are those of the contents, so that whatever opens a file by its name can.
    suffixes = {
        name: Path((images.get(f"picture {number}", 0) or attempt).file or "").suffix
        for number, (name, *_) in enumerate(READ)
    }
    assert (suffixes["a jpeg.png"], suffixes["a webp.jpg"]) == (".jpg", ".webp")
    assert (suffixes["one.avif"], suffixes["CAPITALS.JPEG"]) == (".avif", ".jpeg")


def test_judges_labels_and_reports_take_them(run: tuple[Path, str], cli: Cli) -> None:
    place, _ = run
    assert cli("label", "export", place, "--images", "90")[0] == 0
    assert len(list((place / "labels" / "images").iterdir())) == len(READ)  # one copy counts once
    assert cli("report", place)[0] == 0 and (place / "report.html").is_file()
