"""How much the wording of the prompts matters, on the page of a run."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from t2ibench.methods.core.wording_report import WordingReport
from t2ibench.reports.html.page import fragment
from t2ibench.reports.view import RunView, TaskView
from t2ibench.reports.wordings import WordingRow, wording_reports, wording_rows


@dataclass(frozen=True, slots=True)
class Worded:
    """The wordings of one test.

    Attributes:
        task: The test.
        report: What they do.
        rows: The headline by language and by wording.
    """

    task: TaskView
    report: WordingReport
    rows: list[WordingRow]

    @property
    def languages(self) -> bool:
        """Whether any wording says its language."""
        return any(row.language != "–" for row in self.rows)

    @property
    def reasons(self) -> bool:
        """Whether any wording lacks a value or an interval."""
        return any(row.reason for row in self.rows)


def wordings_section(run: RunView) -> Markup | None:
    """What the wordings of each test do to its score."""
    tests = [
        Worded(task, report, list(wording_rows(report)))
        for task in run.tasks
        for report in wording_reports(task.result)
    ]
    return fragment("wordings.html", tests=tests) if tests else None
