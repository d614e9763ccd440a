"""A run's summary as HTML that can stand in another page, such as a notebook."""

from __future__ import annotations

import functools
import re

from markupsafe import Markup

from t2ibench.reports.files import task_files
from t2ibench.reports.html.marks import forest_view
from t2ibench.reports.html.templating import fragment, static
from t2ibench.reports.view import run_view
from t2ibench.results.schema import Results

_REM = re.compile(r"(\d*\.?\d+)rem\b")
_PAGE = re.compile(r"@page\{[^}]*\}")
_ROOT = re.compile(r"(?<![\w.#-])(?::root|html)\{")


def run_html(results: Results) -> str:
    """Return a run's verdict and forest plot as HTML for another page."""
    run = run_view(results, task_files(results, results.folder))
    return fragment("inline.html", forest=forest_view(run), style=inline_style())


@functools.cache
def inline_style() -> Markup:
    """Return the report's style sheet changed so that it styles only an embedded summary."""
    sheets = ("tokens.css", "report.css", "inline.css")
    text = "\n".join(static(name) for name in sheets)
    text = _PAGE.sub("", text).replace("@media (max-width:", "@container (max-width:")
    text = _ROOT.sub("&{", text)
    text = _REM.sub(lambda size: f"{16 * float(size[1]):g}px", text)
    return Markup(f".t2ibench-inline{{\n{text}}}")
