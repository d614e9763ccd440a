"""`t2ibench merge`: parts of a run that were made apart, as one.

What is stored is named by its content (prompt and index, hashes of images and texts), so joining is
copying what is not there yet, and the result is that of one machine, byte for byte.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.pipeline.progress import Reporter
from t2ibench.results.record import GeneratorRecord, RunRecord
from t2ibench.results.run import RunFolder, folder_of, is_run, open_run
from t2ibench.store.evidence import KINDS, EvidenceStore
from t2ibench.store.images import LOOKS
from t2ibench.store.locks import locked
from t2ibench.tasks.run_tasks import FOLDER as TASKS

_PART = 256  # embeddings that are copied together
# Rows that are named by their content; what names them in a part names them in the run.
_ROWS = ("texts", "models", "questions", "attempts", "answers", "labels", "rewrites")
# What all parts share; their output, cost and history are their own.
_SAME = ("tasks", "measurement", "encoders", "controls", "judges", "pools")


def merge(paths: Sequence[Path], output: Path | None, reporter: Reporter) -> RunFolder:
    """Join runs of one generator into one folder; what is there already stays."""
    distinct = {path.resolve(): path for path in map(folder_of, paths)}
    parts = [open_run(path) for path in distinct.values()]
    first = parts[0].record
    for part in parts[1:]:
        _check(parts[0], part)
    target = (output or parts[0].path.parent.parent) / parts[0].path.name
    folder = open_run(target) if is_run(target) else RunFolder(target)
    if folder.path.resolve() in distinct:
        raise T2IBenchError(f"{target} is one of the parts.", "Give another --output-dir.")
    if folder.database.exists():
        _check(parts[0], folder)
    with locked(target, notices=reporter):
        with reporter.stage("Merging", len(parts), "parts") as ticker:
            for part in parts:
                _copy(part, folder)
                ticker.advance(1)
        folder.record = first
        folder.update(
            settings=first.settings.model_copy(update={"shard": None, "no_score": False}),
            status="incomplete",
            generator=_generator([part.record for part in parts]),
            history=[entry for part in parts for entry in part.record.history],
        )
    return folder


def _check(first: RunFolder, other: RunFolder) -> None:
    """Refuse runs of different models, tasks or settings."""
    one, two = first.record, other.record
    made = [record.generator.fingerprint if record.generator else None for record in (one, two)]
    unlike = "model" if made[0] != made[1] else ""
    for name in _SAME:
        if not unlike and getattr(one, name) != getattr(two, name):
            unlike = name
    if unlike:
        raise T2IBenchError(
            f"{first.path} and {other.path} are no parts of one run: their {unlike} differ.",
            "Start every part with the same command, but for --shard.",
        )


def _copy(part: RunFolder, folder: RunFolder) -> None:
    """Copy what a part has and the run does not."""
    for table in _ROWS:
        folder.database.write(table, part.database.read_checked(table), keep=True)
    record = part.record
    encoders = [(name, one.fingerprint) for name, one in record.encoders.items()]
    encoders += [(one.name, one.fingerprint) for one in record.controls.values()]
    for name, fingerprint in [*encoders, LOOKS]:
        source = EvidenceStore(part.database, name, fingerprint)
        target = EvidenceStore(folder.database, name, fingerprint)
        for kind in KINDS:
            keys = target.missing(kind, sorted(source.keys(kind)))
            for start in range(0, len(keys), _PART):
                some = keys[start : start + _PART]
                target.add(kind, some, source.rows(kind, some).astype("float32"))
    for files in ("images", TASKS):
        if (part.path / files).is_dir():
            shutil.copytree(
                part.path / files, folder.path / files, copy_function=_copy_new, dirs_exist_ok=True
            )


def _copy_new(source: str, target: str) -> None:
    if not Path(target).exists():
        shutil.copyfile(source, target)


def _generator(records: Sequence[RunRecord]) -> GeneratorRecord | None:
    """What made the images of all parts, and what they have cost together."""
    found = [record.generator for record in records if record.generator is not None]
    if not found:
        return None
    first = next((one for one in found if one.libraries), found[0])
    costs = [one.cost for one in found if one.cost is not None]
    others = [one.libraries for one in found if one.libraries not in ({}, first.libraries)]
    others += [libraries for one in found for libraries in one.other_libraries]
    distinct = [one for number, one in enumerate(others) if one not in others[:number]]
    unread = {text: towers for one in found for text, towers in one.unread_prompts.items()}
    return first.model_copy(
        update={
            "unread_prompts": dict(sorted(unread.items())),
            "cost": round(sum(costs), 9) if costs else None,
            "other_libraries": [one for one in distinct if one != first.libraries],
        }
    )
