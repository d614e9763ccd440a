"""Runs that are named by a URL: fetched before a command, and copied back after it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAMES = ("run", "first", "second", "baseline")
_LISTS = ("paths",)
_WRITING = {"score", "report", "label"}
_HERE_ALONE = {"pack", "unpack"}


@contextmanager
def runs_here(arguments: argparse.Namespace) -> Iterator[None]:
    """Put the local folder of a run in the place of its URL."""
    named = {name: value for name in _NAMES if _is_url(value := getattr(arguments, name, None))}
    lists = {name: value for name in _LISTS if any(map(_is_url, getattr(arguments, name, ())))
             and (value := getattr(arguments, name))}  # fmt: skip
    if not named and not lists:
        yield
        return
    from t2ibench.errors import T2IBenchError
    from t2ibench.store.syncing import local_run, push_now

    verb = str(arguments.argv[1])
    if verb in _HERE_ALONE:
        raise T2IBenchError(
            f"{verb} works on a folder of this machine; elsewhere, images are packed already.",
            "Give the path of a run.",
        )
    for name, value in named.items():
        setattr(arguments, name, str(local_run(str(value))))
    for name, values in lists.items():
        setattr(arguments, name, [str(local_run(value)) for value in values])
    if verb == "export" and arguments.output is None:
        arguments.output = str(Path(f"{Path(arguments.run).name}-{arguments.format}"))
    yield
    if verb in _WRITING and "run" in named:
        push_now(str(named["run"]))


def _is_url(value: object) -> bool:
    return isinstance(value, str) and "://" in value
