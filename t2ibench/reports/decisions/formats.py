"""The formats in which decisions are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from t2ibench.decisions.decision import Decision
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.reports.decisions.json_record import decision_json
from t2ibench.reports.decisions.junit import decision_junit
from t2ibench.reports.decisions.markdown import decision_markdown
from t2ibench.reports.decisions.page import decision_page
from t2ibench.reports.decisions.text import decision_text

FORMATS: dict[str, Callable[[Sequence[Decision]], str]] = {
    "terminal": decision_text,
    "markdown": decision_markdown,
    "json": decision_json,
    "junit": decision_junit,
    "html": decision_page,
}


def format_named(name: str) -> Callable[[Sequence[Decision]], str]:
    """Return the function that writes decisions in a format; raise if there is none."""
    if name not in FORMATS:
        raise T2IBenchError(
            f"--format: '{shown(name)}' is not one of {', '.join(FORMATS)}."
            f"{did_you_mean(name, FORMATS)}"
        )
    return FORMATS[name]
