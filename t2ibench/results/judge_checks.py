"""Whether people checked the judge of a result, in one sentence."""

from __future__ import annotations

from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.judge_check import CHECKED
from t2ibench.results.schema import TaskResult
from t2ibench.store.answers import ANSWERS_BY, LABELS_BY

_FILE = "answers:"


def judges_said(task: TaskResult) -> str:
    """Who answered about a task's images, and whether people checked it; '' without a judge."""
    judges = list(task.settings.judges)
    if not judges:
        return ""
    people = [
        name.removeprefix(start)
        for name in judges
        for start in (ANSWERS_BY, LABELS_BY)
        if name.startswith(start)
    ]
    if len(people) == len(judges):
        return f"Answered by {listed(people)}; nobody else checked the answers."
    if all(name.startswith(_FILE) for name in judges):
        return f"Answered by {listed(judges)}; by=NAME says who answered, if people did."
    return f"Answered by {listed(judges)}, {people_checked(task)}."


def people_checked(task: TaskResult) -> str:
    """Whether people checked the judge of a task, as a clause."""
    labels = [row.scores["n_labels"].value or 0.0 for row in task.by if "n_labels" in row.scores]
    if sum(labels):
        count = sum(labels)
        return f"checked by people on these images: {count:.0f} label{'s' if count != 1 else ''}"
    found = task.details.get(CHECKED, [])
    if not found:
        each = "their" if len(task.settings.judges) > 1 else "its"
        return f"unchecked by people: {each} mistakes are in every count"
    told = dict.fromkeys(
        f"do not use ({one['reason']})"
        if one["verdict"] == "do not use"
        else "corrected by its errors there"
        if one["verdict"] == "use corrected"
        else "use"
        for one in found
    )
    images = max(one["images"] for one in found)
    checked = {one["bias"] for one in found}
    others = [one["bias"] for one in task.details.get("biases", []) if one["bias"] not in checked]
    rest = f"; unchecked about {listed(others)}" if others else ""
    return f"checked by people on {images} labelled images: {'; '.join(told)}{rest}"
