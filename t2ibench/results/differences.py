"""Differences between two runs' settings in words, such as 'seed: 0 there, 1 here'."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from t2ibench.errors import shown
from t2ibench.results.record import RunRecord
from t2ibench.results.schema import GeneratorInfo

_WIDTH = 60  # characters of a value in a message
_SHOWN = 4  # differences in a message
_NOT_SET = "not set"
_CHECKSUM = 8  # characters that tell two checksums apart
# A path whose content decides images: setting to what a message calls that content.
_CONTENTS = {"lora": "lora's content", "hook_sha256": "hook's content"}
_UNNAMED = "something that no setting names, such as the version of the model's adapter"


def differences_in_words(differences: Sequence[str]) -> str:
    """Return up to four differences as text, and how many more there are."""
    more = len(differences) - _SHOWN
    return "; ".join(
        [*differences[:_SHOWN], *([f"and {more} more"] if more > 0 else [])]
    )


def generator_differences(
    stored: GeneratorInfo,
    new: GeneratorInfo,
    sides: tuple[str, str] = ("there", "here"),
) -> list[str]:
    """Return a clause for each setting in which two generators differ, with both values.

    Args:
        stored: The generator of the first run.
        new: The generator of the second.
        sides: What messages call the two runs.

    Returns:
        One clause a setting, such as 'steps: 4 there, 8 here'; never empty.
    """
    first, second = flat_settings(stored.settings), flat_settings(new.settings)
    clauses = [
        *_clause("model", stored.name, new.name, sides),
        *_clause("weights", stored.revision, new.revision, sides),
        *_rewriter_differences(stored, new, sides),
    ]
    for name in sorted(first.keys() | second.keys()):
        clauses += _clause(name, first.get(name), second.get(name), sides)
    if not clauses and "lora" in second:
        where = shown(second["lora"], _WIDTH)
        clauses.append(
            f"{_CONTENTS['lora']}: the files of {where} are not those of then"
        )
    return clauses or [_UNNAMED]


def record_differences(
    first: RunRecord, second: RunRecord, sides: tuple[str, str]
) -> list[str]:
    """Return a clause for each difference that keeps two runs from being merged."""
    if _fingerprint(first) != _fingerprint(second):
        if first.generator is None or second.generator is None:
            return _clause("model", _model(first), _model(second), sides)
        return generator_differences(first.generator, second.generator, sides)
    clauses: list[str] = []
    clauses += _clause("batch_size", first.batch_size, second.batch_size, sides)
    clauses += _only_on_one_side(first.tasks, second.tasks, sides[0])
    clauses += _only_on_one_side(second.tasks, first.tasks, sides[1])
    before = first.measurement.model_dump()
    after = second.measurement.model_dump()
    for name, value in before.items():
        clauses += _clause(name, value, after[name], sides)
    observers: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
        ("encoder", first.encoders, second.encoders),
        ("control_encoder", first.controls, second.controls),
        ("judge", first.judges, second.judges),
    ]
    for name, here, there in observers:
        clauses += _clause(name, _names(here), _names(there), sides)
    return clauses or _contents_of_observers(first, second)


def _only_on_one_side(
    tasks: Iterable[str], others: Iterable[str], side: str
) -> Iterator[str]:
    """Yield a clause with the tasks that `others` does not contain, if there are any."""
    alone = sorted(set(tasks) - set(others))
    if alone:
        names = ", ".join(shown(task, _WIDTH) for task in alone[:_SHOWN])
        yield f"tasks: {names} {side} alone"


def _contents_of_observers(first: RunRecord, second: RunRecord) -> list[str]:
    """Return clauses on encoders, judges and captions with the same name but other content."""
    clauses: list[str] = []
    for kind, before, after in (
        ("encoder", first.encoders, second.encoders),
        ("untrained control of", first.controls, second.controls),
        ("judge", first.judges, second.judges),
    ):
        for label in _with_other_content(before, after):
            clauses.append(f"the {kind} '{label}' has other weights or settings")
    for label in _with_other_content(first.pools, second.pools):
        clauses.append(f"the captions of {label} are others")
    if first.tasks != second.tasks:
        clauses.append("tasks: in another order")
    return clauses


def _with_other_content(
    before: Mapping[str, object], after: Mapping[str, object]
) -> list[str]:
    """Return the names of models or captions whose content differs between two runs."""
    names = sorted(before.keys() | after.keys())
    return [
        shown(name, _WIDTH) for name in names if before.get(name) != after.get(name)
    ]


def _clause(name: str, before: Any, after: Any, sides: tuple[str, str]) -> list[str]:
    """Return 'NAME: BEFORE there, AFTER here' in a list, which is empty if both are equal."""
    if before == after:
        return []
    if name == "hook_sha256" and before is not None and after is not None:
        return [
            f"{_CONTENTS[name]}: {before[:_CHECKSUM]} {sides[0]}, {after[:_CHECKSUM]} {sides[1]}"
        ]
    return [
        f"{name}: {value_in_words(before)} {sides[0]}, {value_in_words(after)} {sides[1]}"
    ]


def _rewriter_differences(
    stored: GeneratorInfo, new: GeneratorInfo, sides: tuple[str, str]
) -> Iterator[str]:
    before, after = stored.rewriter, new.rewriter
    if before == after:
        return
    if before is None or after is None or before.name != after.name:
        names = (before and before.name, after and after.name)
        yield from _clause("rewriter", *names, sides)
        return
    first, second = flat_settings(before.settings), flat_settings(after.settings)
    for name in sorted(first.keys() | second.keys()):
        if name != "template_sha256":
            yield from _clause(
                f"rewriter's {name}", first.get(name), second.get(name), sides
            )


def flat_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested settings as one flat dict, under the names that users give them."""
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= {str(key): inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat


def value_in_words(value: Any) -> str:
    """Return the value of a setting as messages show it, in one line and shortened."""
    if value is None:
        return _NOT_SET
    text = (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, default=str)
    )
    return str(shown(text, _WIDTH))


def _names(models: Mapping[str, Any]) -> str | None:
    return ", ".join(sorted(models)) or None


def _fingerprint(record: RunRecord) -> str | None:
    return record.generator.fingerprint if record.generator else None


def _model(record: RunRecord) -> str | None:
    return record.generator.name if record.generator else None
