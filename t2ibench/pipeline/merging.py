"""Merging of separately executed parts of a run (`t2ibench merge`).

What is stored is named by its content (prompt and index, hashes of images and texts), so joining is
copying what is not there yet, and the result is that of one machine, byte for byte. The source
images of edits are a run inside each part, and are merged alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError
from t2ibench.models.generators.observed_settings import with_earlier
from t2ibench.pipeline.copied_files import PartFiles
from t2ibench.pipeline.parts import (
    MissingParts,
    check_alike,
    check_split,
    missing_parts,
    refusal,
)
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.source_images import FOLDER as SOURCES
from t2ibench.pipeline.source_images import source_folder
from t2ibench.results.record import (
    GeneratorRecord,
    HistoryEntry,
    MergedParts,
    RunRecord,
    joined_warnings,
)
from t2ibench.results.run import RunFolder, folder_of, is_run, open_run
from t2ibench.results.unread import PromptReading
from t2ibench.store.evidence import EvidenceStore
from t2ibench.store.images import PERCEPTUAL_HASH, RANK
from t2ibench.store.labels import LabelStore
from t2ibench.store.locks import locked
from t2ibench.store.schema import columns, key_columns
from t2ibench.store.user_paths import resolved

# Rows with keys of their content, which are the same in a part and in the run.
_ROWS = ("texts", "models", "questions", "answers", "labels")
_FAILED = "failed"
_TRY, _STATUS = columns("attempts").index("try"), columns("attempts").index("status")


def merge(
    paths: Sequence[Path],
    output: Path | None,
    reporter: Reporter,
    *,
    allow_missing: bool = False,
) -> RunFolder:
    """Merge runs of one generator into one folder, which keeps its existing content.

    Args:
        paths: Parts of a run, or whole runs of the same settings; a folder that parts were merged
            into may be among them.
        output: Folder of all runs; None for the one that holds the parts'.
        reporter: Shows how far it is.
        allow_missing: Merge although parts are missing or unfinished.

    Returns:
        The folder that they were merged into.

    Raises:
        T2IBenchError: they do not belong together, or some of the run is missing.
    """
    sources, target = _opened(paths, output)
    existing = target if target.knows_generator else None
    for other in [*sources[1:], *([existing] if existing else [])]:
        check_alike(sources[0], other)
    check_split(sources, existing)
    of_sources = _MergedSources.of(sources, target)
    missing = missing_parts(sources, existing)
    if missing and not allow_missing:
        raise refusal(missing, sources[0])
    with locked(target.path, notices=reporter):
        with reporter.stage("Merging", len(sources), "parts") as ticker:
            of_parts = list(map(PartFiles.of, sources))
            of_sources.merge(missing)
            merged = _merged_record(sources, target, missing)
            for files in of_parts:
                _copy(files, target)
                ticker.advance(1)
        # Their copy beside run.db, which a part may lack too.
        LabelStore(target.database).restore()
        _store(merged, target)
    return target


@dataclass(frozen=True, slots=True)
class _MergedSources:
    """The runs that made the source images of edits, inside the folders of the parts.

    Attributes:
        runs: One of each part that has any.
        target: What they are merged into.
    """

    runs: Sequence[RunFolder]
    target: RunFolder

    @classmethod
    def of(cls, parts: Sequence[RunFolder], target: RunFolder) -> _MergedSources:
        """Return the runs inside the folders of parts.

        Raises:
            T2IBenchError: different models made the source images.
        """
        inside = (source_folder(part.path) for part in parts)
        runs = [run for run in inside if run is not None]
        nested_target = _target(target.path / SOURCES)
        existing = [nested_target] if nested_target.knows_generator else []
        # None of these parts may have any although the target has.
        compared = [*runs, *existing]
        for other in compared[1:]:
            check_alike(compared[0], other)
        return cls(runs, nested_target)

    def merge(self, missing: MissingParts) -> None:
        """Merge the source images.

        Args:
            missing: What the whole run lacks.
        """
        if not self.runs:
            return
        with locked(self.target.path):
            merged = _merged_record(self.runs, self.target, missing)
            for files in list(map(PartFiles.of, self.runs)):
                _copy(files, self.target)
            LabelStore(self.target.database).restore()
            finished = all(run.record.status == "complete" for run in self.runs)
            # They are never scored, which is what completes other runs.
            status = "complete" if finished and not missing else "incomplete"
            output = str(self.target.path.parent)
            settings = merged.settings.model_copy(
                update={"output_dir": output, "no_score": True}
            )
            record = merged.model_copy(update={"settings": settings, "status": status})
            _store(record, self.target)


def _merged_record(
    sources: Sequence[RunFolder], target: RunFolder, missing: MissingParts
) -> RunRecord:
    """Return the record of a run that is merged from parts into a folder."""
    first = sources[0].record
    settings = first.settings.model_copy(update={"shard": None, "no_score": False})
    warnings = joined_warnings(
        *(folder.record.library_warnings for folder in [target, *sources])
    )
    return first.model_copy(
        update={
            "settings": settings,
            "status": "incomplete",
            "generator": _generator(sources, target.record),
            "merged": _merged_parts(sources, target.record, missing),
            "history": _history([*sources, target]),
            "library_warnings": warnings,
        }
    )


def _store(record: RunRecord, folder: RunFolder) -> None:
    """Write a record to the folder of its run."""
    folder.record = record
    folder.save()


def _opened(
    paths: Sequence[Path], output: Path | None
) -> tuple[list[RunFolder], RunFolder]:
    """Return the runs to merge, with parts in order, and the target folder."""
    distinct = {resolved(path): path for path in map(folder_of, paths)}
    folders = _opened_parts(distinct.values())
    folders.sort(key=lambda folder: folder.record.part or (0, 0))
    parts = [folder for folder in folders if folder.record.part is not None]
    named = (parts or folders)[0].path
    path = (output or named.parent.parent) / named.name
    sources = [folder for folder in folders if resolved(folder.path) != resolved(path)]
    is_among_them = len(sources) < len(folders)
    target = _target(path)
    if not sources or (is_among_them and target.record.part is not None):
        raise T2IBenchError(
            f"{path} is one of the parts.", "Give another --output-dir."
        )
    return sources, target


def _opened_parts(paths: Iterable[Path]) -> list[RunFolder]:
    """Return the runs in folders, but for parts that were stopped before all but source images."""
    begun = [path for path in paths if not _has_only_sources(path)]
    if not begun:
        raise T2IBenchError(
            "None of these parts has got beyond its source images.",
            "Run the command of each again; then merge.",
        )
    return [open_run(path) for path in begun]


def _has_only_sources(path: Path) -> bool:
    """Return whether a run was stopped while its source images were made, before all else."""
    return is_run(path / SOURCES) and not is_run(path)


def _target(path: Path) -> RunFolder:
    """Return the folder to merge into, new or with what earlier merges put there.

    The record is written last: one that was interrupted left rows without it, and is gone on with.
    """
    folder = RunFolder(path)
    has_record = is_run(path) and folder.database.read("SELECT 1 FROM run LIMIT 1")
    return open_run(path) if has_record else folder


def _merged_parts(
    sources: Sequence[RunFolder], target: RunRecord, missing: MissingParts
) -> MergedParts | None:
    """Return the record of the parts from which a folder is merged; None if there are none."""
    if not missing.count:
        return target.merged
    merged = MergedParts(count=missing.count, missing=missing.not_given)
    for record in (target, *(folder.record for folder in sources)):
        if record.merged is not None:
            merged.costs |= record.merged.costs
    for folder in sources:
        if folder.record.part is not None:
            generator = folder.record.generator
            merged.costs[folder.record.part[0]] = generator.cost if generator else None
    merged.costs = dict(sorted(merged.costs.items()))
    return merged


def _history(folders: Sequence[RunFolder]) -> list[HistoryEntry]:
    """Return all calls that worked on any of the runs, without duplicates, latest last."""
    entries: list[HistoryEntry] = []
    for folder in folders:
        entries += [entry for entry in folder.record.history if entry not in entries]
    return sorted(
        entries, key=lambda entry: (entry.started, entry.finished, entry.command)
    )


def _copy(files: PartFiles, folder: RunFolder) -> None:
    """Copy the content of a part that the target folder does not have yet."""
    part = files.part
    for table in _ROWS:
        folder.database.write(table, part.database.read_checked(table), keep=True)
    _copy_attempts(part, folder)
    _copy_rewrites(part, folder)
    record = part.record
    encoders = [
        (name, encoder.fingerprint) for name, encoder in record.encoders.items()
    ]
    encoders += [
        (control.name, control.fingerprint) for control in record.controls.values()
    ]
    for name, fingerprint in [*encoders, PERCEPTUAL_HASH]:
        source = EvidenceStore(part.database, name, fingerprint)
        target = EvidenceStore(folder.database, name, fingerprint)
        target.copy_from(source)
    files.copy_to(folder.path)


def _copy_attempts(part: RunFolder, folder: RunFolder) -> None:
    """Copy attempts at images; an image replaces a failure of an earlier merge."""
    stored = _by_image(folder.database.read_checked("attempts"))
    new: list[tuple[Any, ...]] = []
    for image, attempts in _by_image(part.database.read_checked("attempts")).items():
        there = stored.get(image, [])
        if there and _best(attempts) <= _best(there):
            continue
        further = [row for row in attempts if row not in there]
        next_try = max((row[_TRY] for row in there), default=-1) + 1
        for number, row in enumerate(further):
            tries = next_try + number if there else row[_TRY]
            new.append((*row[:_TRY], tries, *row[_TRY + 1 :]))
    folder.database.write("attempts", new)


def _by_image(
    rows: Iterable[tuple[Any, ...]],
) -> dict[tuple[Any, ...], list[tuple[Any, ...]]]:
    """Return rows of attempts, grouped by generator, prompt and image index."""
    images: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in rows:
        images.setdefault(row[:_TRY], []).append(row)
    return images


def _best(attempts: Iterable[tuple[Any, ...]]) -> int:
    """Return the rank of the best status among the attempts at one image; higher is better."""
    return max(RANK.get(row[_STATUS], -1) for row in attempts)


def _copy_rewrites(part: RunFolder, folder: RunFolder) -> None:
    """Copy rewritings; a successful one replaces a failure."""
    places = [columns("rewrites").index(name) for name in key_columns("rewrites")]
    status = columns("rewrites").index("status")
    rows = part.database.read_checked("rewrites")
    failed = {
        tuple(row[place] for place in places)
        for row in folder.database.read_checked("rewrites")
        if row[status] == _FAILED
    }
    folder.database.write("rewrites", rows, keep=True)
    made = [row for row in rows if row[status] != _FAILED]
    better = [row for row in made if tuple(row[place] for place in places) in failed]
    folder.database.write("rewrites", better)


def _generator(
    sources: Sequence[RunFolder], target: RunRecord
) -> GeneratorRecord | None:
    """Return the common generator record of all parts, with their total cost."""
    records = [*(folder.record for folder in sources), target]
    generators = [
        record.generator for record in records if record.generator is not None
    ]
    if not generators:
        return None
    first = next((record for record in generators if record.libraries), generators[0])
    unread: dict[str, list[PromptReading]] = {}
    settings = first.effective_settings
    for record in generators:
        unread |= record.unread_prompts
        settings = with_earlier(record.effective_settings, settings)
    return first.model_copy(
        update={
            "effective_settings": settings,
            "unread_prompts": dict(sorted(unread.items())),
            "cost": _cost(sources, target),
            "other_libraries": _other_libraries(generators, first.libraries),
        }
    )


def _other_libraries(
    generators: Sequence[GeneratorRecord], libraries: Mapping[str, str]
) -> list[dict[str, str]]:
    """Return further library versions that parts were generated with, without duplicates."""
    candidates = [record.libraries for record in generators if record.libraries]
    for record in generators:
        candidates += record.other_libraries
    others: list[dict[str, str]] = []
    for candidate in candidates:
        if candidate != libraries and candidate not in others:
            others.append(candidate)
    return others


def _cost(sources: Sequence[RunFolder], target: RunRecord) -> float | None:
    """Return the total cost of all images; a part that is merged again counts once."""
    costs = [target.generator.cost if target.generator else None]
    counted = dict(target.merged.costs) if target.merged else {}
    for folder in sources:
        record = folder.record
        cost = record.generator.cost if record.generator else None
        if record.part is not None:
            before = counted.get(record.part[0])
            costs.append(-before if before is not None else None)
            counted[record.part[0]] = cost
        costs.append(cost)
    recorded = [cost for cost in costs if cost is not None]
    # Records of others may say anything; a sum below 0 would raise what --max-cost allows.
    return max(0.0, round(sum(recorded), 9)) if recorded else None
