"""`t2ibench report RUN`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from t2ibench.reports.notes import Note
    from t2ibench.results.schema import Results


def run(arguments: argparse.Namespace) -> int:
    """Write report.html, or a run's results in another format."""
    from t2ibench.cli.gates import report
    from t2ibench.results.files import read_results
    from t2ibench.results.gates import RUN, check_run, parse_gates

    gates = parse_gates(arguments.fail_on or [], RUN)
    results = read_results(Path(arguments.run))
    if arguments.format is None:
        _page(arguments, results)
    else:
        _format(arguments, results)
    return report(check_run(gates, results)) if gates else 0


def _page(arguments: argparse.Namespace, results: Results) -> None:
    """Write report.html into the run folder, or where --output says."""
    from t2ibench.reports.files import task_files, write_page, write_paper_figures
    from t2ibench.reports.view import run_view

    folder = Path(arguments.run)
    if not folder.is_dir():
        folder = folder.parent
    _keep_notes(arguments, folder, list(results.tasks))
    run = run_view(results, task_files(results, folder))
    target, baseline = (
        Path(given) if given else None for given in (arguments.output, arguments.baseline)
    )
    print(f"Report: {write_page(run, folder, target, baseline)}")
    if arguments.figures:
        written = write_paper_figures(run, folder, Path(arguments.figures))
        print(f"Figures for a paper: {len(written)} files in {arguments.figures}")


def _keep_notes(arguments: argparse.Namespace, folder: Path, tasks: list[str]) -> None:
    """Add the notes of the command line to those of the run."""
    from t2ibench.errors import T2IBenchError
    from t2ibench.reports.notes import FILE, parse_note, read_notes, save_notes

    new: dict[str, Note] = {}
    if arguments.notes:
        if not Path(arguments.notes).is_file():
            raise T2IBenchError(f"There is no file {arguments.notes}.", "Save it from the page.")
        new |= read_notes(Path(arguments.notes)).notes
    new |= dict(parse_note(text, tasks, arguments.by) for text in arguments.note or [])
    if new:
        save_notes(folder / FILE, new)


def _format(arguments: argparse.Namespace, results: Results) -> None:
    from t2ibench.reports.writers import render
    from t2ibench.store.files import write_text

    text = render(arguments.format, results)
    if arguments.output:
        write_text(Path(arguments.output), text)
    else:
        print(text, end="")
