"""Checking a submission: every score is computed again from its evidence."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from t2ibench.errors import T2IBenchError, did_you_mean, first_line
from t2ibench.leaderboard import names
from t2ibench.leaderboard.again import make_again
from t2ibench.leaderboard.bounds import (
    checked_settings,
    content_problems,
    image_problems,
    plain_files,
    sha256_of,
    value_problems,
)
from t2ibench.leaderboard.differences import differences
from t2ibench.leaderboard.evidence import (
    attempt_problems,
    evidence_problems,
    folder_problems,
    read_attempts,
)
from t2ibench.leaderboard.made import Again, Claimed
from t2ibench.leaderboard.remote import materialised
from t2ibench.leaderboard.stated import (
    ALWAYS_STATED,
    OF_THE_MODEL,
    command_problems,
    manifest_problems,
    settings_of,
    sizes_of,
    task_problems,
    with_captions,
)
from t2ibench.leaderboard.submission import (
    FILES,
    Manifest,
    PackedImages,
    read_manifest,
)
from t2ibench.leaderboard.thumbs import thumbnail_problems, thumbnails
from t2ibench.pipeline.plan import make_plan
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.pipeline.scoring import open_stores, score_plan
from t2ibench.results.build import adjusted_run
from t2ibench.results.files import read_results
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Results
from t2ibench.tasks.index import build_index
from t2ibench.tasks.loader import LoadedTask
from t2ibench.version import __version__

Level = Literal["reproduced", "partly reproduced", "recomputed", "self-reported", "refused"]
_MOST_LINES, _LONGEST_LINE = 20, 500  # of a verdict; characters
# What one of a kind is called, and several.
_PARTS = {
    "images": ("image", "images"),
    "texts": ("embedding of a text", "embeddings of texts"),
    "answers": ("answer", "answers"),
    "controls": ("embedding by random weights", "embeddings by random weights"),
    "refused": ("attempt that gave no image", "attempts that gave no image"),
}


@dataclass(slots=True)
class Verdict:
    """The outcome of verifying a submission.

    Attributes:
        level: 'reproduced' (the evidence that was made again is the same, and of every kind some
            was), 'partly reproduced' (so are the images, and something could not be made again),
            'recomputed' (every score follows from the evidence), 'self-reported' (without
            evidence) or 'refused'.
        problems: Why it was refused, one line each.
        notes: What to know, in sentences.
        tasks: Tasks that were looked at.
        parts: Kind of evidence ('images', 'texts', 'answers', 'controls', 'refused') to how much
            of it was made again and is the same.
        lacking: What could not be made again, and why.
        stated: What is shown as the submitter states it, because nothing here could tell:
            'environment', 't2ibench', 'revision', 'settings', 'effective_settings', 'thumbnails',
            'scores'.
        seed: What chose the images that were made again; None where none was.
        results: Its results with the scores that the evidence gives here, which are what may be
            shown; None where nothing was recomputed.
        paired: Task id to the influences on its headline, recomputed.
    """

    level: Level
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tasks: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    lacking: list[str] = field(default_factory=list)
    stated: list[str] = field(default_factory=list)
    seed: int | None = None
    results: Results | None = None
    paired: dict[str, PairedTask] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """What is remembered of it."""
        return {
            "level": self.level,
            "problems": self.problems,
            "notes": self.notes,
            "tasks": self.tasks,
            "parts": self.parts,
            "lacking": self.lacking,
            "stated": self.stated,
        }


def verify(folder: Path, draw: int = 0, seed: int | None = None) -> Verdict:
    """Check one submission. Whatever is wrong with it is in the verdict; nothing is raised."""
    verdict = Verdict("recomputed")
    try:
        with materialised(folder) as whole:
            _verify(whole, draw, secrets.randbits(32) if seed is None else seed, verdict)
            # Where the evidence was put for the check is nobody's business.
            verdict.problems = [line.replace(str(whole), str(folder)) for line in verdict.problems]
    except T2IBenchError as error:
        verdict.problems.append(str(error))
    except Exception as error:  # nothing in one submission ends the check of the others
        why = f"{type(error).__name__}: {first_line(error)}"
        verdict.problems.append(f"{folder} cannot be read ({why})")
    if verdict.problems:
        verdict.level = "refused"
    for name in ("problems", "notes", "lacking"):
        setattr(verdict, name, _bounded(getattr(verdict, name)))
    return verdict


def _bounded(lines: list[str]) -> list[str]:
    """Lines fit for a terminal: not too many or too long, and without control characters."""
    shown = [
        "".join(letter if letter.isprintable() else "?" for letter in " ".join(line.splitlines()))
        for line in lines[:_MOST_LINES]
    ]
    shown = [
        one if len(one) <= _LONGEST_LINE else one[: _LONGEST_LINE - 3] + "..." for one in shown
    ]
    more = len(lines) - _MOST_LINES
    return [*shown, f"and {more} more"] if more > 0 else shown


def _verify(folder: Path, draw: int, seed: int, verdict: Verdict) -> None:
    files, verdict.problems = plain_files(folder)
    if verdict.problems:
        return
    manifest = read_manifest(folder)
    verdict.problems += _file_problems(files, manifest)
    verdict.problems += content_problems(files) if not verdict.problems else ()
    if verdict.problems:
        return
    results = read_results(folder)
    verdict.tasks = len(results.tasks)
    verdict.problems += _provenance_problems(manifest, results)
    verdict.problems += names.problems(
        manifest.name, manifest.model, manifest.model_args, manifest.revision
    )
    verdict.problems += folder_problems(files, manifest)
    tasks = _tasks(folder, results, verdict.problems)
    if verdict.problems:
        return
    claimed, images = _claimed(folder, manifest, results, tasks, verdict)
    if verdict.problems or claimed is None:
        return
    if manifest.t2ibench != __version__:
        verdict.notes.append(f"packed by t2ibench {manifest.t2ibench}, checked by {__version__}")
    verdict.stated += [*ALWAYS_STATED, *OF_THE_MODEL]
    verdict.stated += ["captions"] if any(task.pool for task in results.tasks.values()) else []
    if thumbnails(folder):
        verdict.stated.append("thumbnails")
    if not any(name.startswith("evidence/") for name in files):
        verdict.level = "self-reported"
        verdict.problems += task_problems(results, tasks)  # of others nothing of it is shown
        verdict.notes.append("no evidence is included, so nothing could be recomputed")
        verdict.stated.append("scores")
        return
    _recompute(claimed, images, verdict)
    if draw and not verdict.problems:
        verdict.seed = seed
        _judge(_made_again(claimed, draw, seed), claimed, verdict)


def _file_problems(files: Mapping[str, Path], manifest: Manifest) -> Iterator[str]:
    """Files that should not be there, are not there, or have changed."""
    for name in sorted(files.keys() | manifest.files.keys()):
        if not FILES.fullmatch(name) or ".." in name:
            yield f"'{name}' is not a file that a submission may contain"
        elif name not in manifest.files:
            yield f"{name} is not listed in submission.json"
        elif name not in files:
            yield f"{name} is listed in submission.json but missing"
        elif sha256_of(files[name]) != manifest.files[name]:
            yield f"{name} has changed: its SHA-256 is not the one in submission.json"
    for name in ("results.json", "attempts.jsonl"):
        if name not in files:
            yield f"{name} is missing"


def _provenance_problems(manifest: Manifest, results: Results) -> Iterator[str]:
    if not results.tasks:
        yield "it has no task"
    if results.limited or any(task.settings.limit is not None for task in results.tasks.values()):
        yield "it was made with --limit; such runs are not accepted"
    yield from manifest_problems(manifest, results)
    for name, task in results.tasks.items():
        for kind, used, known in (
            ("encoder", task.settings.encoders, manifest.encoders),
            ("judge", task.settings.judges, manifest.judges),
        ):
            for label, fingerprint in used.items():
                if known.get(label) != fingerprint:
                    yield f"{name} was scored by the {kind} '{label}', which submission.json lacks"
        if task.missing_prompts:
            yield (
                f"{name} was scored without {len(task.missing_prompts)} of its prompts, which have "
                "no image; such runs are not accepted"
            )
        elif task.excluded.get("failed") or task.excluded.get("missing"):
            yield f"{name} lacks images: complete the run"
    yield from value_problems(results)


def _tasks(folder: Path, results: Results, problems: list[str]) -> dict[str, LoadedTask]:
    """The shipped tasks of the results, with the very content that was scored."""
    registry, _ = build_index()
    tasks: dict[str, LoadedTask] = {}
    if len(results.tasks) > len(registry.tasks):
        problems.append(f"it has {len(results.tasks)} tasks; {len(registry.tasks)} are shipped")
        return tasks
    for name, task in results.tasks.items():
        shipped = registry.tasks.get(name)
        if shipped is not None and shipped.spec.awaits is not None:
            kept = with_captions(shipped, folder, task)
            if isinstance(kept, str):
                problems.append(kept)
                continue
            shipped = kept
        if shipped is None:
            hint = did_you_mean(name, registry.tasks)
            problems.append(f"unknown shipped task '{name}'.{hint}")
        elif (shipped.spec.version, shipped.hash) != (task.version, task.task_hash):
            problems.append(
                f"{name} was scored with another version of the task ({task.version}; shipped is "
                f"{shipped.spec.version}): run it again"
            )
        else:
            tasks[name] = shipped
    return tasks


def _claimed(
    folder: Path,
    manifest: Manifest,
    results: Results,
    tasks: Mapping[str, LoadedTask],
    verdict: Verdict,
) -> tuple[Claimed | None, PackedImages]:
    """The submission, read; what can be told without its evidence is checked."""
    settings = checked_settings([task.settings for task in results.tasks.values()])
    attempts = list(read_attempts(folder, manifest))
    images = PackedImages(attempts)
    command = settings_of(results.command)
    verdict.problems += command_problems(
        command, manifest, results.tasks, settings, sizes_of(manifest.model)
    )
    verdict.problems += image_problems(list(tasks.values()), settings, len(attempts))
    if verdict.problems:
        return None, images
    plan = make_plan(list(tasks.values()), settings)
    verdict.problems += attempt_problems(plan, images)
    needed = {(request.prompt, request.index) for request in plan.requests}
    extra = [attempt for attempt in attempts if (attempt.prompt, attempt.index) not in needed]
    if extra:
        verdict.problems.append(
            f"{len(extra)} images belong to no task, such as '{extra[0].prompt}'"
        )
    verdict.problems += thumbnail_problems(folder, attempts)
    stores = open_stores(
        folder / "evidence", manifest.encoder_records(), manifest.judges, manifest.controls
    )
    return Claimed(folder, manifest, results, command, plan, attempts, stores), images


def _recompute(claimed: Claimed, images: PackedImages, verdict: Verdict) -> None:
    """Compute all scores again, and compare them."""
    plan, results = claimed.plan, claimed.results
    verdict.problems += evidence_problems(plan, images, claimed.stores)
    if verdict.problems:
        return
    scored = score_plan(plan, images, claimed.stores, SilentReporter())
    computed = adjusted_run({name: scored.results[name] for name in results.tasks})
    verdict.problems += differences(results, computed)
    verdict.results = results.model_copy(update={"tasks": computed})
    verdict.paired = {
        name: replace(task, rows={}, agreement={}) for name, task in scored.paired.items()
    }


def _made_again(claimed: Claimed, draw: int, seed: int) -> Again:
    try:
        return make_again(claimed, draw, seed)
    except Exception as error:  # of a model: it fails here, which is not the submission's fault
        why = f"{type(error).__name__}: {first_line(error)}"
        return Again(lacking=[f"making it again failed here with {why}"])


def _judge(again: Again, claimed: Claimed, verdict: Verdict) -> None:
    """What was made again, as a verdict."""
    verdict.problems += again.problems
    verdict.parts, verdict.lacking = again.parts, again.lacking
    if again.model:
        verdict.notes.append(
            f"what was made again was chosen at random; --seed {verdict.seed} chooses it again"
        )
    if verdict.problems:
        return
    if not again.lacking:
        verdict.level = "reproduced"
    elif again.parts.get("images"):
        verdict.level = "partly reproduced"
    if again.model:
        verdict.stated.remove("revision")
        verdict.stated.remove("settings")
    if again.effective:
        verdict.stated.remove("effective_settings")
    shown = {path.stem for path in thumbnails(claimed.folder)}
    if shown and again.thumbnails == shown:
        verdict.stated.remove("thumbnails")
    elif shown:
        verdict.notes.append(
            f"{len(again.thumbnails)} of {len(shown)} thumbnails were compared; the others are as "
            "the submitter gave them"
        )
    if again.parts:
        verdict.notes.insert(0, _sentence(again.parts))
    verdict.notes += [f"not made again: {line}" for line in again.lacking]


def _sentence(parts: Mapping[str, int]) -> str:
    """'32 images, 118 embeddings of texts and 64 answers were made again and are the same'."""
    said = [
        f"{parts[key]} {one if parts[key] == 1 else several}"
        for key, (one, several) in _PARTS.items()
        if parts.get(key)
    ]
    listed = " and ".join([", ".join(said[:-1]), said[-1]] if len(said) > 1 else said)
    return f"{listed} were made again and are the same"
