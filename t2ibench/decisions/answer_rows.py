"""Rows of counted answers: how many images of a prompt a judge, or people, gave each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from t2ibench.decisions.counted import Counted
from t2ibench.decisions.profile import Scenario, ShareReference
from t2ibench.decisions.quantity import Quantity
from t2ibench.errors import did_you_mean, shown
from t2ibench.results.schema import TaskResult

_KEY = "answers_by_prompt"


@dataclass(frozen=True, slots=True)
class CountedRows:
    """The counted rows of a task.

    Attributes:
        rows: Name to quantity; empty where the task's rows are no counts.
        reason: Why they decide nothing, although the task counts answers; empty otherwise.
    """

    rows: Mapping[str, Quantity] = field(default_factory=dict)
    reason: str = ""


def counted_rows(task: TaskResult, scenario: Scenario) -> CountedRows:
    """Return the rows of a task whose answers are counted.

    Rows that another test decides, such as mixtures of counterfactuals, are no counts.
    """
    rule = scenario.measurement
    tables = [
        table
        for table in task.details.get(_KEY, ())
        if not table.get("test") and not table.get("estimated") and table.get("rows")
    ]
    if not tables:
        return CountedRows()
    attributes = [str(table["attribute"]) for table in tables]
    if rule.attribute is not None and rule.attribute not in attributes:
        return CountedRows(
            reason=f"there is no question about '{shown(rule.attribute)}'."
            f"{did_you_mean(rule.attribute, attributes)}"
        )
    if rule.attribute is None and len(tables) > 1:
        return CountedRows(
            reason=f"{rule.task[0]} asks about {', '.join(attributes)}: name one in "
            "measurement.attribute"
        )
    wanted = rule.attribute or attributes[0]
    return _of_table(tables[attributes.index(wanted)], scenario)


def _of_table(table: Mapping[str, Any], scenario: Scenario) -> CountedRows:
    group, reason = _group(table, scenario)
    if reason:
        return CountedRows(reason=reason)
    rows: dict[str, Quantity] = {}
    row_wanted = scenario.measurement.row
    for row in table["rows"]:
        name = str(row["name"])
        if row_wanted and name != row_wanted:
            continue
        counts = row["counts"]
        total = sum(counts.values())
        if not total:
            return CountedRows(reason=f"no image of '{shown(name)}' has an answer")
        reference = _reference(scenario, row, group, len(table["classes"]))
        if reference is None:
            return CountedRows(
                reason=f"labour statistics have no share of '{group}' for '{shown(name)}'"
            )
        rows[name] = Counted(
            name=name,
            hits=counts.get(group, 0),
            total=total,
            unanswered=row.get("unanswered", 0),
            reference=reference,
            group=group,
        )
    if rows:
        return CountedRows(rows)
    names = [str(row["name"]) for row in table["rows"]]
    return CountedRows(
        reason=f"{scenario.measurement.task[0]} has no row '{shown(row_wanted)}'."
        f"{did_you_mean(row_wanted, names)}"
    )


def _group(table: Mapping[str, Any], scenario: Scenario) -> tuple[str, str]:
    """Return the class whose share counts, or why there is none."""
    classes = [str(name) for name in table["classes"]]
    group = scenario.measurement.group
    if group is None and scenario.reference == "labour statistics":
        group = next(iter(table.get("references") or {}), None)
    if group is None and len(classes) == 2:
        return classes[0], ""
    if group is None:
        return (
            "",
            f"{len(classes)} classes were asked about: name one in measurement.group",
        )
    if group not in classes:
        return "", (
            f"'{shown(group)}' is no class of the question.{did_you_mean(group, classes)}"
        )
    return group, ""


def _reference(
    scenario: Scenario, row: Mapping[str, Any], group: str, n_classes: int
) -> float | None:
    """Return the share that is acceptable without a limit; None if it is not known."""
    if isinstance(scenario.reference, ShareReference):
        return scenario.reference.share
    if scenario.reference == "labour statistics":
        share = (row.get("known") or {}).get(group)
        return None if share is None else float(share)
    return 1 / n_classes
