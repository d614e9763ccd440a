"""Checks of judges by people: read for a run, and found for each judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from t2ibench.errors import T2IBenchError, shown
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.store.file_errors import reading

_WRITTEN = "It is written by `t2ibench check judge JUDGE --images DIR --output FILE`."


def read_check(path: Path) -> JudgeCheck:
    """A check of a judge.

    Raises:
        T2IBenchError: the file is missing, or holds something else.
    """
    with reading(path, _WRITTEN):
        text = path.read_text(encoding="utf-8")
    try:
        return JudgeCheck.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise T2IBenchError(
            f"{shown(path, 400)} is no check of a judge ({where}: {first['msg'].lower()}).",
            _WRITTEN,
        ) from None


def unused_checks(checks: Sequence[JudgeCheck], judges: Mapping[str, str]) -> list[str]:
    """A line for each check of a judge that a run does not have, or has in another version.

    Args:
        checks: The checks.
        judges: Fingerprints of the run's judges, by name.
    """
    lines = []
    for check in checks:
        if judges.get(check.judge) != check.fingerprint:
            known = check.judge in judges
            why = "with other settings or in another version" if known else "which did not answer"
            lines.append(f"--judge-check is of {check.judge}, {why}: it corrects nothing.")
    return lines
