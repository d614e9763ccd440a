"""A run's results on a terminal: one screen of at most fifty lines."""

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
from t2ibench.reports import overview, sentences
from t2ibench.reports.interval_bar import UNICODE, Signs, signs_for
from t2ibench.reports.markdown import results_markdown
from t2ibench.reports.sentences import controls_said
from t2ibench.reports.view import RunView, TaskView, run_view, sorted_tasks
from t2ibench.results.display import UNSURE, State
from t2ibench.results.schema import Results

if TYPE_CHECKING:
    from rich.text import Text

LINES = 50
_UNTOLD = 4  # tests that cannot tell, of more than fit
_STYLES: dict[State, str] = {"clear": "bold magenta", "cannot_tell": "dim", "no_score": "dim"}
_OF_WORDS = "Words alone: they describe the text encoder, not the model"


def screen(
    run: RunView, width: int, signs: Signs = UNICODE, folder: Path | None = None
) -> list[Text]:
    """The verdict, bars of the tests that tell something, why the others do not, what is next."""
    from rich.text import Text

    top: list[overview.Line] = []
    if run.families or not run.texts:
        top = [(line, "clear") for line in wrap(visible(sentences.sentence(run)), width)]
    for marked, text in (
        (run.results.limited, "Made with --limit; not a result to report."),
        (run.results.partial, "Some prompts have no image; not a result to report."),
    ):
        top += [(text, None)] if marked else []
    untold = overview.untold(run, width, signs)
    below: list[overview.Line] = []
    if untold:
        rest = len(untold) - _UNTOLD
        below = [("", None), ("Cannot tell, and why:", None)]
        below += [(line, "cannot_tell") for line in untold[: _UNTOLD if rest > 1 else None]]
        below += [(f" and {rest} more in results.md", "cannot_tell")] if rest > 1 else []
    if run.texts and run.families:
        clear = sum(task.mark.state == "clear" for task in run.texts)
        text = f"{_OF_WORDS}; {clear} of {len(run.texts)} lean clearly (results.md)."
        below += [("", None), *((line, None) for line in wrap(text, width))]
    told_apart = sentences.earlier(run)
    if told_apart:
        below += [("", None), *((line, None) for line in wrap(" ".join(told_apart), width))]
    below += [("", None), *((line, None) for line in _next(run, folder, width))] if folder else []
    told: list[tuple[str, Sequence[TaskView]]] = []
    if run.texts and not run.families:
        told = [(_OF_WORDS, run.texts)]
    else:
        for title, of in (("Tests", sorted_tasks(run.tests)), ("Positive controls", run.controls)):
            tasks = [task for task in of if task.mark.state not in UNSURE]
            told += [(title, tasks)] if tasks else []
    if run.families:
        fine = controls_said(run)[1]
        told_counts = wrap(overview.counts(run, signs), width)
        top += [("", None), *((line, None) for line in told_counts)]
        top += [(line, None) for line in wrap(fine, width)]
        counted = overview.prompts(run, overview.PROMPTS, width, signs)
        top += [("", None), *counted] if counted else []
        told_judges = [line for text in sentences.judged(run) for line in wrap(text, width)]
        top += [("", None), *((visible(line), None) for line in told_judges)] if told_judges else []
    room = LINES - len(top) - len(below) - 2
    groups, rest = _fitted(told, room)
    lines = [*top, ("", None), *overview.bars(run, width, signs, groups)] if told else top
    lines += [(f" and {rest} more in results.md", None)] if rest else []
    return [
        Text(visible(line), _STYLES.get(state, "") if state else "", no_wrap=True)
        for line, state in [*lines, *below]
    ]


def _fitted(
    groups: Sequence[tuple[str, Sequence[TaskView]]], room: int
) -> tuple[list[tuple[str, Sequence[TaskView]]], int]:
    """As many tests of each group as fit, the clear ones first, and how many do not."""
    total = sum(len(tasks) for _, tasks in groups)
    for most in range(max((len(tasks) for _, tasks in groups), default=0), 0, -1):
        cut = [(title, tasks[:most]) for title, tasks in groups]
        shown = sum(len(tasks) for _, tasks in cut)
        if shown + len(groups) + (shown < total) <= room:
            return cut, total - shown
    return [], total


def _next(run: RunView, folder: Path, width: int) -> list[str]:
    """Where everything is, and the commands that a user wants next."""
    name, page = shlex.quote(str(folder)), folder / "report.html"
    lines = [(f"Report: {page}", f"; all numbers: {folder / 'results.md'}, results.json")]
    if run.families:
        lines.append((f"Next: t2ibench explore {name}", "   (type a word, see its images)"))
    if any(map(sentences.too_wide, run.tasks)):
        lines.append((f"Next: t2ibench power {name}", "   (images that a narrow interval takes)"))
    return [line + more if len(line + more) <= width else line for line, more in lines]


def print_results(
    results: Results,
    specs: Mapping[str, BaseTask] | None = None,
    width: int | None = None,
    folder: Path | None = None,
    verbose: bool = False,
) -> None:
    """Print the results: one screen, in colour on a terminal."""
    from rich.console import Console

    width = min(width or shutil.get_terminal_size().columns, 80)
    console = Console(width=width, emoji=False, highlight=False)
    run = run_view(results, specs)
    # Captured, because rich ends the process where a reader has enough.
    with console.capture() as captured:
        for line in screen(run, max(width, 60), signs_for(console.encoding), folder):
            console.print(line, crop=False, overflow="ignore")
    with contextlib.suppress(BrokenPipeError):
        print(captured.get(), end="", flush=True)
        if verbose:
            print(f"\n{results_markdown(results, run)}")
