"""A run's results on a terminal, with rich."""

from __future__ import annotations

from typing import TYPE_CHECKING

from t2ibench.errors import visible
from t2ibench.reports import overview
from t2ibench.reports.rails import UNICODE, Signs
from t2ibench.reports.view import RunView, controls_said, run_view
from t2ibench.results.schema import Results
from t2ibench.results.states import State

if TYPE_CHECKING:
    from rich.console import Group

_STYLES: dict[State, str] = {"clear": "bold", "cannot_tell": "dim", "no_score": "dim"}
_OF_WORDS = "Words alone: they describe the text encoder, not the model"


def results_table(
    results: Results, width: int, signs: Signs = UNICODE, run: RunView | None = None
) -> Group:
    """The run in a sentence, and every test as a bar.

    Args:
        results: What results.json holds.
        width: Columns of the terminal.
        signs: The characters that it can show.
        run: The same as pages show it; made from the results alone where it is not given.

    Returns:
        For rich. What is clear is bold, what cannot tell is dim; the marks say so too.
    """
    from rich.console import Group
    from rich.text import Text

    run = run or run_view(results)
    parts = (
        [Text(visible(overview.sentence(run)), style="bold")]
        if run.families or not run.texts
        else []
    )
    lines: list[overview.Line] = []
    if run.families:
        fine = controls_said(run)[1]
        lines = [(overview.counts(run, signs), None), *([(fine, None)] if fine else []), ("", None)]
        lines += overview.bars(run, width, signs)
    if run.texts:
        lines += [(_OF_WORDS, None), *overview.texts(run, width, signs)]
    parts += [
        Text(
            visible(line),
            style=_STYLES.get(state, "") if state else "",
            no_wrap=True,
            overflow="crop",
        )
        for line, state in lines
    ]
    return Group(*parts)
