"""Profiles: the bias scenarios that a team fixes beforehand, read from accept.yaml.

A scenario has the parts that prEN 18283 gives a bias scenario: the group at risk, the hazard, how
it is measured, what is acceptable and why, what is done about it, and when it is reviewed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.methods.core.schema import Line, Strict, Text
from t2ibench.tasks.explain import explain
from t2ibench.tasks.source import Document, read_yaml

Statistic = Literal["headline", "rows", "row", "family", "comparison"]
STATISTICS = ("headline", "rows", "row NAME", "family", "comparison")
_ROW = "row "
# A reason that nobody wrote yet.
_UNWRITTEN = {"todo", "tbd", "...", "…", "none", "n/a", "because"}
_LEAST_REASON = 15  # characters


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


Names = Annotated[
    tuple[Line, ...], BeforeValidator(_as_list), Field(min_length=1, max_length=50)
]


def _written(reason: str) -> str:
    """Return a reason if somebody wrote one."""
    plain = reason.strip().rstrip(".").casefold()
    if plain in _UNWRITTEN or len(plain) < _LEAST_REASON:
        raise ValueError(
            f"'{shown(reason)}' is no reason. Say in a sentence why the limit is "
            "acceptable; every report prints it"
        )
    return reason


def _checked_statistic(text: str) -> str:
    if text in {"headline", "rows", "family", "comparison"}:
        return text
    if text.startswith(_ROW) and text.removeprefix(_ROW).strip():
        return text
    raise ValueError(
        f"'{shown(text)}' is not one of {', '.join(STATISTICS)}."
        f"{did_you_mean(text, STATISTICS)}"
    )


class ShareReference(Strict):
    """A share that images are compared with, instead of even shares.

    Attributes:
        share: Of the class `measurement.group`, or of the side that pages show on the right.
    """

    share: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


class RunReference(Strict):
    """Another run whose value of the same statistic is the reference.

    Attributes:
        run: Its folder.
    """

    run: Line


def _checked_reference(value: Any) -> Any:
    words = ("even", "labour statistics")
    if isinstance(value, (ShareReference, RunReference)):
        return value
    if not isinstance(value, dict) and value not in words:
        raise ValueError(
            f"'{shown(value)}' is not one of even, labour statistics, {{share: X}} or "
            f"{{run: FOLDER}}.{did_you_mean(str(value), words)}"
        )
    if isinstance(value, dict):
        keys = {"share", "run"}
        for key in value:
            if key not in keys:
                raise ValueError(
                    f"unknown key '{shown(key)}'.{did_you_mean(str(key), keys)}"
                )
        if len(value) != 1:
            raise ValueError("expected {share: X} or {run: FOLDER}, one of them")
        return RunReference(**value) if "run" in value else ShareReference(**value)
    return value


Reference = Annotated[
    Literal["even", "labour statistics"] | ShareReference | RunReference,
    BeforeValidator(_checked_reference),
]


class MeasurementRule(Strict):
    """How a scenario is measured.

    Attributes:
        task: The task; several only for the statistic 'family'.
        statistic: 'headline' is the task's own number; 'rows' is each of its rows, such as every
            occupation; 'row NAME' is one of them; 'family' is the mean square of the headlines of
            several tasks; 'comparison' is how much more one-sided a run is than an older one.
        group: The class whose share counts, where a judge's question has several; the first
            class of two by default.
        attribute: The question whose rows count, where a task asks several.
        encoder: The encoders that must have read the images; any by default.
        judge: The judges that must have been asked; any by default.
    """

    task: Names
    statistic: Annotated[str, AfterValidator(_checked_statistic)]
    group: Line | None = None
    attribute: Line | None = None
    encoder: Names | None = None
    judge: Names | None = None

    @property
    def kind(self) -> Statistic:
        """Return the kind of the statistic, without the name of a row."""
        word: Statistic = self.statistic.partition(" ")[0]  # type: ignore[assignment]
        return word

    @property
    def row(self) -> str:
        """Return the name of the row; empty for every other statistic."""
        return self.statistic.removeprefix(_ROW).strip() if self.kind == "row" else ""

    @model_validator(mode="after")
    def _one_task(self) -> MeasurementRule:
        if self.kind == "family" and len(set(self.task)) < 2:
            raise ValueError("a family needs two tasks or more, as task: [a, b]")
        for name in self.task:
            if self.task.count(name) > 1:
                raise ValueError(
                    f"'{shown(name)}' is named twice, and would count twice"
                )
        if self.kind != "family" and len(self.task) > 1:
            raise ValueError(
                f"'{self.statistic}' is of one task; give statistic: family, or a "
                "scenario for each task"
            )
        return self


_Change = Field(ge=-1, le=0, allow_inf_nan=False)
_Share = Field(gt=0, lt=1, allow_inf_nan=False)
# Limits that profiles of the first versions did not have.
_NEWER = {"contradictions", "spill_over", "group_diversity"}


class Holds(Strict):
    """What must hold beside a limit; None where it is not asked for.

    Attributes:
        agreement: The mean cosine of images and prompts may change by no less than this.
        diversity: The diversity of the images of a prompt may change by no less than this.
        refusals: No two groups' shares of refused and filtered images may differ by more.
        contradictions: The share of guided images that show another group than was asked for may
            rise by no more than this.
        spill_over: Leans of tests about other attributes may move by no more than this (root mean
            square over all of them that both runs have).
        group_diversity: The diversity of the guided images of no group may change by less.
    """

    agreement: Annotated[float, _Change] | None = None
    diversity: Annotated[float, _Change] | None = None
    refusals: Annotated[float, _Share] | None = None
    contradictions: Annotated[float, _Share] | None = None
    spill_over: Annotated[float, _Share] | None = None
    group_diversity: Annotated[float, _Change] | None = None

    @property
    def needs_older_run(self) -> bool:
        """Return whether an older run is required to say whether they hold."""
        asked = self.model_dump(exclude={"refusals"})
        return any(limit is not None for limit in asked.values())

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> Any:
        """Return the limits without those that older profiles could not have, if not asked for.

        So the SHA-256 of an older profile stays what it was.
        """
        limits: dict[str, Any] = handler(self)
        return {
            name: limit
            for name, limit in limits.items()
            if limit is not None or name not in _NEWER
        }


class Scenario(Strict):
    """A bias scenario: who is at risk of what, how it is measured, and what is acceptable.

    Attributes:
        name: What reports call it.
        at_risk: The group at risk.
        hazard: What may happen to it.
        measurement: How it is measured.
        accept: A lean of up to this size is acceptable; for a comparison, so much more than the
            older run's.
        reject: One of this size or more is not; between the two, 'undecided' is the right answer.
            It is `accept` by default.
        reason: Why this limit.
        reference: What is acceptable without any limit: even shares, a share, labour statistics
            or the value of another run.
        holds: What must hold beside the limit.
        mitigation: What is done about it.
        review: When the scenario is looked at again.
    """

    name: Line
    at_risk: Line
    hazard: Text
    measurement: MeasurementRule
    accept: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
    reject: Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)] | None = None
    reason: Annotated[Text, AfterValidator(_written)]
    reference: Reference = "even"
    holds: Holds = Holds()
    mitigation: Text | None = None
    review: date | None = None

    @property
    def rejected_from(self) -> float:
        """Return the size from which a lean is rejected."""
        return self.accept if self.reject is None else self.reject

    @property
    def needs_older_run(self) -> bool:
        """Return whether an older run is required to decide about it."""
        return self.measurement.kind == "comparison" or self.holds.needs_older_run

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        kind = self.measurement.kind
        if self.reject is not None and self.reject < self.accept:
            raise ValueError(
                f"reject: {self.reject:g} is below accept, {self.accept:g}; give a number of at "
                "least that, or leave reject out"
            )
        if kind == "comparison" and self.reference != "even":
            raise ValueError(
                "reference: a comparison is with the older run of the command; leave it out, or "
                "give statistic: headline with reference: {run: FOLDER}"
            )
        if self.reference == "labour statistics" and kind not in {"row", "rows"}:
            raise ValueError(
                "reference: labour statistics are known of rows alone; give statistic: rows or "
                "row NAME"
            )
        if kind == "family" and self.reference != "even":
            raise ValueError("reference: a family is compared with even shares alone")
        return self


class Profile(Strict):
    """All scenarios of an accept.yaml, each of which must pass.

    Attributes:
        title: What reports call the profile.
        owner: Who answers for its limits.
        scenarios: The scenarios.
    """

    title: Line
    owner: Line | None = None
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1, max_length=200)]

    @property
    def needs_older_run(self) -> bool:
        """Return whether an older run is required to decide about all scenarios."""
        return any(scenario.needs_older_run for scenario in self.scenarios)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the tasks that its scenarios measure, without duplicates."""
        names = [
            task for scenario in self.scenarios for task in scenario.measurement.task
        ]
        return tuple(dict.fromkeys(names))

    @property
    def encoders(self) -> tuple[str, ...]:
        """Return the encoders that its scenarios name; empty for none, or where they disagree."""
        return _agreed(part.measurement.encoder for part in self.scenarios)

    @property
    def judges(self) -> tuple[str, ...]:
        """Return the judges that its scenarios name; empty for none, or where they disagree."""
        return _agreed(part.measurement.judge for part in self.scenarios)

    @property
    def sha256(self) -> str:
        """Return the SHA-256 over everything in the profile, whatever its layout in the file."""
        content = self.model_dump(mode="json")
        text = json.dumps(content, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @model_validator(mode="after")
    def _distinct_names(self) -> Profile:
        names = [scenario.name for scenario in self.scenarios]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(
                    f"two scenarios are named '{shown(name)}'; give each a name of its own"
                )
        return self


def _agreed(named: Iterable[tuple[str, ...] | None]) -> tuple[str, ...]:
    """Return the readers that all who name any name alike; empty otherwise."""
    distinct = {frozenset(readers): readers for readers in named if readers is not None}
    return next(iter(distinct.values())) if len(distinct) == 1 else ()


def read_profile(path: Path) -> Profile:
    """Return the profile in a file.

    Raises:
        T2IBenchError: it is no profile; the message has the line, what was expected, the nearest
            spelling and the next step.
    """
    document = read_yaml(path)
    if document.problems:
        raise T2IBenchError(f"{document.problems[0]}.", _NEXT)
    return profile_of(document)


_NEXT = (
    "examples/accept.yaml has every key, and docs/decisions.md says what each means."
)


def profile_of(document: Document) -> Profile:
    """Return the profile in a document that was read; raise an error of one line if it is none."""
    if not isinstance(document.data, dict):
        problem = document.problem((), "expected a mapping with title and scenarios.")
        raise T2IBenchError(str(problem), _NEXT)
    try:
        return Profile.model_validate(document.data)
    except ValidationError as error:
        # A key that is misspelled is also missing: its spelling is the cause.
        every = error.errors(include_url=False)
        # A list whose every entry is wrong counts as empty, too.
        problems = [item for item in every if not _is_consequence(item)] or every
        problems.sort(key=lambda item: item["type"] != "extra_forbidden")
        first = problems[0]
        message = explain(first, Profile).removeprefix(": ")
        end = "" if message.endswith((".", "?")) else "."
        others = _more(len(problems) - 1)
        problem = document.problem(first["loc"], f"{message}{end}{others}")
        raise T2IBenchError(str(problem), _NEXT) from None


def _is_consequence(item: Mapping[str, object]) -> bool:
    """Return whether a list is called too short although the file gives it entries."""
    return item["type"] == "too_short" and bool(item["input"])


def _more(count: int) -> str:
    if count == 0:
        return ""
    return " (1 more problem.)" if count == 1 else f" ({count} more problems.)"
