"""Fewer everyday words, for tests of runs in which the words themselves are not what is tested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from t2ibench.methods.core.schema import BaseTask
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.tasks import index, loader
from t2ibench.tasks.loader import LoadedTask
from t2ibench.tasks.source import Problem

Loading = Callable[[Path], tuple[LoadedTask | None, list[Problem]]]

# From 100 on, tests learn from them how alike related words are.
_FEW = 120

_load_bundled_file = loader.load_bundled_file


@contextmanager
def few_everyday_words() -> Iterator[None]:
    """Have shipped tasks compare their words with 120 everyday words, in place of 1,430.

    To embed all of them and to compare each pair takes half of the time of a small run. Only this
    process has few: its results differ from those that a command in another process computes.
    """
    with _loading_by(_with_few_words):
        yield


@contextmanager
def all_everyday_words() -> Iterator[None]:
    """Have shipped tasks as their files are, inside `few_everyday_words` too."""
    with _loading_by(_load_bundled_file):
        yield


@contextmanager
def _loading_by(load: Loading) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (loader, index):
            patch.setattr(module, "load_bundled_file", load)
        yield


def _with_few_words(path: Path) -> tuple[LoadedTask | None, list[Problem]]:
    task, problems = _load_bundled_file(path)
    if task is not None:
        task = replace(task, spec=compared_with(_FEW, task.spec))
    return task, problems


def compared_with(n_words: int, spec: BaseTask) -> BaseTask:
    """The task, compared with so many everyday words; itself if it compares with none."""
    if isinstance(spec, WeatTask):
        return spec.model_copy(update={"reference": spec.reference[:n_words]})
    if isinstance(spec, VibexTask):
        words = spec.reference.words[:n_words]
        reference = spec.reference.model_copy(update={"words": words})
        return spec.model_copy(update={"reference": reference})
    return spec
