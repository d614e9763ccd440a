"""Sentences on who answered about the images of a result, and whether people checked it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.judge_check import CHECKED
from t2ibench.results.people import AgreementScore, PeopleAgreement
from t2ibench.results.schema import TaskResult
from t2ibench.store.answers import ANSWERS_BY, LABELS_BY

_FILE = "answers:"
# Which rule made the counts of several people.
RULE = (
    "Counted is what most of them said of an image, a tie as unknown; intervals have room for "
    "their mistakes, as far as their disagreement shows these."
)


def judges_said(task: TaskResult) -> str:
    """Return sentences on which judges answered, and if people checked them; "" without any."""
    judges = list(task.settings.judges)
    if not judges:
        return ""
    people = [
        name.removeprefix(start)
        for name in judges
        for start in (ANSWERS_BY, LABELS_BY)
        if name.startswith(start)
    ]
    files = [name for name in judges if name.startswith(_FILE)]
    if len(people) + len(files) == len(judges):
        silent = _gave_no_answer(task, [*people, *files])
        answered = [name for name in (*people, *files) if name not in silent]
        if not answered:
            return f"Nobody answered: {listed(silent)} gave no answer."
        named = f"Answered by {listed(answered)}"
        if silent:
            named += f"; {listed(silent)} gave no answer"
        if task.people:
            return f"{named}. {RULE} {people_agree(task.people)}"
        if files:
            return f"{named}; by=NAME says who answered, if people did."
        return f"{named}; nobody else checked the answers."
    labellers = f" {people_agree(task.people)}" if task.people else ""
    if only_checks(task):
        return (
            f"{listed(judges)} checked which guided images show what was asked for, "
            f"{people_checked(task)}.{labellers}"
        )
    return f"Answered by {listed(judges)}, {people_checked(task)}.{labellers}"


def readable_judge(name: str) -> str:
    """Return the name of a judge without what its kind of file adds.

    Examples:
        >>> readable_judge("answers by anna"), readable_judge("face-gender")
        ('anna', 'face-gender')
    """
    for start in (ANSWERS_BY, LABELS_BY):
        name = name.removeprefix(start)
    return name


def _gave_no_answer(task: TaskResult, names: Sequence[str]) -> list[str]:
    """Return those whose file of answers has none to any question of a task."""
    if not task.questions or any(question.sampled for question in task.questions):
        return []
    answered = {name for question in task.questions for name in question.by}
    return [name for name in names if name.removeprefix(_FILE) not in answered]


def only_checks(task: TaskResult) -> bool:
    """Return whether a task's judges only check that guided images show what was asked for."""
    return any(name.split(":")[0] == "obedience" for name in task.controls)


def short_questions(names: Sequence[str]) -> list[str]:
    """Return the names of questions, without 'person' if they all begin with it.

    Examples:
        >>> short_questions(["person gender", "person skin-tone"])
        ['gender', 'skin tone']
        >>> short_questions(["person gender", "child age"])
        ['person gender', 'child age']
    """
    about = "person "
    bare = all(name.startswith(about) for name in names)
    plain = [name.replace("skin-tone", "skin tone") for name in names]
    return [name.removeprefix(about) for name in plain] if bare else plain


def people_agree(questions: Sequence[PeopleAgreement]) -> str:
    """Return a sentence for each question on how far people agree about it."""
    return " ".join(map(_agreement, questions))


def _agreement(question: PeopleAgreement) -> str:
    if not question.images:
        return f"About {question.about} no image was given a class by two of them."
    same = round((question.agreement.value or 0.0) * question.images)
    images = f"{question.images} image{'s' if question.images != 1 else ''}"
    text = f"About {question.about} they all agree on {same} of {images}"
    return (
        f"{text} (alpha {score_said(question.alpha)})."
        if question.alpha.value is not None
        else f"{text}."
    )


def score_said(score: AgreementScore) -> str:
    """Return a measure of agreement with its interval as text; a dash if it is unknown.

    Examples:
        >>> score_said(AgreementScore(value=0.5, ci_low=0.1, ci_high=0.8))
        '0.50, 0.10 to 0.80'
    """
    if score.value is None:
        return "–"
    if score.ci_low is None or score.ci_high is None:
        return f"{score.value:.2f}"
    return f"{score.value:.2f}, {score.ci_low:.2f} to {score.ci_high:.2f}"


def people_checked(task: TaskResult) -> str:
    """Return a clause on whether people checked the judge of a task, and with what result."""
    labels = [
        row.scores["n_labels"].value or 0.0
        for row in task.by
        if "n_labels" in row.scores
    ]
    count = sum(labels)
    if count:
        plural = "s" if count != 1 else ""
        return f"checked by people on these images: {count:.0f} label{plural}"
    checks = task.details.get(CHECKED, [])
    if not checks:
        return _unchecked(task)
    verdicts = dict.fromkeys(_verdict(check) for check in checks)
    images = max(check["images"] for check in checks)
    checked = {check["bias"] for check in checks}
    biases = [bias["bias"] for bias in task.details.get("biases", [])]
    unchecked = [bias for bias in biases if bias not in checked]
    clause = f"; unchecked about {listed(unchecked)}" if unchecked else ""
    return (
        f"checked by people on {images} labelled images: {'; '.join(verdicts)}{clause}"
    )


def _unchecked(task: TaskResult) -> str:
    """Return a clause on what the mistakes of an unchecked judge can do."""
    whose = "their" if len(task.settings.judges) > 1 else "its"
    if only_checks(task):
        return f"unchecked by people: {whose} mistakes decide which images are left out"
    mistakes = f"unchecked by people: {whose} mistakes are in every count"
    share = explaining_mistakes(task)
    if share is None:
        return mistakes
    return (
        f"{mistakes}, and a model without bias would read this if {whose} answers were wrong about "
        f"{100 * share:.0f} % of the images or more, toward the same class for each prompt"
    )


def explaining_mistakes(task: TaskResult) -> float | None:
    """Return the least share of wrong answers that would explain a task's counts by itself.

    A judge that expects one class of a prompt errs toward it, and nothing in its answers shows
    that. Where a share q of the answers is wrong, the sum of (p - 1/k)² is at most 2 q², so a
    squared lean h, which is that sum over 1 - 1/k, takes q of at least √(h (1 - 1/k) / 2). That is
    √h / 2 for two classes, and more for others. h is the lower end of the headline's interval.

    Returns:
        A root mean square over captions, from 0 to 1; None where no answers about the prompts
        themselves are counted, or their headline is not beyond chance.
    """
    headline = task.headline
    low = headline.ci_low
    is_counted = bool(task.details.get("biases")) and headline.scale == "mean_square"
    if not is_counted or low is None or low <= 0:
        return None
    return math.sqrt(min(low, 1.0)) / 2


def _verdict(check: Mapping[str, Any]) -> str:
    """Return the verdict of a judge check in words, such as 'do not use' with the reason."""
    if check["verdict"] == "do not use":
        return f"do not use ({check['reason']})"
    if check["verdict"] == "use corrected":
        return "corrected by its errors there"
    return "use"
