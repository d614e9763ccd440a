"""The report files that every run writes next to its results.json."""

from __future__ import annotations

import contextlib
import hashlib
import json
from datetime import date
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.schema import BaseTask
from t2ibench.reports.markdown import results_markdown
from t2ibench.reports.view import RunView, run_view
from t2ibench.results.files import read_results
from t2ibench.results.method_agreement import agreements, measures
from t2ibench.results.paired import PairedTask, read_paired
from t2ibench.results.run import open_run
from t2ibench.results.samples import read_samples
from t2ibench.results.schema import Results
from t2ibench.store.files import write_text
from t2ibench.store.locks import locked
from t2ibench.tasks.index import specs_of
from t2ibench.tasks.run_tasks import kept_specs

PAGE, TEXT = "report.html", "results.md"
SUBMISSION = "submission.json"


def write_reports(results: Results, folder: Path) -> None:
    """Write results.md, report.html and the figures, of the results.json that is there now."""
    with locked(folder):
        with contextlib.suppress(T2IBenchError):
            results = read_results(folder)
        write_page(run_view(results, task_files(results, folder)), folder)


def digest(results: Results) -> str:
    """SHA-256 of results.json: of the file where it is at hand, else of what it would hold."""
    file = results.folder / "results.json" if results.folder is not None else None
    if file is not None and file.is_file():
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return hashlib.sha256(results.to_json(checked=True).encode()).hexdigest()


def write_page(run: RunView, folder: Path, target: Path | None = None) -> Path:
    """Write report.html, results.md, and every figure as figures/NAME.svg, .png, .csv and .pdf.

    With a target the page goes there, and the folder's own files stay as they are.
    """
    from t2ibench.reports.figures.figure import draw
    from t2ibench.reports.figures.files import write_figure
    from t2ibench.reports.figures.forest import forest
    from t2ibench.reports.html import sections
    from t2ibench.reports.html.evidence import Thumbnails, evidence, of_prompts
    from t2ibench.reports.html.page import report_html
    from t2ibench.reports.html.templating import fragment

    whole = forest(run)
    drawn = [("forest", run.name, whole)] if whole is not None else []
    parts: dict[str, dict[str, object]] = {}
    thumbnails = Thumbnails(folder, (target or folder / PAGE).parent)
    for task in run.tasks:
        samples = read_samples(folder, task.id)
        figures = []
        for number, spec in enumerate(task.shown.figures, start=1):
            if (figure := draw(spec, task, samples)) is not None:
                figures.append(fragment("figure.html", drawn=figure))
                drawn.append(
                    (f"{task.id}-{number}", f"{run.name}, {task.name}", figure)
                )
        pictures = of_prompts(task, samples, thumbnails)
        parts[task.id] = {
            "figures": figures,
            "pictures": pictures,
            "evidence": None if pictures else evidence(task, samples, thumbnails),
        }
    paired: dict[str, PairedTask] = {}
    with contextlib.suppress(T2IBenchError):  # results of an older version
        paired = read_paired(folder)
    specs = {task.id: task.spec for task in run.tasks if task.spec is not None}
    pairs = agreements(measures(run.results, specs, paired))
    found = [
        ("prompts", "Prompts", sections.prompts_section(run, paired)),
        ("diversity", "Diversity", sections.diversity_section(run)),
        ("people", "People", sections.people_section(run)),
        ("agreement", "Agreement", sections.agreement_section(run, pairs)),
        ("comparisons", "Comparisons", sections.score_tables_section(run)),
        ("wordings", "Wordings", sections.wordings_section(run)),
        ("power", "Power", sections.power_section(run, paired)),
        ("left", "Left out", sections.exclusions_section(run)),
    ]
    page = report_html(
        run,
        parts=parts,
        sections=[(name, title, html) for name, title, html in found if html],
        origin=_origin(run.results, folder),
    )
    write_text(target or folder / PAGE, page)
    if target is None:
        write_text(folder / TEXT, results_markdown(run.results, run))
        for name, about, figure in drawn:
            write_figure(figure, f"{figure.title}: {about}", folder / "figures", name)
    return target or folder / PAGE


def _origin(results: Results, folder: Path) -> str:
    ended = "date not recorded"
    with contextlib.suppress(T2IBenchError, IndexError):
        finished = open_run(folder).record.history[-1].finished
        ended = finished.strftime("%Y-%m-%d %H:%M UTC")
    submission = folder / SUBMISSION
    if submission.is_file():
        with contextlib.suppress(
            OSError, ValueError, LookupError, TypeError, AttributeError
        ):
            when = json.loads(submission.read_text("utf-8"))["card"]["submitted"]
            ended = f"submitted {date.fromisoformat(when).isoformat()}"
    return " · ".join(
        [
            ended,
            f"t2ibench {results.t2ibench}",
            f"SHA-256 of results.json {digest(results)}",
        ]
    )


def task_files(results: Results, folder: Path | None) -> dict[str, BaseTask]:
    """The files of the tasks of a run."""
    further: list[Path] = []
    if folder is not None:
        # results alone: the shipped tasks will do
        with contextlib.suppress(T2IBenchError):
            further = list(map(Path, open_run(folder).record.include_path))
    hashes = {name: task.task_hash for name, task in results.tasks.items()}
    kept = {} if folder is None else kept_specs(folder)
    own = {name: kept[digest] for name, digest in hashes.items() if digest in kept}
    return specs_of(hashes, further) | own
