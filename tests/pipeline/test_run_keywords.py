"""The keywords of `evaluate`, `generate` and `reproduce`: as many as settings, and as typed."""

from __future__ import annotations

import inspect
from typing import Any, get_args, get_type_hints

import pytest
from pydantic import TypeAdapter, ValidationError
from typing_extensions import Unpack

import t2ibench
from t2ibench.pipeline.run_keywords import RunKeywords
from t2ibench.settings import RunSettings, read_settings

KEYWORDS = get_type_hints(RunKeywords)
OWN_PARAMETERS = {"model", "tasks", "encoder", "judge", "rewriter"}
# The last is what `seed="derived"` sets.
NEVER_GIVEN = {"generate_only", "no_score", "seed_is_derived"}
# Values of every shape that a keyword may have; each setting takes some of them.
SAMPLES: tuple[object, ...] = (
    None,
    True,
    1,
    0.5,
    "auto",
    "cpu",
    "1/2",
    "random",
    "local",
    "steps=30",
    {"steps": 30},
    ["one", "two"],
    {"image": "Name"},
)


def test_every_setting_is_a_keyword() -> None:
    assert KEYWORDS.keys() == RunSettings.model_fields.keys() - (
        OWN_PARAMETERS | NEVER_GIVEN
    )


@pytest.mark.parametrize("name", ["evaluate", "generate", "reproduce"])
def test_functions_take_the_keywords(name: str) -> None:
    hints = get_type_hints(getattr(t2ibench, name), include_extras=True)
    parameters = inspect.signature(getattr(t2ibench, name)).parameters.values()
    (further,) = (item.name for item in parameters if item.kind is item.VAR_KEYWORD)
    assert hints[further] == Unpack[RunKeywords]
    assert get_args(hints[further]) == (RunKeywords,)


def accepted(check: Any, value: object) -> bool:
    try:
        check(value)
    except (t2ibench.T2IBenchError, ValidationError):
        return False
    return True


@pytest.mark.parametrize("name", sorted(KEYWORDS))
def test_types_say_what_a_setting_takes(name: str) -> None:
    """Whatever a setting takes has the keyword's type; text is checked by its words alone."""
    typed = TypeAdapter(KEYWORDS[name])
    taken = [
        value
        for value in SAMPLES
        if accepted(lambda value: read_settings({name: value}), value)
    ]
    assert taken
    for value in taken:
        # pydantic reads '1' as a number, which no editor has to offer.
        if isinstance(value, str) and not accepted(typed.validate_python, value):
            assert isinstance(
                RunSettings.model_fields[name].default, int | float | None
            )
            continue
        assert accepted(typed.validate_python, value), (name, value)
