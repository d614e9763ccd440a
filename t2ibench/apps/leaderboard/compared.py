"""What the page Compare shows: every two models' differences, and each model's counted answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard.downloads import rounded
from t2ibench.apps.leaderboard.page_views import picture_views
from t2ibench.apps.leaderboard.table import Entry, question_key
from t2ibench.apps.leaderboard.views import Model
from t2ibench.methods.core.answer_counts import ShownAttribute
from t2ibench.methods.core.describe import counts_text
from t2ibench.reports.class_bars import class_key, stack_parts
from t2ibench.results.comparison import compare
from t2ibench.results.comparison_claims import overall_difference
from t2ibench.results.score_difference import Difference
from t2ibench.store.files import write_text

MOST_PICTURES = 6  # of a model
MOST_PROMPTS = 60  # of a question; its test's page has all of them


def write_pairs(entries: Sequence[Entry], target: Path) -> None:
    """Write for each model a script with its differences from every model that follows it."""
    for number, first in enumerate(entries):
        rows = {second.id: _pair(first, second) for second in entries[number + 1 :]}
        write_text(
            target / f"{first.id}.js", _script("T2IBENCH_PAIR", [first.id, rows])
        )


def write_answers(models: Sequence[Model], target: Path) -> None:
    """Write for each model a script with who is shown in its images, and some of its pictures."""
    for model in models:
        questions = [
            _question(name, view.name, counted, model)
            for name, view in model.tasks.items()
            for counted in view.prompts
        ]
        pictures = [
            [picture.file, picture.prompt, picture.unchecked]
            for picture in picture_views(model)
        ]
        content = [model.entry.id, questions, pictures[:MOST_PICTURES]]
        write_text(
            target / f"{model.entry.id}.js", _script("T2IBENCH_ANSWERS", content)
        )


def _script(function: str, content: Any) -> str:
    text = json.dumps(
        content, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    return f"window.{function}({safe(text)});\n"


def _pair(first: Entry, second: Entry) -> dict[str, Any]:
    """Return a record of how two models differ: each test, and one test over all of them."""
    differences = compare(
        first.results,
        second.results,
        first.verdict.paired,
        second.verdict.paired,
        rows=False,
    )
    names = {
        "in the first run": f"for {first.manifest.name}",
        "in the second run": f"for {second.manifest.name}",
    }
    overall = overall_difference(differences)
    return {
        "tests": [_record(difference, names) for difference in differences],
        "overall": overall
        and {
            "p": overall.p,
            "tests": overall.n_tests,
            "differ": overall.n_differ,
        },
    }


def _record(difference: Difference, names: dict[str, str]) -> dict[str, Any]:
    """Return two models' difference in a test as a record, with the models' names in its notes."""
    notes = "; ".join(difference.notes)
    for run, model in names.items():
        notes = notes.replace(run, model)
    return {
        "task": difference.task,
        "value": rounded(difference.value),
        "low": rounded(difference.low),
        "high": rounded(difference.high),
        "verdict": difference.verdict,
        "notes": notes,
    }


def _question(
    task: str, test: str, shown: ShownAttribute, model: Model
) -> dict[str, Any]:
    """Return who is shown in a model's images as a record, for the first prompts of a question."""
    counted = shown.counted
    rank = model.entry.task_ranks.get(question_key(task, counted.attribute))
    return {
        "task": task,
        "test": test,
        "question": counted.attribute,
        "rank": rank.words if rank else "",
        "key": [
            [entry.classes, entry.name]
            for entry in class_key(counted.classes, counted.attribute)
        ],
        "of": len(shown.rows),
        "prompts": [
            {
                "name": row.short,
                "words": counts_text(row),
                "clear": row.clear,
                "parts": [
                    [part.classes, part.size]
                    for part in stack_parts(row, counted.classes)
                ],
            }
            for row in shown.rows[:MOST_PROMPTS]
        ],
    }


def safe(text: str) -> str:
    """Return JSON text that can stand inside a script of an HTML page."""
    return (
        text.replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
