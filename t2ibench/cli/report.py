"""`t2ibench report RUN`: write a run's report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.text_output import print_or_write
from t2ibench.cli.usage import add_flag
from t2ibench.errors import T2IBenchError, nearest, shown

if TYPE_CHECKING:
    from t2ibench.results.schema import Results


PDF = "pdf"  # the format that is no text, so that no writer makes it


def add(verbs: Any) -> None:
    """Add the command `report` and its flags to the command line."""
    verb = verbs.add_parser(
        "report",
        description="Write report.html, a page of one file: what leans which way, how sure that "
        "is, and the images behind it. With --format, print the results in that format.",
    )
    add_flag(verb, "run RUN", "read this run folder, such as runs/toy (required)")
    add_flag(
        verb,
        "--format F",
        "write this format: pdf (report.pdf, printed by Chromium), md, latex, csv, …; see "
        "`t2ibench ls writers` (default: report.html)",
    )
    add_flag(
        verb,
        "--baseline OTHER",
        "write comparison.html, a page that compares OTHER with RUN (default: report.html)",
    )
    add_flag(verb, "--output FILE", "write to this file (default: see docs/reports.md)")
    add_flag(
        verb,
        "--title TEXT",
        "set the title of the tables of --format latex or md (default: none)",
    )
    add_flag(
        verb,
        "--columns C,…",
        "show these columns alone in tables, of task, headline, interval, about, fair, p, p_holm, "
        "score, images, excluded (default: all)",
    )
    add_flag(
        verb,
        "--rows TASK,…",
        "show only these tasks in the tables, by name or pattern such as 'core_*' (default: all)",
    )
    add_flag(
        verb,
        "--reference DIR",
        "compare the run in sentences with a leaderboard's models that were measured "
        "alike, such as leaderboard/submissions (default: no comparison)",
    )
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Write report.html, or a run's results in another format; return the exit status."""
    from t2ibench.reports.files import task_files, write_page
    from t2ibench.reports.view import run_view
    from t2ibench.reports.writers import render
    from t2ibench.results.files import read_results

    _check(arguments)
    path = Path(arguments.run)
    target = Path(arguments.output) if arguments.output else None
    if arguments.baseline is not None:
        return _write_comparison(arguments, target)
    results = read_results(path)
    if arguments.reference:
        print_or_write(_reference(arguments, results), target)
    elif arguments.format is None:
        folder = path if path.is_dir() else path.parent
        run = run_view(results, task_files(results, folder))
        print(f"Report: {write_page(run, folder, target)}")
    elif arguments.format == PDF:
        _write_pdf(results, path, target)
    else:
        text = _tables(arguments, results) or render(arguments.format, results)
        print_or_write(text, target)
    return 0


def _write_pdf(results: Results, path: Path, target: Path | None) -> None:
    """Print the page of a run to a PDF."""
    from t2ibench.reports.files import task_files
    from t2ibench.reports.pdf import write_pdf
    from t2ibench.reports.view import run_view

    folder = path if path.is_dir() else path.parent
    run = run_view(results, task_files(results, folder))
    print(f"Report: {write_pdf(run, folder, target)}")


def _reference(arguments: argparse.Namespace, results: Results) -> str:
    """Return how a run compares with the models of a leaderboard."""
    from t2ibench.apps.leaderboard.reference import read_references, reference_text

    models, problems = read_references(Path(arguments.reference), results)
    return reference_text(results, models, problems)


def _tables(arguments: argparse.Namespace, results: Results) -> str:
    """Return the tables that were chosen in the format; "" where nothing was chosen."""
    from t2ibench.arguments import names_of
    from t2ibench.reports.chosen_tables import chosen_tables
    from t2ibench.reports.writers import render

    if not _chosen(arguments):
        return ""
    columns = names_of(arguments.columns) if arguments.columns else ()
    rows = names_of(arguments.rows) if arguments.rows else ()
    tables = chosen_tables(results, arguments.title or "", columns, rows)
    return "\n".join(render(arguments.format, table) for table in tables)


def _chosen(arguments: argparse.Namespace) -> list[str]:
    """Return which flags choose something of a table."""
    flags = ("title", "columns", "rows")
    return [f"--{flag}" for flag in flags if getattr(arguments, flag)]


def _check(arguments: argparse.Namespace) -> None:
    """Raise an error for flags that do not go together, before anything is read."""
    from t2ibench.reports.chosen_tables import FORMATS
    from t2ibench.reports.writers import WRITERS

    is_meant = nearest(arguments.format or "", [*WRITERS.names(), PDF]) == PDF
    if is_meant and arguments.format != PDF:
        raise T2IBenchError(
            f"Unknown format '{shown(arguments.format)}'. Did you mean '{PDF}'?"
        )
    chosen = _chosen(arguments)
    others = [*(["--format"] if arguments.format else []), *chosen]
    if arguments.reference and others:
        raise T2IBenchError(
            "--reference prints sentences.", f"Leave {', '.join(others)} out."
        )
    if chosen and arguments.format not in FORMATS:
        raise T2IBenchError(
            f"{chosen[0]} is for tables of --format {' or '.join(FORMATS)}.",
            "Name one of these formats, or leave the flag out.",
        )


def _write_comparison(arguments: argparse.Namespace, target: Path | None) -> int:
    """Write the page that compares a run with another, such as one before a change."""
    from t2ibench.cli.compare import write_page
    from t2ibench.reports.comparison import read_comparison

    if arguments.format is not None or arguments.reference:
        raise T2IBenchError(
            "--baseline writes a page.",
            "Leave --format and --reference out; `t2ibench compare OTHER RUN --format F` prints "
            "another format.",
        )
    comparison = read_comparison(Path(arguments.baseline), Path(arguments.run))
    print(f"Comparison: {write_page(comparison, target)}")
    return 0
