"""Report sections on how far methods, encoders, judges and people agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from t2ibench.decimals import decimal
from t2ibench.reports import method_agreement
from t2ibench.reports.html.data_links import csv_link
from t2ibench.reports.html.marks import value_text
from t2ibench.reports.html.numbers import signed
from t2ibench.reports.html.templating import fragment
from t2ibench.reports.people import agreement_table, disputed_table
from t2ibench.reports.view import RunView, TaskView
from t2ibench.reports.writers import Table
from t2ibench.results.display import displayed
from t2ibench.results.method_agreement import MeasuredPair
from t2ibench.results.people import PeopleAgreement
from t2ibench.results.states import STATES

_AGREEMENT = ("accuracy", "macro_f1", "kappa", "kl_divergence")
_DISPUTED = 50  # images that people dispute, shown at most


@dataclass(frozen=True, slots=True)
class PairView:
    """The agreement between two methods that measure the same attribute of the same items.

    Attributes:
        title: The attribute, and the correlation without noise.
        about: Both methods, and the number of items.
        sentence: Whether they agree.
        without_noise: The correlation without noise.
        linear: The linear correlation, as measured.
        rank: The rank correlation, as measured.
        tasks: The ids of both tests.
        reliability: That of either.
        others: Other attributes of these items, with their correlations.
        disagreements: The items that both see most differently; empty where none are named.
    """

    title: str
    about: str
    sentence: str
    without_noise: str
    linear: str
    rank: str
    tasks: tuple[str, str]
    reliability: str
    others: tuple[tuple[str, str], ...]
    disagreements: str


@dataclass(frozen=True, slots=True)
class EncodersView:
    """A test's headline as each encoder or judge sees it, and whether their signs differ."""

    id: str
    test: str
    names: tuple[str, ...]
    values: tuple[str, ...]
    flips: bool


@dataclass(frozen=True, slots=True)
class JudgesView:
    """How far two judges agree on one question.

    Attributes:
        id: The test's id.
        question: What was asked.
        judges: Both judges.
        images: The images that both gave a class.
        scores: Accuracy, macro-F1, kappa and the divergence of shares.
        majority: Whether both see the same class most; None where they share no image.
    """

    id: str
    question: str
    judges: str
    images: int
    scores: tuple[str, ...]
    majority: bool | None


@dataclass(frozen=True, slots=True)
class PeopleView:
    """How far people agree on one question, and the images that they answered differently."""

    id: str
    title: str
    agreement: Table
    disputed: Table | None
    link: Markup


def agreement_section(
    run: RunView, pairs: Sequence[MeasuredPair] = ()
) -> Markup | None:
    """Return the section on how methods, encoders and judges agree; None if none are compared."""
    encoders = [
        _encoders(task) for task in run.tasks if len(task.result.by_encoder) > 1
    ]
    questions = [question for task in run.tasks for question in judges_views(task)]
    if not encoders and not pairs and not questions:
        return None
    return fragment(
        "agreement.html",
        note=method_agreement.NOTE,
        pairs=[_pair(pair) for pair in pairs],
        encoders=encoders,
        questions=questions,
        encoders_link=_encoders_link(encoders) if encoders else "",
        questions_link=_questions_link(questions) if questions else "",
    )


def _encoders_link(encoders: Sequence[EncodersView]) -> Markup:
    """Return each encoder's headline of each test as a link to CSV."""
    rows = [
        [view.test, name, value]
        for view in encoders
        for name, value in zip(view.names, view.values, strict=True)
    ]
    return csv_link("by encoder", ["test", "encoder", "headline"], rows)


def _questions_link(questions: Sequence[JudgesView]) -> Markup:
    """Return how far judges agree on each question as a link to CSV."""
    heads = ["question", "judges", "images", *_AGREEMENT]
    rows = [
        [view.question, view.judges, view.images, *view.scores] for view in questions
    ]
    return csv_link("judges", heads, rows)


def _pair(pair: MeasuredPair) -> PairView:
    agreement = pair.agreement
    without_noise = method_agreement.correlation(agreement.true)
    result = STATES["cannot_tell"].word if agreement.reason else without_noise
    others = [
        (
            method_agreement.attribute_of(other),
            method_agreement.correlation(other.agreement.linear),
        )
        for other in pair.others
    ]
    return PairView(
        title=f"{method_agreement.attribute(pair)}: {result}",
        about=f"{pair.first.label} · {pair.second.label} · {agreement.n} items",
        sentence=method_agreement.in_words(pair),
        without_noise=without_noise,
        linear=method_agreement.correlation(agreement.linear),
        rank=method_agreement.correlation(agreement.rank),
        tasks=(pair.first.task, pair.second.task),
        reliability=method_agreement.reliability(pair),
        others=tuple(others),
        disagreements=method_agreement.disagreements_text(pair),
    )


def _encoders(task: TaskView) -> EncodersView:
    by_reader = task.result.by_encoder
    marks = [displayed(scores.headline) for scores in by_reader.values()]
    signs = {mark.value > 0 for mark in marks if mark.value and mark.signed}
    return EncodersView(
        id=task.id,
        test=task.name,
        names=tuple(by_reader),
        values=tuple(value_text(mark) for mark in marks),
        flips=len(signs) > 1,
    )


def judges_views(task: TaskView) -> list[JudgesView]:
    """Return how far every two judges of a task agree, for each question separately."""
    names = list(task.result.by_encoder) or list(task.result.settings.judges)
    return [
        _judges(task, agreement, names)
        for agreement in task.result.details.get("rater_agreement") or ()
        if max(agreement["judges"]) < len(names)
    ]


def _judges(
    task: TaskView, agreement: Mapping[str, Any], names: Sequence[str]
) -> JudgesView:
    scores = [agreement[key] for key in _AGREEMENT]
    return JudgesView(
        id=task.id,
        question=agreement["bias"],
        judges=" and ".join(names[number] for number in agreement["judges"]),
        images=agreement["n"],
        scores=tuple("–" if score is None else decimal(score, 2) for score in scores),
        majority=agreement["same_majority"] if agreement["n"] else None,
    )


def _disputed_link(question: PeopleAgreement) -> Markup:
    """Return all images that people answered differently as a link to CSV; "" if there are none."""
    records = disputed_table([question]).records
    if not records:
        return Markup("")
    rows = [list(record.values()) for record in records]
    return csv_link(f"disputed {question.about}", list(records[0]), rows)


def people_section(run: RunView) -> Markup | None:
    """Return the section on how far people agree; None if no image has several labellers."""
    questions = [
        PeopleView(
            id=task.id,
            title=f"{question.about}, {task.name}",
            agreement=agreement_table([question]),
            disputed=(
                disputed_table([question], _DISPUTED) if question.disputed else None
            ),
            link=_disputed_link(question),
        )
        for task in run.tasks
        for question in task.result.people
    ]
    return fragment("people.html", questions=questions) if questions else None
