"""The renderer of report.html, one file that needs no network access and no JavaScript."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from t2ibench.methods.core.edit_report import edit_report
from t2ibench.reports.coverage import coverage
from t2ibench.reports.html.cards import CardParts, card_view, is_short
from t2ibench.reports.html.marks import forest_view
from t2ibench.reports.html.sections import SectionView
from t2ibench.reports.html.templating import fragment, static, style
from t2ibench.reports.limits import limits
from t2ibench.reports.positive_controls import controls_said
from t2ibench.reports.sentences import named, network_text
from t2ibench.reports.view import RunView, TaskView

_FINGERPRINT = 12  # letters shown


def report_html(
    run: RunView,
    *,
    parts: Mapping[str, CardParts] | None = None,
    sections: Sequence[SectionView] = (),
    origin: str = "",
) -> str:
    """Return the HTML of a run's report; `parts` has each test's figures and images."""
    edits = any(edit_report(task.result.details) is not None for task in run.tasks)
    scripts = ("report.js", "swipe.js") if edits else ("report.js",)
    sheets = ("pairs.css", "edits.css") if edits else ()
    script = "\n".join(map(static, scripts))
    script_digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    _, passed_controls = controls_said(run)
    counts = run.shown_counts() if run.tests else {}
    text_cards = [_card(task, "Text encoder") for task in run.texts]
    return fragment(
        "report.html",
        forest=forest_view(run),
        style=style(*sheets),
        script=Markup(script),
        script_hash=f"sha256-{script_digest}",
        controls=passed_controls,
        counts=counts,
        covered=coverage(run),
        limits=limits(run),
        cards=_cards(run, parts or {}),
        text_cards=text_cards,
        sections=[*sections, _rerun_section(run)],
        origin=origin or f"t2ibench {run.results.t2ibench}",
    )


def _cards(run: RunView, parts: Mapping[str, CardParts]) -> list[Markup]:
    """Return the HTML card of every test on images; short ones that the summary names are open."""
    leading = named(run)
    return [
        _card(
            task,
            group.title,
            parts=parts.get(task.id),
            is_open=task in leading and is_short(task),
        )
        for group in run.groups
        for task in group.tasks
    ]


def _card(
    task: TaskView,
    family: str,
    parts: CardParts | None = None,
    is_open: bool = False,
) -> Markup:
    card = card_view(task, family, parts=parts, is_open=is_open)
    return fragment("card.html", card=card)


def _rerun_section(run: RunView) -> SectionView:
    """Return the report section on how to repeat a run, with its software and settings."""
    html = fragment(
        "again.html",
        results=run.results,
        command=shlex.join(run.results.command),
        facts=[(name, text) for name, text in _facts(run) if text],
    )
    return SectionView("again", "Run it again", html)


def _facts(run: RunView) -> Iterator[tuple[str, str]]:
    """Yield name and value of each of a run's settings; the value is "" if unknown."""
    results = run.results
    model = run.results.model
    name = model.name or run.name
    yield "Model", f"{name} @ {model.revision}" if model.revision else name
    if model.rewriter is not None:
        yield "Rewriter", f"{model.rewriter.name}, one rewriting a {model.rewriter.per}"
        yield "Instruction", str(model.rewriter.settings.get("template", ""))
    yield "Fingerprint", (model.fingerprint or "")[:_FINGERPRINT]
    settings = [task.settings for task in results.tasks.values()]
    encoders = {pair for used in settings for pair in used.encoders.items()}
    judges = {pair for used in settings for pair in used.judges.items()}
    for title, readers in (("Encoder", encoders), ("Judge", judges)):
        for reader, fingerprint in sorted(readers):
            yield title, f"{reader} {fingerprint[:_FINGERPRINT]}"
    for encoder, network in sorted(results.networks.items()):
        yield "Network", f"{encoder}: {network_text(network)}"
    yield "Settings", _listed(model.effective_settings or model.settings)
    yield "Seed", _listed({str(used.seed): "" for used in settings})
    yield "Versions", _listed(results.environment)
    yield "Schema", str(results.schema_version)


def _listed(values: Mapping[str, object]) -> str:
    """Return names with their values as one line of text, sorted by name."""
    return ", ".join(
        f"{name} {value}".strip() for name, value in sorted(values.items())
    )
