"""The sections of report.html about a whole run: prompts, readers, wordings, power, exclusions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace

from markupsafe import Markup
from pydantic import TypeAdapter, ValidationError

from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.text_image_alignment import mean_cosine
from t2ibench.methods.core.wording_report import PartScore, WordingReport
from t2ibench.power.designs import Reach, reach
from t2ibench.power.pilots import pilot_of
from t2ibench.reports import method_agreement
from t2ibench.reports.cells import ends, format_p, number, signed, three_digits
from t2ibench.reports.exclusions import excluded_of, exclusions, reasons_said
from t2ibench.reports.html.templating import fragment
from t2ibench.reports.people import agreement_table, disputed_table
from t2ibench.reports.score_rows import score_table_views
from t2ibench.reports.view import RunView, TaskView
from t2ibench.results.display import ALPHA, displayed, root
from t2ibench.results.method_agreement import MeasuredPair
from t2ibench.results.paired import PairedTask
from t2ibench.results.text_image_alignment import every_prompt

_REPORTS = TypeAdapter(list[WordingReport])
_AGREEMENT = ("accuracy", "macro_f1", "kappa", "kl_divergence")
_GROUPS = 12  # of a test's exclusions, shown at most
_DISPUTED = 50  # images that people dispute, shown at most
_PROMPTS = 10  # that repeat their images, shown at most


def prompts_section(run: RunView, paired: Mapping[str, PairedTask]) -> Markup | None:
    """Agreement of images with their prompts, encoder by encoder: overall and by group."""
    names = dict.fromkeys(
        name for task in run.tasks for name in task.result.text_image_alignment
    )
    readers = []
    for name in names:
        tasks = []
        for task in run.tasks:
            if found := task.result.text_image_alignment.get(name):
                whole, *groups = found
                differences = [
                    one.difference for one in groups if one.difference is not None
                ]
                clear = [
                    d for d in differences if d.p_holm is not None and d.p_holm < ALPHA
                ]
                about = {"task": task, "whole": whole, "groups": groups}
                tasks.append(SimpleNamespace(**about, tested=differences, clear=clear))
        if tasks:
            ids = [one.task.id for one in tasks if one.task.id in paired]
            prompts = every_prompt(paired, name, ids)
            level = tasks[0].task.result.settings.level
            overall = mean_cosine(prompts, level) if prompts else None
            readers.append(SimpleNamespace(name=name, overall=overall, tasks=tasks))
    return (
        fragment("prompts.html", readers=readers, p_value=format_p) if readers else None
    )


def diversity_section(run: RunView) -> Markup | None:
    """How much the images of one prompt differ, and the prompts whose images repeat one another."""
    readings = [
        SimpleNamespace(task=task, reader=name, whole=found[0], groups=found[1:])
        for task in run.tasks
        for name, found in task.result.diversity.items()
    ]
    repeated = {
        one.prompt: one for task in run.tasks for one in task.result.repeated_prompts
    }
    if not readings and not repeated:
        return None
    worst = sorted(
        repeated.values(), key=lambda one: (one.n_distinct / one.n_images, one.prompt)
    )
    return fragment(
        "diversity.html",
        readings=readings,
        repeated=worst[:_PROMPTS],
        further=max(0, len(worst) - _PROMPTS),
        digits=three_digits,
    )


def agreement_section(
    run: RunView, pairs: Sequence[MeasuredPair] = ()
) -> Markup | None:
    """Where methods, encoders and judges agree and where they do not."""
    readings = []
    for task in run.tasks:
        own = task.result.by_encoder
        if len(own) > 1:
            shown = [displayed(one.headline) for one in own.values()]
            signs = {one.value > 0 for one in shown if one.value and one.signed}
            values = [one.value for one in shown]
            readings.append(
                SimpleNamespace(
                    task=task, names=list(own), values=values, flips=len(signs) > 1
                )
            )
    questions = [question for task in run.tasks for question in questions_of(task)]
    if not readings and not pairs and not questions:
        return None
    return fragment(
        "agreement.html",
        readings=readings,
        pairs=pairs,
        questions=questions,
        words=method_agreement,
    )


def people_section(run: RunView) -> Markup | None:
    """How far people agree who answered the same questions, and the images that they dispute."""
    questions = [
        SimpleNamespace(
            task=task,
            about=question.about,
            agreement=agreement_table([question]),
            disputed=disputed_table([question], _DISPUTED)
            if question.disputed
            else None,
        )
        for task in run.tasks
        for question in task.result.people
    ]
    return fragment("people.html", questions=questions) if questions else None


def questions_of(task: TaskView) -> list[SimpleNamespace]:
    """How far each two judges agree, question by question; it is never pooled over questions."""
    names = list(task.result.by_encoder) or list(task.result.settings.judges)
    return [
        SimpleNamespace(
            task=task,
            judges=" and ".join(names[number] for number in row["judges"]),
            found=row,
            scores=[row[key] for key in _AGREEMENT],
        )
        for row in task.result.details.get("rater_agreement") or ()
        if max(row["judges"]) < len(names)
    ]


def wordings_section(run: RunView) -> Markup | None:
    """What the wordings of each test do to its score."""
    tests = []
    for task in run.tasks:
        try:
            reports = _REPORTS.validate_python(task.result.details.get("wording", []))
        except ValidationError:  # it is of a method that is none of ours
            continue
        for report in reports:
            rows = [
                _wording(part, report.scale == "mean_square")
                for part in (*report.by_language, *report.by_wording)
            ]
            languages = any(row.language != "–" for row in rows)
            reasons = any(row.reason for row in rows)
            tests.append(
                SimpleNamespace(
                    task=task,
                    report=report,
                    rows=rows,
                    languages=languages,
                    reasons=reasons,
                )
            )
    return fragment("wordings.html", tests=tests) if tests else None


def score_tables_section(run: RunView) -> Markup | None:
    """What tests compare within themselves, such as the grammatical forms of their stimuli."""
    tests = [(task, score_table_views(task.result)) for task in run.tasks]
    shown = [(task, tables) for task, tables in tests if tables]
    return fragment("score_tables.html", tests=shown) if shown else None


def _wording(part: PartScore, square: bool) -> SimpleNamespace:
    low, value, high = (
        root(end) if square else end for end in (part.ci_low, part.value, part.ci_high)
    )
    return SimpleNamespace(
        name=part.name,
        language=part.language or "–",
        wordings=part.wordings,
        value=number(value) if square else signed(value),
        interval=ends(low, high),
        reason=part.reason or "" if value is None or low is None else "",
    )


def power_section(run: RunView, paired: Mapping[str, PairedTask]) -> Markup | None:
    """The smallest lean that each test could see, and what would halve its interval."""
    rows = []
    for task in run.tasks:
        if task.spec is None:
            continue
        parts = paired[task.id].headline if task.id in paired else ()
        found: Reach | None = None
        now = None
        try:
            pilot = pilot_of(task.spec, task.result, parts, "this run")
            if pilot is not None:
                found = (
                    reach(pilot, task.distance) if task.mark.value is not None else None
                )
                now = pilot.size.images
        except T2IBenchError:
            pass  # it says nothing of its variance
        rows.append(SimpleNamespace(task=task, reach=found, now=now))
    return fragment("power.html", rows=rows) if rows else None


def exclusions_section(run: RunView) -> Markup:
    """What was left out, by test, and what the model did not make, by group of prompts."""
    rows = []
    reasons: Counter[str] = Counter()
    for family in run.families:
        for task in family.tasks:
            total, by_reason = excluded_of(task.result)
            count = sum(by_reason.values())
            reasons.update(by_reason)
            share = 100.0 * (1 - count / total) if total else 100.0
            name = f"{family.title}, {task.name}"
            rows.append(
                SimpleNamespace(
                    task=task, name=name, total=total, count=count, share=share
                )
            )
    return fragment(
        "left_out.html",
        rows=sorted(
            (row for row in rows if row.count), key=lambda row: (row.share, row.name)
        ),
        told=reasons_said(reasons),
        tests=len(rows),
        lost=exclusions(run),
        most=_GROUPS,
    )
