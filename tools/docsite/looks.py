"""Figures and style from the report's own marks, so that the site shows what a report shows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from t2ibench.reports.html.inline import inline_style, run_html
from t2ibench.reports.html.templating import environment, static
from t2ibench.results.display import IntervalMark as Mark
from t2ibench.results.files import read_results

_PLACE = re.compile(r"<!-- (?P<kind>figure|run|output): (?P<name>\S+) -->")
_FONTS = Path("t2ibench/reports/static/fonts")
_EXAMPLES = (
    (
        "Clear, to the right",
        Mark(0.47, 0.25, 0.69, "clear", "high", -0.16, 0.16),
        (0.1, 0.3, 0.7, 0.8),
    ),
    (
        "Clear, to the left",
        Mark(-0.62, -0.8, -0.44, "clear", "low", -0.2, 0.2),
        (-0.9, -0.5, -0.4),
    ),
    (
        "None above 0.24",
        Mark(0.05, -0.12, 0.22, "none_above", "high", -0.18, 0.18),
        (-0.2, 0.1, 0.3),
    ),
    ("Cannot tell", Mark(0.3, -0.35, 0.95, "cannot_tell", "high", -0.6, 0.6), ()),
    (
        "No direction (rms)",
        Mark(0.73, 0.6, 0.84, "clear", None, 0.0, 0.19),
        (-0.9, 0.5, 0.8),
    ),
    ("Not scored", Mark(None, None, None, "no_score", None), ()),
)
_FIGURE = """{% from "marks.html" import rail, scale %}
<div class="t2ibench-inline marks"><div class="mrow"><span></span>{{ scale() }}</div>
{%- for name, mark, ticks in examples %}
<div class="mrow"><span>{{ name }}</span>
{{ rail(mark, "Example: " ~ name, ticks=ticks, without_mark="no score") }}</div>
{%- endfor %}</div>"""


def files(root: Path) -> dict[str, str | bytes]:
    """Fonts and style of the site."""
    made: dict[str, str | bytes] = {
        f"assets/fonts/{font.name}": font.read_bytes()
        for font in sorted((root / _FONTS).iterdir())
    }
    tokens = static("tokens.css")
    variables = tokens[: tokens.index("*{box-sizing")]
    made["assets/t2ibench.css"] = f"{variables}\n{inline_style()}\n"
    return made


def put_in(html: str, root: Path, outputs: Mapping[str, str]) -> str:
    """A page with its figures, runs and outputs."""

    def part(found: re.Match[str]) -> str:
        name = found["name"]
        if found["kind"] == "run":
            (folder,) = root.glob(name)
            return _without_style(run_html(read_results(folder)))
        if found["kind"] == "output":
            return _without_style(outputs[name])
        return environment().from_string(_FIGURE).render(examples=_EXAMPLES)

    return _PLACE.sub(part, html)


def _without_style(html: str) -> str:
    """The site has the style of results already."""
    return html.replace(f"<style>{inline_style()}</style>", "")
