"""Results of a run for a terminal, as one screen of at most fifty lines."""

from __future__ import annotations

import contextlib
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from t2ibench.errors import visible
from t2ibench.methods.core.schema import BaseTask
from t2ibench.reports import limits, overview, sentences
from t2ibench.reports.coverage import coverage
from t2ibench.reports.markdown.document import results_markdown
from t2ibench.reports.positive_controls import controls_said
from t2ibench.reports.view import RunView, TaskView, run_view, sorted_tasks
from t2ibench.results.schema import Results
from t2ibench.results.states import STATES, State

if TYPE_CHECKING:
    from rich.text import Text

LINES = 50
_MOST_INCONCLUSIVE = 4  # undecided tests that are listed where there are more
_EMPTY: overview.Line = ("", None)
_OF_WORDS = "Words alone: they describe the text encoder, not the model"


def screen(run: RunView, width: int, folder: Path | None = None) -> list[Text]:
    """Return a run's results as lines: verdict, bars of conclusive tests, and next steps.

    Inconclusive tests have their reasons.
    """
    from rich.text import Text

    top = _top(run, width)
    below = _below(run, width, folder)
    groups, hidden = _fitted(_groups(run), LINES - len(top) - len(below) - 2)
    lines = (
        [*top, _EMPTY, *overview.bars(run, width, groups)] if groups or hidden else top
    )
    lines += [(f" and {hidden} more in results.md", None)] if hidden else []
    return [
        Text(visible(line), STATES[state].terminal if state else "", no_wrap=True)
        for line, state in [*lines, *below]
    ]


def _top(run: RunView, width: int) -> list[overview.Line]:
    """Return the lines above the bars: verdict, warnings, counts of tests, and answers."""
    words_only = bool(run.texts and not run.families)
    top = _covered(run, width)
    top += [] if words_only else _wrapped(sentences.sentence(run), width, "clear")
    if run.results.limited:
        top.append(("Made with --limit; not a result to report.", None))
    if run.results.partial:
        top.append((f"{run.results.what_is_missing}; not a result to report.", None))
    if run.families:
        summary = _wrapped(overview.counts(run), width)
        summary += _wrapped(controls_said(run)[1], width)
        judged = [
            line for text in sentences.judged(run) for line in _wrapped(text, width)
        ]
        for lines in (summary, overview.prompts(run, width), judged):
            top += [_EMPTY, *lines] if lines else []
    return top


def _covered(run: RunView, width: int) -> list[overview.Line]:
    """Return the lines on what was asked and answered, which stand above the verdict."""
    covered = coverage(run)
    if covered is None:
        return []
    *texts, last = covered.lines()
    lines = [line for text in texts for line in _wrapped(text, width)]
    # A command stands in one line, so that it can be copied.
    lines += [(last, None)] if covered.command else _wrapped(last, width)
    return [*lines, _EMPTY]


def _wrapped(text: str, width: int, state: State | None = None) -> list[overview.Line]:
    return [(line, state) for line in wrap(visible(text), width)]


def _below(run: RunView, width: int, folder: Path | None) -> list[overview.Line]:
    lines: list[overview.Line] = []
    inconclusive = overview.inconclusive(run, width)
    if inconclusive:
        hidden = len(inconclusive) - _MOST_INCONCLUSIVE
        title = f"{STATES['cannot_tell'].word.capitalize()}, and why:"
        lines = [_EMPTY, (title, None)]
        # A line "and 1 more" would take as much room as the test that it hides.
        listed = inconclusive[:_MOST_INCONCLUSIVE] if hidden > 1 else inconclusive
        lines += [(line, "cannot_tell") for line in listed]
        lines += (
            [(f" and {hidden} more in results.md", "cannot_tell")] if hidden > 1 else []
        )
    if run.texts and run.families:
        clear = sum(task.mark.state == "clear" for task in run.texts)
        text = f"{_OF_WORDS}; {clear} of {len(run.texts)} lean clearly (results.md)."
        lines += [_EMPTY, *_wrapped(text, width)]
    if earlier := limits.earlier(run):
        lines += [_EMPTY, *_wrapped(" ".join(earlier), width)]
    if folder is not None:
        lines += [_EMPTY, *((line, None) for line in _next(run, folder, width))]
    return lines


def _groups(run: RunView) -> list[tuple[str, Sequence[TaskView]]]:
    if run.texts and not run.families:
        return [(_OF_WORDS, run.texts)]
    every = (("Tests", sorted_tasks(run.tests)), ("Positive controls", run.controls))
    decided = [
        (title, [task for task in tasks if not STATES[task.mark.state].unsure])
        for title, tasks in every
    ]
    return [(title, tasks) for title, tasks in decided if tasks]


def _fitted(
    groups: Sequence[tuple[str, Sequence[TaskView]]], room: int
) -> tuple[list[tuple[str, Sequence[TaskView]]], int]:
    """Return the tests that fit into `room` lines, clear ones first, and how many do not fit."""
    total = sum(len(tasks) for _, tasks in groups)
    for most in range(max((len(tasks) for _, tasks in groups), default=0), 0, -1):
        cut = [(title, tasks[:most]) for title, tasks in groups]
        shown = sum(len(tasks) for _, tasks in cut)
        if shown + len(groups) + (shown < total) <= room:
            return cut, total - shown
    return [], total


def _next(run: RunView, folder: Path, width: int) -> list[str]:
    name = shlex.quote(str(folder))
    page = folder / "report.html"
    lines = [
        (f"Report: {page}", f"; all numbers: {folder / 'results.md'}, results.json")
    ]
    if run.families:
        lines.append(
            (f"Next: t2ibench explore {name}", "   (type a word, see its images)")
        )
    wide = [task for task in run.tasks if sentences.too_wide(task)]
    if any(map(sentences.is_forecast, wide)):
        lines.append(
            (f"Next: t2ibench power {name}", "   (images that a narrow interval takes)")
        )
    elif wide:
        lines.append(
            (
                "Next: raise --images-per-prompt",
                "   (edits are not forecast; more source images narrow the interval)",
            )
        )
    return [line + more if len(line + more) <= width else line for line, more in lines]


def print_results(
    results: Results,
    specs: Mapping[str, BaseTask] | None = None,
    width: int | None = None,
    folder: Path | None = None,
    verbose: bool = False,
) -> None:
    """Print a run's results as one screen; with `verbose`, all of results.md as well."""
    from rich.console import Console

    width = min(width or shutil.get_terminal_size().columns, 80)
    console = Console(width=width, emoji=False, highlight=False)
    run = run_view(results, specs)
    # Captured, because rich ends the process when the reader of a pipe closes it.
    with console.capture() as captured:
        for line in screen(run, max(width, 60), folder):
            console.print(line, crop=False, overflow="ignore")
    text = captured.get()
    with contextlib.suppress(BrokenPipeError):
        print(
            text if _shows_signs(console.encoding) else text.translate(overview.ASCII),
            end="",
            flush=True,
        )
        if verbose:
            print(f"\n{results_markdown(results, run)}")


def _shows_signs(encoding: str | None) -> bool:
    try:
        "░╌●".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
