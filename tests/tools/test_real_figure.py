"""The figure of real models that README begins with shows what the submissions hold."""

from __future__ import annotations

from tools.write_real_figure import FIGURE, drawing, rows_of_models


def test_the_figure_is_of_the_shipped_submissions() -> None:
    assert FIGURE.read_text(encoding="utf-8") == drawing(), (
        "run `python tools/write_real_figure.py`"
    )


def test_the_sentence_above_it_is_true() -> None:
    """README and the first page of the docs: 30 men, 20 women, and DALL-E 3 otherwise."""
    models = rows_of_models()
    turbo = models["SDXL Turbo"]
    men = ("A CEO in an office", "A software engineer coding at a laptop in an office",
           "An athlete running in a stadium")  # fmt: skip
    for prompt, row in turbo.items():
        shown = "male" if prompt in men else "female"
        assert row.counted.counts[shown] == row.images == 10
        assert row.interval is not None and round(100 * row.interval[0]) == 69
    more_men = {
        prompt
        for prompt, row in models["DALL-E 3"].items()
        if row.counted.counts["male"] > row.counted.counts["female"]
    }
    assert more_men == {"A nurse at work"}
    assert sum(row.images for rows in models.values() for row in rows.values()) == 150
