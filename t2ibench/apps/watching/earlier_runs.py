"""Runs of a watched folder that earlier watches have finished, which their page goes on with."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.results.files import read_results
from t2ibench.results.run import is_run, open_run
from t2ibench.store.evidence import slug
from t2ibench.store.files import natural_key
from t2ibench.store.user_paths import expanded, matching, resolved

_FOLDER = "folder:"
# What stands at the end of a name where other images were scored under the same one.
_FINGERPRINT = r"(?:-[0-9a-f]{8})?"


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """A finished run of one set of a watched folder.

    Attributes:
        place: The folder of its images.
        version: How often all of the images had been replaced, from 1.
        each: Number of images a prompt; None where the arguments of its model do not say it.
        fingerprint: That of its images.
        run: Its run folder.
    """

    place: Path
    version: int
    each: int | None
    fingerprint: str
    run: Path


def earlier_runs(
    root: Path, title: str, output: Path, tasks: Container[str]
) -> list[EarlierRun]:
    """Return the finished runs of a watched folder, in the natural order of their names.

    Args:
        root: The watched folder.
        title: What its runs are named after.
        output: The folder of all runs; one that cannot be read has none.
        tasks: Ids of the tasks that are watched now; runs without any of them are left out,
            because nothing can be compared with them.
    """
    try:
        folders = sorted(matching(output, f"{slug(title)}-*"), key=_name_key)
    except OSError:
        return []
    there = root.resolve()
    runs = (_earlier_run(folder, there, title, tasks) for folder in folders)
    return [run for run in runs if run is not None]


def _name_key(folder: Path) -> tuple[tuple[int, int | str], ...]:
    return natural_key(folder.name)


def _earlier_run(
    folder: Path, root: Path, title: str, tasks: Container[str]
) -> EarlierRun | None:
    """Return the run in a folder; None if it is unfinished, damaged, or of other images."""
    if not is_run(folder) or not (folder / "results.json").is_file():
        return None
    try:
        results = read_results(folder)
        record = open_run(folder).record
    except (OSError, T2IBenchError):
        return None
    model = record.settings.model or ""
    generator = record.generator
    if not model.startswith(_FOLDER) or generator is None:
        return None
    if not any(task in tasks for task in results.tasks):
        return None
    place = resolved(expanded(model.removeprefix(_FOLDER)))
    if root not in {place, place.parent}:
        return None
    checkpoint = "" if place == root else place.name
    version = _version(record.settings.name or "", title, checkpoint)
    if version is None:
        return None
    most = record.settings.model_args.get("most")
    each = int(most) if most is not None and most.isdecimal() else None
    return EarlierRun(place, version, each, generator.fingerprint, folder)


def _version(name: str, title: str, checkpoint: str) -> int | None:
    """Return the version in the name of a set's run; None if it is the name of no such run.

    Examples:
        >>> _version("val-step-5", "val", "step-5"), _version("val-set-3-2-each", "val", "")
        (1, 3)
        >>> _version("val-step-5-version-2", "val", "step-5")
        2
        >>> _version("another", "val", "step-5") is None
        True
    """
    if checkpoint:
        pattern = rf"{re.escape(title)}-{re.escape(checkpoint)}(?:-version-(\d+))?"
    else:
        pattern = rf"{re.escape(title)}-set-(\d+)-\d+-each"
    matched = re.fullmatch(f"{pattern}{_FINGERPRINT}", name)
    return None if matched is None else int(matched[1] or 1)
