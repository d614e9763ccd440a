"""The report files that every run writes next to its results.json."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.schema import BaseTask
from t2ibench.reports.exclusions import TaskExclusions, exclusions
from t2ibench.reports.markdown import results_markdown
from t2ibench.reports.notes import FILE as NOTES
from t2ibench.reports.notes import read_notes
from t2ibench.reports.view import RunView, named, run_view
from t2ibench.results.paired import FILE as INFLUENCES
from t2ibench.results.paired import PairedTask, read_paired
from t2ibench.results.reading import read_results
from t2ibench.results.run import open_run
from t2ibench.results.schema import Results
from t2ibench.store.files import write_text
from t2ibench.store.jsonl import read_rows
from t2ibench.store.locks import locked
from t2ibench.tasks.index import specs_of
from t2ibench.tasks.kept import kept_specs

PAGE = "report.html"
_LIGHT = 330_000  # bytes of images, above which only tests that the summary names have more


def write_reports(results: Results, folder: Path) -> None:
    """Write results.md, report.html and the figures, of the results.json that is there now."""
    with locked(folder, "results"):
        try:
            latest = read_results(folder)
        except T2IBenchError:
            latest = results
        run = run_view(latest, task_files(latest, folder))
        write_text(folder / "results.md", results_markdown(latest, run))
        write_text(folder / PAGE, page_of(run, folder))
        write_figures(run, folder)


def digest(results: Results) -> str:
    """SHA-256 of results.json: of the file where it is at hand, else of what it would hold."""
    file = results.folder / "results.json" if results.folder is not None else None
    if file is not None and file.is_file():
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return hashlib.sha256(results.to_json(checked=True).encode()).hexdigest()


def write_figures(run: RunView, folder: Path) -> None:
    """Write every figure as figures/NAME.svg and .png, with its numbers as .csv.

    The forest plot is called `forest`, the figures of a task `<task>-<number>`.
    """
    from t2ibench.reports.figures.figure import Figure as Drawn
    from t2ibench.reports.figures.figure import draw
    from t2ibench.reports.figures.files import write_figure
    from t2ibench.reports.figures.forest import forest

    found: list[tuple[str, str, Drawn | None]] = [("forest", run.name, forest(run))]
    for task in run.tasks:
        samples = samples_of(folder, task.id)
        for number, figure in enumerate(task.shown.figures, start=1):
            about = f"{run.name}, {task.name}"
            found.append((f"{task.id}-{number}", about, draw(figure, task, samples)))
    for name, about, drawn in found:
        if drawn is not None:
            write_figure(drawn, f"{drawn.title}: {about}", folder / "figures", name)


def page_of(run: RunView, folder: Path | None, baseline: Path | None = None) -> str:
    """The report of a run as HTML."""
    from t2ibench.reports.html import sections as sections_of
    from t2ibench.reports.html.baseline import beside, read_baseline
    from t2ibench.reports.html.evidence import Thumbnails, each_stimulus, evidence
    from t2ibench.reports.html.page import figures_of, fragment, report_html

    images, each, figures, paired, other = {}, {}, {}, {}, None
    lost: list[TaskExclusions] = []
    if folder is not None:
        thumbnails = Thumbnails(folder)
        for task in run.tasks:
            samples = samples_of(folder, task.id)
            found = evidence(task, samples, thumbnails)
            if found is not None:
                images[task.id] = found
            figures[task.id] = figures_of(task, samples)
        leading = named(run)  # once every test has the images it must show
        for task in [*leading, *(task for task in run.tasks if task not in leading)]:
            if thumbnails.full or (task not in leading and thumbnails.size > _LIGHT):
                break
            strips = each_stimulus(task, samples_of(folder, task.id), thumbnails)
            if strips is not None:
                each[task.id] = strips
        paired, lost = _paired(folder), exclusions(run, folder)
        if baseline is not None:
            other = beside(run, folder, read_baseline(baseline), thumbnails)
    notes = read_notes(folder / NOTES).notes if folder is not None else {}
    sections = [
        ("baseline", "Beside", other.section if other else None),
        ("prompts", "Prompts", sections_of.prompts_section(run, paired)),
        ("agreement", "Agreement", sections_of.agreement_section(run)),
        ("wordings", "Wordings", sections_of.wordings_section(run)),
        ("power", "Power", sections_of.power_section(run, paired)),
        ("left", "Left out", sections_of.exclusions_section(run, lost)),
        ("notes", "Notes", fragment("notes.html", notes=notes, tasks=[*run.tasks, *run.texts])),
    ]
    return report_html(
        run,
        figures=figures,
        evidence=images,
        each=each,
        sections=[(name, title, html) for name, title, html in sections if html],
        baseline=other,
        origin=_origin(run.results, folder),
    )


def _origin(results: Results, folder: Path | None) -> str:
    """Date, version and checksum of the results."""
    parts = []
    if folder is not None:
        with contextlib.suppress(T2IBenchError, IndexError, ValueError):
            ended = open_run(folder).record.history[-1].finished
            parts.append(datetime.fromisoformat(ended).strftime("%Y-%m-%d %H:%M UTC"))
    return " · ".join(
        [*parts, f"t2ibench {results.t2ibench}", f"SHA-256 of results.json {digest(results)}"]
    )


def _paired(folder: Path) -> dict[str, PairedTask]:
    try:
        return read_paired(folder / INFLUENCES)
    except T2IBenchError:
        return {}  # results of an older version


def samples_of(folder: Path, task: str) -> list[Mapping[str, Any]]:
    """The samples of one task."""
    file = folder / "samples" / f"{task}.jsonl"
    return list(read_rows(file)) if file.is_file() else []


def task_files(results: Results, folder: Path | None) -> dict[str, BaseTask]:
    """The files of the tasks of a run."""
    further: list[Path] = []
    if folder is not None:
        with contextlib.suppress(T2IBenchError):  # results alone: the shipped tasks will do
            further = list(map(Path, open_run(folder).record.include_path))
    hashes = {name: task.task_hash for name, task in results.tasks.items()}
    kept = {} if folder is None else kept_specs(folder)
    own = {name: kept[digest] for name, digest in hashes.items() if digest in kept}
    return specs_of(hashes, further) | own
