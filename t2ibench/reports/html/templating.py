"""Templates of pages: how they are loaded and rendered, and the style sheet."""

from __future__ import annotations

import base64
import functools
import re
from importlib.resources import files

import jinja2
from jinja2.ext import Extension
from markupsafe import Markup

from t2ibench.reports.html.filters import FILTERS
from t2ibench.results.states import STATES

_FONTS = (
    ("Source Sans 3 Variable", "source-sans-3"),
    ("Source Serif 4 Variable", "source-serif-4"),
)
# What Jinja reads, and text that keeps its lines.
_NOT_TEXT = re.compile(r"(\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<pre\b.*?</pre>)", re.DOTALL)
_LINE_BREAK = re.compile(r"[ \t]*\n\s*")
# Tags with their attributes, and elements whose text is copied or read by a program.
_NOT_PROSE = re.compile(
    r"(<(script|style|pre|code|textarea)\b.*?</\2>|<[^>]*>)", re.DOTALL
)
_PER_CENT = re.compile(r"(?<=\d) %")


class FreeLayout(Extension):
    """Jinja extension that removes a template's indentation and line breaks from its output.

    The rule is that of JSX: a line break beside a tag or a block is layout and vanishes, one
    within text is a space, and a space that a break would swallow is written `{{ " " }}`.
    `<pre>` keeps its lines.
    """

    def preprocess(
        self, source: str, name: str | None, filename: str | None = None
    ) -> str:
        """Return a template's source without the white space that only lays it out."""
        # Text at even places, what Jinja reads at odd ones.
        parts = _NOT_TEXT.split(source)
        texts = [
            _without_layout(text, before, after)
            for text, before, after in zip(
                parts[::2], ["{%", *parts[1::2]], [*parts[1::2], "{%"], strict=True
            )
        ]
        parts[::2] = texts
        return "".join(parts)


def _without_layout(text: str, before: str, after: str) -> str:
    """Return text between two template tags without the line breaks that only lay it out."""

    def replacement(match: re.Match[str]) -> str:
        left = text[: match.start()].rstrip()[-1:] or before[:2]
        right = text[match.end() :][:1] or after[:2]
        beside_tag = left in {">", "{%", "{#", "<p"} or right in {"<", "{%", "{#", "<p"}
        # A comment keeps the numbers of lines, which errors name.
        lines = "\n" * match.group().count("\n")
        return f"{{#{lines}#}}" if beside_tag else f" {{#{lines}#}}"

    return _LINE_BREAK.sub(replacement, text)


@functools.cache
def environment() -> jinja2.Environment:
    """Return the Jinja environment of pages, which escapes all text that is not `Markup`."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("t2ibench.reports.html", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        extensions=[FreeLayout],
        auto_reload=False,  # the templates are files of the package
    )
    made.filters |= FILTERS
    made.globals["states"] = STATES
    return made


def fragment(template: str, **values: object) -> Markup:
    """Return the HTML that a template renders with these values."""
    html = environment().get_template(template).render(**values)
    return Markup(with_whole_percentages(html))


def with_whole_percentages(html: str) -> str:
    r"""Return HTML in whose text no line ends between a number and its per cent sign.

    Attributes, scripts, styles and code stay as they are.

    Examples:
        >>> with_whole_percentages('<p title="5 %">94 % of <code>5 %</code></p>')
        '<p title="5 %">94\xa0% of <code>5 %</code></p>'
    """
    pieces = []
    end = 0
    for tag in _NOT_PROSE.finditer(html):
        pieces.append(_PER_CENT.sub("\u00a0%", html[end : tag.start()]))
        pieces.append(tag.group())
        end = tag.end()
    pieces.append(_PER_CENT.sub("\u00a0%", html[end:]))
    return "".join(pieces)


def static(name: str) -> str:
    """Return the content of a text file in reports/static."""
    return (files("t2ibench.reports") / "static" / name).read_text(encoding="utf-8")


@functools.cache
def font_faces() -> str:
    """Return the style sheet of the pages' fonts, with their files in it."""
    faces = []
    for family, name in _FONTS:
        font = files("t2ibench.reports") / "static" / "fonts" / f"{name}.woff2"
        data = base64.b64encode(font.read_bytes()).decode()
        faces.append(
            f'@font-face{{font-family:"{family}";font-weight:200 900;font-display:swap;'
            f'src:url(data:font/woff2;base64,{data}) format("woff2")}}'
        )
    return "\n".join(faces)


@functools.cache
def style(*further: str) -> Markup:
    """Return the style sheet of a page with embedded fonts, and further sheets of its own."""
    sheets = [static(name) for name in ("tokens.css", "report.css", *further)]
    return Markup("\n".join([font_faces(), *sheets]))
