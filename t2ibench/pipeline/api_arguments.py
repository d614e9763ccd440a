"""Conversion of Python API arguments to settings and adapters, and warnings to the caller."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.arguments import names_of
from t2ibench.models.language import Rewriter
from t2ibench.models.protocols import Encoder, Generator, Judge
from t2ibench.models.resolution import checked
from t2ibench.pipeline.progress import ConsoleReporter, SilentReporter
from t2ibench.pipeline.run_context import Models, PythonAdapters, RunContext

# What a caller may give: a name, an object, or several of these.
GivenModel = str | Path | Generator | None
GivenEncoders = str | Encoder | Sequence[str | Encoder]
GivenJudges = str | Judge | Sequence[str | Judge]
GivenRewriter = str | Rewriter | None


def given_by(
    model: GivenModel,
    encoder: GivenEncoders,
    judge: GivenJudges,
    rewriter: GivenRewriter,
    settings: Mapping[str, Any],
) -> tuple[dict[str, Any], PythonAdapters]:
    """Return the explicitly given settings by name, and adapters given as Python objects."""
    encoders, encoder_names = _split(encoder, Encoder, "encoder")
    judges, judge_names = _split(judge, Judge, "judge")
    generator, model_name = _one(model, Generator, "generator")
    other, rewriter_name = _one(rewriter, Rewriter, "rewriter")
    names = {
        "model": model_name,
        "encoder": encoder_names or None,
        "judge": judge_names or None,
        "rewriter": rewriter_name,
    }
    named = {name: value for name, value in names.items() if value is not None}
    adapters = PythonAdapters(generator, encoders, judges, other)
    return {**named, **settings}, adapters


def warn_of(
    context: RunContext,
    models: Models,
    reporter: ConsoleReporter | SilentReporter,
    further: Sequence[str] = (),
) -> None:
    """Issue a Python warning for each line that a console reporter has not already shown."""
    unseen = reporter.warnings if isinstance(reporter, SilentReporter) else []
    lines = [*models.notes, *context.notices, *unseen, *further]
    for line in dict.fromkeys(lines):
        warnings.warn(line, stacklevel=3)


def _one(value: Any, protocol: Any, kind: str) -> tuple[Any, str | None]:
    """Return the object if one is given, and the name if a name is; None for the other."""
    if value is None or isinstance(value, (str, Path)):
        return None, None if value is None else str(value)
    return checked(value, protocol, kind, type(value).__name__), None


def _split(given: Any, protocol: Any, kind: str) -> tuple[dict[str, Any], list[str]]:
    """Return encoders or judges given as objects, keyed by name, and the names of all in order."""
    several = (
        [given] if isinstance(given, str) or not isinstance(given, Sequence) else given
    )
    objects: dict[str, Any] = {}
    names: list[str] = []
    for item in several:
        if isinstance(item, str):
            names += names_of(item)
            continue
        name = str(checked(item, protocol, kind, type(item).__name__).name)
        objects[name] = item
        names.append(name)
    return objects, names
