"""report.html: one file, without network and without need of JavaScript."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from t2ibench.reports.exclusions import excluded_of, reasons_said
from t2ibench.reports.html.templating import fragment, static, style
from t2ibench.reports.sentences import (
    controls_said,
    limits,
    named,
    network_text,
    summary,
    verdict,
)
from t2ibench.reports.view import RunView, TaskView

_SHORT = 30  # rows of a card that is open
_MUCH = 0.2  # of the images of a test, from which on its card says what it lost


Section = tuple[str, str, Markup]  # its id, what the contents call it, and its HTML


def report_html(
    run: RunView,
    *,
    parts: Mapping[str, Mapping[str, Any]] | None = None,
    sections: Sequence[Section] = (),
    origin: str = "",
) -> str:
    """The whole page; `parts` are figures, evidence, images and pictures of tests by their id."""
    script = static("report.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    leading = named(run)
    again = fragment(
        "again.html",
        results=run.results,
        command=shlex.join(run.results.command),
        facts=_facts(run),
    )
    cards = [
        _card(group.title, task, (parts or {}).get(task.id, {}), task in leading)
        for group in run.groups
        for task in group.tasks
    ]
    return fragment(
        "report.html",
        run=run,
        style=style(),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
        summary=summary(run),
        verdict=verdict(run),
        controls=controls_said(run)[1],
        counts=run.shown_counts(),
        limits=limits(run),
        cards=cards,
        words=[_card("Text encoder", task, {}) for task in run.texts],
        sections=[*sections, ("again", "Run it again", again)],
        origin=origin or f"t2ibench {run.results.t2ibench}",
    )


def _card(
    family: str, task: TaskView, parts: Mapping[str, Any], leading: bool = False
) -> Markup:
    total, left = excluded_of(task.result)
    rows = sum(len(one.rows) for one in task.prompts) + sum(
        len(one.rows) for one in task.combined
    )
    lost = sum(left.values())
    return fragment(
        "card.html",
        family=family,
        task=task,
        **{"figures": (), "evidence": None, **parts},
        open=leading and rows <= _SHORT,
        lost=f"{lost:,} of {total:,} images ({reasons_said(left)})"
        if lost > _MUCH * total
        else "",
    )


def _facts(run: RunView) -> list[tuple[str, str]]:
    results, model = run.results, run.results.model
    name = model.name or run.name
    found = [("Model", f"{name} @ {model.revision}" if model.revision else name)]
    if model.rewriter is not None:
        found.append(
            ("Rewriter", f"{model.rewriter.name}, one rewriting a {model.rewriter.per}")
        )
        found.append(("Instruction", str(model.rewriter.settings.get("template", ""))))
    if model.fingerprint:
        found.append(("Fingerprint", model.fingerprint[:12]))
    tasks = [task.settings for task in results.tasks.values()]
    for title, used in (
        ("Encoder", {pair for task in tasks for pair in task.encoders.items()}),
        ("Judge", {pair for task in tasks for pair in task.judges.items()}),
    ):
        found += [(title, f"{name} {print_[:12]}") for name, print_ in sorted(used)]
    networks = sorted(results.networks.items())
    found += [
        ("Network", f"{name}: {network_text(network)}") for name, network in networks
    ]
    for title, settings in (
        ("Settings", model.effective_settings or model.settings),
        ("Seed", {str(task.seed): "" for task in tasks}),
        ("Versions", results.environment),
    ):
        found.append(
            (title, ", ".join(f"{k} {v}".strip() for k, v in sorted(settings.items())))
        )
    found.append(("Schema", str(results.schema_version)))
    return [(name, text) for name, text in found if text]
