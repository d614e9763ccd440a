"""Pictures of pages that docs show: all are there, in their size, and shown somewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from tools.write_screenshots import OF_RUN, SIZES, write

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SIZES)
def test_each_picture_has_its_size_and_is_shown(name: str) -> None:
    with Image.open(ROOT / "docs" / f"{name}.png") as picture:
        assert picture.size == SIZES[name]
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    assert any(f"{name}.png)" in page.read_text(encoding="utf-8") for page in pages)


def test_all_but_the_leaderboard_are_of_a_run() -> None:
    assert set(SIZES) - set(OF_RUN) == {"leaderboard"}


def test_a_picture_is_written_in_few_colours(tmp_path: Path) -> None:
    whole = tmp_path / "whole.png"
    Image.radial_gradient("L").convert("RGB").save(whole)
    write(whole.read_bytes(), tmp_path / "few.png")
    with Image.open(tmp_path / "few.png") as few:
        assert (few.mode, few.size) == ("P", (256, 256))
        assert few.convert("RGB").getpixel((128, 128))[0] < 8
