"""The sections of report.html on the run rather than single tests, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.reports.html.design_sections import score_tables_section
from t2ibench.reports.html.exclusion_section import exclusions_section
from t2ibench.reports.html.reader_sections import agreement_section, people_section
from t2ibench.reports.html.summary_table import summary_table_section
from t2ibench.reports.view import RunView
from t2ibench.results.method_agreement import MeasuredPair
from t2ibench.results.paired import PairedTask


@dataclass(frozen=True, slots=True)
class SectionView:
    """A section of the report: its anchor, its title in the contents, and its HTML."""

    id: str
    title: str
    html: Markup


def run_sections(
    run: RunView, paired: Mapping[str, PairedTask], pairs: Sequence[MeasuredPair]
) -> tuple[SectionView, ...]:
    """Return the sections of a run's report, in order, without those that have no content."""
    sections = [
        ("table", "Table", summary_table_section(run, paired)),
        ("people", "People", people_section(run)),
        ("agreement", "Agreement", agreement_section(run, pairs)),
        ("comparisons", "Comparisons", score_tables_section(run)),
        ("left", "Left out", exclusions_section(run)),
    ]
    return tuple(
        SectionView(name, title, html) for name, title, html in sections if html
    )
