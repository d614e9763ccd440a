"""Files of checks of judges, which `t2ibench check judge --output` writes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.store.file_errors import reading
from t2ibench.store.user_paths import expanded

_WRITTEN = "It is written by `t2ibench check judge JUDGE --images DIR --output FILE`."


def read_judge_checks(names: Iterable[str]) -> list[JudgeCheck]:
    """Return judge checks (how often judges err on labelled images), read from the named files."""
    return [_read(expanded(name)) for name in names]


def _read(path: Path) -> JudgeCheck:
    with reading(path, _WRITTEN):
        text = path.read_text(encoding="utf-8")
    try:
        return JudgeCheck.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise T2IBenchError(
            f"{shown_path(path)} is no check of a judge ({where}: {first['msg'].lower()}).",
            _WRITTEN,
        ) from None
