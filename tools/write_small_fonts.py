"""Write the small fonts of figures from the bundled ones: python tools/write_small_fonts.py."""

from __future__ import annotations

from pathlib import Path

from fontTools import subset

from t2ibench.reports.figures.fonts import COMMON_LETTERS, STYLES

FONTS = Path(__file__).parents[1] / "t2ibench" / "reports" / "static" / "fonts"


def main() -> None:
    for style in STYLES:
        source = FONTS / f"figure-sans-{style}.ttf"
        write_small_font(source, FONTS / f"figure-sans-{style}-small.ttf")


def write_small_font(source: Path, target: Path) -> None:
    """Write a font that has the common letters of another, and the same properties.

    A PDF embeds the letters that it shows, which are then the same from either font.
    """
    options = subset.Options(notdef_outline=True, prune_unicode_ranges=False)
    font = subset.load_font(str(source), options)
    shape_of = font.getBestCmap()
    common = {
        shape_of[code]
        for first, last in COMMON_LETTERS
        for code in range(ord(first), ord(last) + 1)
        if code in shape_of
    }
    # With further letters that have the shape of a common one, such as Α that of A.
    letters = [code for code, shape in shape_of.items() if shape in common]
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=letters)
    subsetter.subset(font)
    subset.save_font(font, str(target), options)


if __name__ == "__main__":
    main()
