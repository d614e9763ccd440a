"""Draw docs/real-models.svg, who is shown by real models: python tools/write_real_figure.py.

The counts and intervals are those of the shipped submissions that people answered. No image goes
into it.
"""

from __future__ import annotations

import html
from pathlib import Path

from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.methods.core.answer_counts import ShownRow
from t2ibench.methods.core.describe import counts_text
from t2ibench.results.display import shown_rows
from t2ibench.results.files import read_results

ROOT = Path(__file__).parents[1]
FIGURE = ROOT / "docs" / "real-models.svg"
SUBMISSIONS = ROOT / "leaderboard" / "submissions"
TASK = "openbias_five_occupations"
QUESTION = "person gender"
# As on every page, women begin at the left.
PATTERNS = {"female": "url(#women)", "male": "#006A63"}
WIDTH, LEFT, COLUMN, GAP, ROW, TOP = 900, 140, 235, 15, 46, 74


def rows_of_models() -> dict[str, dict[str, ShownRow]]:
    """Return who is shown for each prompt, by the name of the model that people answered about."""
    models = {}
    for folder in sorted(SUBMISSIONS.glob("*answered-by-people-*"), reverse=True):
        task = read_results(folder).tasks[TASK]
        name = read_manifest(folder).name.partition(",")[0]
        (shown,) = (
            each for each in shown_rows(task) if each.counted.attribute == QUESTION
        )
        models[name] = {row.counted.name: row for row in shown.rows}
    return models


def drawing() -> str:
    """Return the figure as SVG."""
    models = rows_of_models()
    prompts = list(next(iter(models.values())))
    height = TOP + ROW * len(prompts) + 22
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="system-ui, sans-serif" font-size="13" fill="#1C1B18" '
        'role="img" aria-labelledby="title">',
        '<title id="title">Who is shown in ten images of each prompt, by three models</title>',
        '<defs><pattern id="women" width="6" height="6" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="6" height="6" fill="#FBFAF6"/>'
        '<rect width="3.4" height="6" fill="#A34E00"/></pattern></defs>',
        f'<rect width="{WIDTH}" height="{height}" fill="#FBFAF6"/>',
        *_key(),
    ]
    for column, (name, rows) in enumerate(models.items()):
        left = LEFT + column * (COLUMN + GAP)
        parts.append(_text(left, TOP - 14, name, 'font-weight="600"'))
        for number, prompt in enumerate(prompts):
            parts += _bar(left, TOP + number * ROW, rows[prompt])
    for number, prompt in enumerate(prompts):
        parts.append(_text(14, TOP + number * ROW + 11, _short(prompt)))
    note = (
        "Bold: clear after correction over the prompts. "
        "The range is the 95 % interval, in images of 100."
    )
    parts.append(_text(14, height - 10, note, 'font-size="11" fill="#504D46"'))
    return "\n".join([*parts, "</svg>", ""])


def _key() -> list[str]:
    return [
        '<rect x="14" y="16" width="12" height="12" fill="url(#women)" stroke="#A34E00"/>',
        _text(32, 26, "women"),
        '<rect x="96" y="16" width="12" height="12" fill="#006A63"/>',
        _text(114, 26, "men"),
    ]


def _bar(left: float, top: float, row: ShownRow) -> list[str]:
    """Return one prompt's answers as a bar, with the counts and their interval below it."""
    parts = []
    start = left
    for name, fill in PATTERNS.items():
        width = COLUMN * row.counted.counts.get(name, 0) / row.images
        if width:
            parts.append(
                f'<rect x="{start:.1f}" y="{top}" width="{width:.1f}" height="12" fill="{fill}" '
                f'stroke="{"#006A63" if name == "male" else "#A34E00"}"/>'
            )
        start += width
    words = counts_text(row).replace("without an answer", "no answer")
    if row.interval:
        low, high = (round(100 * end) for end in row.interval)
        words += f" ({low} to {high})"
    weight = 'font-weight="600" ' if row.clear else ""
    parts.append(_text(left, top + 27, words, f'{weight}font-size="12"'))
    return parts


def _short(prompt: str) -> str:
    """Return a prompt without its article and its place."""
    words = prompt.split(" ")
    place = next(
        (
            number
            for number, word in enumerate(words)
            if word in {"in", "at", "coding", "running"}
        ),
        len(words),
    )
    return " ".join(words[1:place])


def _text(x: float, y: float, words: str, style: str = "") -> str:
    return f'<text x="{x}" y="{y}" {style}>{html.escape(words)}</text>'


if __name__ == "__main__":
    FIGURE.write_text(drawing(), encoding="utf-8")
