"""Checking a submission: every score is computed again from its evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from safetensors import SafetensorError

from t2ibench.errors import T2IBenchError, did_you_mean
from t2ibench.leaderboard.differences import differences, influence_differences
from t2ibench.leaderboard.submission import (
    FILES,
    LARGEST,
    THUMB,
    Manifest,
    PackedImages,
    of_headlines,
    read_manifest,
)
from t2ibench.models.encoders import create_encoder
from t2ibench.models.generators import create_generator
from t2ibench.models.protocols import ImageRequest
from t2ibench.pipeline.encoding import encode
from t2ibench.pipeline.plan import Plan, make_plan
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.pipeline.scoring import EncoderEvidence, Stores, open_stores, score_plan
from t2ibench.pipeline.work import generate_batch
from t2ibench.results.build import adjusted_run
from t2ibench.results.paired import FILE as INFLUENCES
from t2ibench.results.paired import PairedTask, read_paired
from t2ibench.results.schema import Results, TaskResult, TaskSettings, read_results
from t2ibench.settings import Settings
from t2ibench.store.evidence import text_key
from t2ibench.store.images import Attempt, image_key, image_seed
from t2ibench.store.jsonl import read_rows_strictly
from t2ibench.store.pixels import UnreadableImageError, read_image
from t2ibench.tasks.index import build_index
from t2ibench.tasks.loader import LoadedTask
from t2ibench.version import __version__

Level = Literal["reproduced", "recomputed", "self-reported", "refused"]
_SHOWN = 5
_ALIKE = 0.999  # cosine of an image that was generated again
# What reading a file that somebody else made can raise.
_UNREADABLE = (
    *(OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError),
    *(ArithmeticError, RecursionError),
)
_KEPT = {"ok", "refused", "filtered"}


@dataclass(slots=True)
class Verdict:
    """The outcome of verifying a submission.

    Attributes:
        level: 'reproduced' (images generated again are the same), 'recomputed' (every score
            follows from the evidence), 'self-reported' (without evidence) or 'refused'.
        problems: Why it was refused, one line each.
        notes: What to know.
        tasks: Tasks that were looked at.
    """

    level: Level
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tasks: int = 0


def verify(folder: Path, draw: int = 0) -> Verdict:
    """Check one submission.

    Args:
        folder: Its folder.
        draw: Number of its images to generate again with the model it names.

    Returns:
        What was checked, and every problem.
    """
    verdict = Verdict("recomputed")
    try:
        manifest = read_manifest(folder)
        verdict.problems += _file_problems(folder, manifest)
        if not verdict.problems:
            _verify(folder, manifest, draw, verdict)
    except T2IBenchError as error:
        verdict.problems.append(str(error))
    except _UNREADABLE as error:
        verdict.problems.append(f"{folder} cannot be read ({type(error).__name__}: {error})")
    if verdict.problems:
        verdict.level = "refused"
    return verdict


def _file_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    """Files that should not be there, are not there, or have changed."""
    files: dict[str, Path] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            yield f"{name} is a link; only plain files are accepted"
        elif path.is_file() and name != "submission.json":
            files[name] = path
            size += path.stat().st_size
    if size > LARGEST:
        yield f"it has {size / 1e6:.0f} MB; {LARGEST / 1e6:.0f} are accepted"
        return
    for name in sorted(files.keys() | manifest.files.keys()):
        if not FILES.fullmatch(name) or ".." in name:
            yield f"'{name}' is not a file that a submission may contain"
        elif name not in manifest.files:
            yield f"{name} is not listed in submission.json"
        elif name not in files:
            yield f"{name} is listed in submission.json but missing"
        elif hashlib.sha256(files[name].read_bytes()).hexdigest() != manifest.files[name]:
            yield f"{name} has changed: its SHA-256 is not the one in submission.json"
    for name in ("results.json", "attempts.jsonl", INFLUENCES):
        if name not in files:
            yield f"{name} is missing"


def _verify(folder: Path, manifest: Manifest, draw: int, verdict: Verdict) -> None:
    results = read_results(folder)
    verdict.tasks = len(results.tasks)
    verdict.problems += _provenance_problems(manifest, results)
    tasks = _tasks(results, verdict.problems)
    if verdict.problems:
        return
    if manifest.t2ibench != __version__:
        verdict.notes.append(f"packed by t2ibench {manifest.t2ibench}, checked by {__version__}")
    if not (folder / "evidence").is_dir():
        verdict.level = "self-reported"
        verdict.notes.append("no evidence is included, so nothing could be recomputed")
        return
    attempts = list(_attempts(folder, manifest))
    images = PackedImages(attempts)
    stores = open_stores(
        folder / "evidence", manifest.encoder_records(), manifest.judges, manifest.controls
    )
    computed: dict[str, TaskResult] = {}
    paired: dict[str, PairedTask] = {}
    needed: set[tuple[str, int]] = set()
    for settings, group in _groups(results, tasks):
        plan = make_plan(group, settings)
        needed |= {(request.prompt, request.index) for request in plan.requests}
        verdict.problems += _evidence_problems(plan, images, stores)
        if not verdict.problems:
            scored = score_plan(plan, images, stores, SilentReporter())
            computed |= scored.results
            paired |= scored.paired
    extra = [attempt for attempt in attempts if (attempt.prompt, attempt.index) not in needed]
    if extra:
        verdict.problems.append(
            f"{len(extra)} images belong to no task, such as '{extra[0].prompt}'"
        )
    verdict.problems += _thumbnail_problems(folder, attempts)
    if not verdict.problems:
        computed = adjusted_run({name: computed[name] for name in results.tasks})
        verdict.problems += differences(results, computed)
        claimed = read_paired(folder / INFLUENCES)
        verdict.problems += influence_differences(claimed, of_headlines(paired))
    if draw and not verdict.problems:
        _draw_again(manifest, results, attempts, stores, draw, verdict)


def _provenance_problems(manifest: Manifest, results: Results) -> Iterator[str]:
    if not results.tasks:
        yield "it has no task"
    if results.limited or any(task.settings.limit is not None for task in results.tasks.values()):
        yield "it was made with --limit; such runs are not accepted"
    if results.model.fingerprint != manifest.fingerprint or results.model.name != manifest.name:
        yield "results.json and submission.json name different models"
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


def _tasks(results: Results, problems: list[str]) -> dict[str, LoadedTask]:
    """The shipped tasks of the results, with the very content that was scored."""
    registry, _ = build_index()
    tasks = {}
    for name, task in results.tasks.items():
        shipped = registry.tasks.get(name)
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


def _groups(
    results: Results, tasks: dict[str, LoadedTask]
) -> list[tuple[Settings, list[LoadedTask]]]:
    """Tasks that were measured with the same settings."""
    groups: dict[Settings, list[LoadedTask]] = {}
    for name, task in results.tasks.items():
        groups.setdefault(_settings(task.settings), []).append(tasks[name])
    return list(groups.items())


def _settings(recorded: TaskSettings) -> Settings:
    defaults, settings = Settings(), Settings.of(recorded)
    if (
        settings.n_permutations < defaults.n_permutations
        or settings.n_bootstrap < defaults.n_bootstrap
    ):
        raise T2IBenchError(
            f"it was scored with {settings.n_permutations} permutations and "
            f"{settings.n_bootstrap} bootstrap draws; the leaderboard takes the defaults or more"
        )
    if settings.level != defaults.level:
        raise T2IBenchError(f"its intervals are at {settings.level}, not at {defaults.level}")
    return settings


def _attempts(folder: Path, manifest: Manifest) -> Iterator[Attempt]:
    """The rows of attempts.jsonl, each image once, with the seed that it must have."""
    seen: set[tuple[str, int]] = set()
    example = '{"prompt": "…", "index": 0, "status": "ok"}'
    for line, row in read_rows_strictly(folder / "attempts.jsonl", example):
        prompt, index, status = row["prompt"], row["index"], row["status"]
        where = f"attempts.jsonl:{line}"
        if not isinstance(prompt, str) or not isinstance(index, int) or status not in _KEPT:
            raise T2IBenchError(
                f"{where}: 'status' must be ok, refused or filtered, with a prompt and an index"
            )
        if (prompt, index) in seen:
            raise T2IBenchError(f"{where}: image {index} of '{prompt}' is listed twice")
        seen.add((prompt, index))
        sha = row.get("sha256")
        if (status == "ok") != (isinstance(sha, str) and len(sha) == 64):
            raise T2IBenchError(
                f"{where}: 'sha256' must be given for images with status ok, and only for them"
            )
        key = image_key(manifest.fingerprint, prompt, index)
        yield Attempt(
            key, prompt, index, int(row["seed"]), status, sha256=sha, reason=row.get("reason")
        )


def _evidence_problems(plan: Plan, images: PackedImages, stores: Stores) -> Iterator[str]:
    """Evidence that a task needs and the submission lacks, or that cannot be."""
    lacking: dict[str, int] = {}
    for request in plan.requests:
        attempt = images.get(request.prompt, request.index)
        if attempt is None:
            lacking[request.prompt] = lacking.get(request.prompt, 0) + 1
            continue
        if attempt.seed != image_seed(plan.settings.seed, request.prompt, request.index):
            yield f"image {request.index} of '{request.prompt}' does not have the required seed"
            return
        if attempt.sha256:
            yield from _image_problems(plan, attempt, stores)
    for prompt, count in list(lacking.items())[:_SHOWN]:
        yield f"{count} images of '{prompt}' are missing"
    for name, encoder in stores.encoders.items():
        absent = encoder.store.missing("texts", [text_key(text) for text in plan.texts])
        if absent:
            yield f"{len(absent)} texts have no embedding by {name}"
    for name, control in stores.controls.items():
        absent = control.store.missing("texts", [text_key(text) for text in plan.controlled_texts])
        if absent:
            yield f"{len(absent)} texts have no embedding by the control of {name}"


def _image_problems(plan: Plan, attempt: Attempt, stores: Stores) -> Iterator[str]:
    where = f"image {attempt.index} of '{attempt.prompt}'"
    sha = attempt.sha256 or ""
    readers: dict[str, EncoderEvidence] = {}
    if attempt.index < plan.embedded.get(attempt.prompt, 0):
        readers |= {name: one for name, one in stores.encoders.items() if one.embeds_images}
    if attempt.index < plan.controlled.get(attempt.prompt, 0):
        readers |= {f"the control of {name}": one for name, one in stores.controls.items()}
    for name, encoder in readers.items():
        if not encoder.store.has("images", sha):
            yield f"{where} has no embedding by {name}"
            continue
        row = encoder.store.get("images", sha).astype(np.float64)
        if not np.isfinite(row).all() or abs(float(row @ row) - 1.0) > 0.02:
            yield f"the embedding of {where} by {name} is not of unit length"
    for (question, classes), count in plan.questions.get(attempt.prompt, {}).items():
        if attempt.index >= count:
            continue
        for name, judge in stores.judges.items():
            answer = judge.store.get(sha, question, classes)
            if answer is None:
                yield f"{name} has no answer to '{question}' about {where}"


def _thumbnail_problems(folder: Path, attempts: Sequence[Attempt]) -> Iterator[str]:
    """Thumbnails that do not show images of the submission."""
    keys = {attempt.key for attempt in attempts if attempt.status == "ok"}
    for path in sorted((folder / "thumbs").glob("*.jpg")):
        if path.stem not in keys:
            yield f"thumbs/{path.name} does not belong to any image of the submission"
            continue
        try:
            small = max(read_image(path, ("JPEG",)).size) <= THUMB
        except UnreadableImageError:
            small = False
        if not small:
            yield f"thumbs/{path.name} is not a JPEG of at most {THUMB} pixels"


def _draw_again(
    manifest: Manifest,
    results: Results,
    attempts: Sequence[Attempt],
    stores: Stores,
    count: int,
    verdict: Verdict,
) -> None:
    """Generate some images again with the model that the submission names, and embed them."""
    name, evidence = next(
        (
            (name, encoder_store)
            for name, encoder_store in stores.encoders.items()
            if encoder_store.embeds_images
        ),
        (None, None),
    )
    if name is None or evidence is None:
        verdict.notes.append("nothing is embedded, so no image could be compared")
        return
    # Only what the model is made with is taken from the submission; its fingerprint decides.
    seeds = {task.settings.seed for task in results.tasks.values()}
    dtype = results.model.settings.get("dtype")
    generator = create_generator(
        manifest.model,
        manifest.model_args,
        seed=min(seeds),
        dtype=dtype if isinstance(dtype, str) else None,
        recorded=True,
    )
    encoder = create_encoder(name, recorded=True)
    if generator.fingerprint != manifest.fingerprint or encoder.fingerprint != evidence.fingerprint:
        verdict.problems.append(
            f"{manifest.model} or {name} differs from what the submission used (other weights or "
            "settings)"
        )
        return
    embedded = [
        attempt
        for attempt in attempts
        if attempt.sha256 and evidence.store.has("images", attempt.sha256)
    ]
    # Which images cannot be known before the submission is made.
    seed = int.from_bytes(
        hashlib.sha256("".join(manifest.files.values()).encode()).digest()[:8], "big"
    )
    picks = np.random.default_rng(seed).choice(len(embedded), min(count, len(embedded)), False)
    chosen = [embedded[int(index)] for index in picks]
    requests = [ImageRequest(attempt.prompt, attempt.index, attempt.seed) for attempt in chosen]
    for attempt, image in zip(chosen, generate_batch(generator, requests), strict=True):
        where = f"image {attempt.index} of '{attempt.prompt}'"
        if image.image is None:
            verdict.problems.append(f"{where} could not be generated again: {image.reason}")
            continue
        (row,) = encode(encoder, [encoder.prepare(image.image.convert("RGB"))])
        claimed = evidence.store.get("images", attempt.sha256 or "").astype(np.float64)
        if float(row.astype(np.float64) @ claimed) < _ALIKE:
            verdict.problems.append(f"{where} looks different when it is generated again")
    if not verdict.problems:
        verdict.level = "reproduced"
        verdict.notes.append(f"{len(chosen)} images were generated again and are the same")
