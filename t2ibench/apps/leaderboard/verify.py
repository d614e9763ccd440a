"""Verification of a submission, whose every score is recomputed from its evidence."""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from t2ibench.apps.leaderboard import bounds, claims, names
from t2ibench.apps.leaderboard.chosen import plan_problems
from t2ibench.apps.leaderboard.evidence import NAME, content_problem, open_evidence
from t2ibench.apps.leaderboard.pictures import (
    read_pictures,
    regenerated_pictures,
    unlike_pictures,
)
from t2ibench.apps.leaderboard.ranks import QUESTION_SCORE
from t2ibench.apps.leaderboard.reembed import check_answers, check_embeddings
from t2ibench.apps.leaderboard.regenerate import (
    REFUSED,
    Claims,
    RegeneratedImage,
    Verdict,
    on_server,
    regenerate,
)
from t2ibench.apps.leaderboard.repeats import unlike_repeats
from t2ibench.apps.leaderboard.submission import FILES, Manifest, read_manifest
from t2ibench.errors import T2IBenchError, did_you_mean, first_line
from t2ibench.methods.core.describe import listed
from t2ibench.models.generators import GENERATORS, can_regenerate
from t2ibench.pipeline.plan import make_plan
from t2ibench.pipeline.progress import SilentReporter
from t2ibench.pipeline.scoring import score_plan
from t2ibench.pipeline.stores import open_stores
from t2ibench.results.builder import adjusted_run
from t2ibench.results.files import read_results
from t2ibench.results.paired import PairedTask
from t2ibench.results.schema import Results
from t2ibench.store.images import ImageStore
from t2ibench.tasks.index import build_index
from t2ibench.tasks.loader import LoadedTask
from t2ibench.version import __version__

MINUTES = 60.0  # that a submission may take
_MOST_LINES, _LONGEST_LINE = 20, 500  # of a verdict; characters
_MISSED = 0.05  # chance with which a forgery of the share that is named goes unnoticed


def verify(
    folder: Path,
    draw: int = 0,
    seed: int | None = None,
    minutes: float = MINUTES,
) -> Verdict:
    """Return the verdict on a submission; problems are recorded in it, never raised."""
    verdict = Verdict("recomputed")
    try:
        with bounds.deadline(60 * minutes):
            seed = secrets.randbits(32) if seed is None else seed
            _verify(folder, draw, seed, verdict)
    except _RefusedError as error:
        verdict.problems += error.args
    except T2IBenchError as error:
        verdict.problems.append(str(error))
    except bounds.TimeOver:
        verdict.problems.append(
            f"it takes more than {minutes:g} minutes to check (--minutes)"
        )
    except Exception as error:
        # No error in one submission stops the check of the others.
        reason = f"{type(error).__name__}: {first_line(error)}"
        verdict.problems.append(f"{folder} cannot be read ({reason})")
    if verdict.problems:
        verdict.level = REFUSED
    for name in ("problems", "notes", "not_regenerated", "differing"):
        setattr(verdict, name, _bounded(getattr(verdict, name)))
    return verdict


def _bounded(lines: list[str]) -> list[str]:
    """Return lines of a verdict without control characters, at most 20 and none too long."""
    shown = [
        names.visible(" ".join(line.splitlines()), _LONGEST_LINE)
        for line in lines[:_MOST_LINES]
    ]
    more = len(lines) - _MOST_LINES
    return [*shown, f"and {more} more"] if more > 0 else shown


class _RefusedError(Exception):
    """Raised with the reasons for rejecting a submission, one line each."""


def _require(*problem_lists: Iterable[str]) -> None:
    """Raise an error with all problems in the given lists; do nothing if they are empty."""
    problems = [line for lines in problem_lists for line in lines]
    if problems:
        raise _RefusedError(*problems)


def _verify(folder: Path, draw: int, seed: int, verdict: Verdict) -> None:
    files = bounds.plain_files(folder)
    manifest = read_manifest(folder)
    _require(_file_problems(files, manifest))
    try:
        bounds.read_json(files["results.json"])
    except (OSError, ValueError) as error:
        raise T2IBenchError(f"results.json is not a results file: {error}") from None
    results = read_results(folder)
    verdict.tasks = len(results.tasks)
    tasks: dict[str, LoadedTask] = {}
    of_names = names.problems(
        manifest.name, manifest.model, manifest.model_args, manifest.revision
    )
    _require(provenance_problems(manifest, results), of_names, _tasks(results, tasks))
    settings = bounds.checked_settings(
        [task.settings for task in results.tasks.values()], manifest.fingerprint
    )
    command = claims.settings_of(results.command).of_model(manifest.fingerprint)
    _require(
        claims.command_problems(command, manifest, results, settings),
        bounds.argument_problems("judge", command.judge_args),
        # A server is never called.
        ()
        if on_server(GENERATORS, command.model or "")
        else bounds.argument_problems("model", command.model_args),
        bounds.image_problems(list(tasks.values()), settings),
        plan_problems(folder, manifest, results),
    )
    if manifest.t2ibench != __version__:
        verdict.notes.append(
            f"packed by t2ibench {manifest.t2ibench}, checked by {__version__}"
        )
    if problem := content_problem(folder):
        raise T2IBenchError(problem)
    with closing(open_evidence(folder)) as database:
        plan = make_plan(list(tasks.values()), settings)
        if plan.has_edits:
            raise T2IBenchError(
                "it has tasks with edits of images, which cannot be submitted: "
                "run the others, and pack the run again"
            )
        images = ImageStore(database, manifest.fingerprint)
        attempts = tuple(images.all_attempts())
        revised = any(attempt.revised_prompt is not None for attempt in attempts)
        others = {
            "model": not can_regenerate(manifest.model),
            "rewritings": revised or results.model.rewriter is not None,
        }
        verdict.unconfirmed = [
            *claims.UNCONFIRMED,
            *(name for name, there in others.items() if there),
        ]
        stores = open_stores(
            database, manifest.encoder_records(), manifest.judges, manifest.controls
        )
        submission = Claims(manifest, results, command, plan, images, stores, attempts)
        _require(claims.seed_problems(plan, images))
        verdict.n_images = _statuses(submission)[True]
        verdict.pictures = read_pictures(folder, manifest, plan, images)
        _recompute(submission, verdict)
        _require(claims.excess_problems(plan, attempts, stores.judges))
        if draw:
            _regenerate(submission, draw, seed, verdict)


def _recompute(submission: Claims, verdict: Verdict) -> None:
    """Recompute all scores; raise an error if they differ from those of the submission."""
    plan = submission.plan
    images = submission.images
    stores = submission.stores
    scored = score_plan(plan, images, stores, SilentReporter())
    results = submission.results
    computed = adjusted_run({name: scored[name].result for name in results.tasks})
    _require(claims.differences(results, computed))
    verdict.results = results.model_copy(update={"tasks": computed})
    verdict.paired = {
        name: _for_board(scored_task.paired) for name, scored_task in scored.items()
    }


def _for_board(paired: PairedTask) -> PairedTask:
    """Return what the board needs of a task's influences: its headline, and that of each question.

    The board holds those of all submissions at once.
    """
    questions = {
        key: part for key, part in paired.rows.items() if key[1] == QUESTION_SCORE
    }
    return replace(paired, rows=questions, agreement={})


def _file_problems(files: Mapping[str, Path], manifest: Manifest) -> Iterator[str]:
    """Yield a message for each file of a submission that is unexpected, missing or changed."""
    for name in sorted(files.keys() | manifest.files.keys()):
        if not FILES.fullmatch(name) or ".." in name:
            yield f"'{name}' is not a file that a submission may contain"
        elif name not in manifest.files:
            yield f"{name} is not listed in submission.json"
        elif name not in files:
            yield f"{name} is listed in submission.json but missing"
        elif bounds.sha256_of(files[name]) != manifest.files[name]:
            yield f"{name} has changed: its SHA-256 is not the one in submission.json"
    for name in ("results.json", NAME):
        if name not in files:
            yield f"{name} is missing: every score is recomputed from both"


def provenance_problems(manifest: Manifest, results: Results) -> Iterator[str]:
    """Yield a message for each reason why a run cannot be submitted, from its records alone."""
    if not results.tasks:
        yield "it has no task"
    if results.limited or any(
        task.settings.limit is not None for task in results.tasks.values()
    ):
        yield "it was made with --limit; such runs are not accepted"
    yield from claims.manifest_problems(manifest, results)
    for name, task in results.tasks.items():
        for kind in ("encoder", "judge"):
            used, listed_parts = (
                getattr(record, f"{kind}s").items()
                for record in (task.settings, manifest)
            )
            for label, _ in sorted(used - listed_parts):
                yield f"{name} was scored by the {kind} '{label}', which submission.json lacks"
        if task.missing_prompts:
            yield (
                f"{name} was scored without {len(task.missing_prompts)} of its prompts, which have "
                "no image; such runs are not accepted"
            )
        elif task.excluded.get("failed") or task.excluded.get("missing"):
            yield f"{name} lacks images: complete the run"


def _tasks(results: Results, tasks: dict[str, LoadedTask]) -> Iterator[str]:
    """Put the shipped task of each result into `tasks`; yield a message for each without one."""
    registry, _ = build_index()
    if len(results.tasks) > len(registry.tasks):
        yield f"it has {len(results.tasks)} tasks; {len(registry.tasks)} are shipped"
        return
    for name, task in results.tasks.items():
        shipped = registry.tasks.get(name)
        if shipped is None:
            yield f"unknown shipped task '{name}'.{did_you_mean(name, registry.tasks)}"
        elif (shipped.spec.version, shipped.hash) != (task.version, task.task_hash):
            yield (
                f"{name} was scored with another version of the task ({task.version}; shipped is "
                f"{shipped.spec.version}): run it again"
            )
        else:
            tasks[name] = shipped


def _regenerate(submission: Claims, count: int, seed: int, verdict: Verdict) -> None:
    """Regenerate sampled images and answers, compare them, and note the outcome on `verdict`."""
    images: list[RegeneratedImage] = []
    try:
        images = regenerate(submission, count, seed, verdict)
        verdict.differ(list(unlike_repeats(images, submission.images)), "images")
        unlike = list(unlike_pictures(verdict.pictures, images))
        verdict.differ(unlike, "pictures")
        if not unlike:
            compared = regenerated_pictures(verdict.pictures, images)
            verdict.checked_pictures = [picture.sha256 for picture, _ in compared]
        for check in (check_embeddings, check_answers):
            if not verdict.problems:
                check(submission, images, verdict)
        _count_images(images, verdict)
        _count_totals(submission, verdict)
    except bounds.TimeOver:
        verdict.not_regenerated.append(
            "making it again took too long here; --minutes gives it more"
        )
    except (
        Exception
    ) as error:  # a model that fails on this machine is not the submission's fault
        reason = f"{type(error).__name__}: {first_line(error)}"
        verdict.not_regenerated.append(f"making it again failed here with {reason}")
    if not verdict.problems:
        _conclude(verdict, seed)


def _count_images(images: Sequence[RegeneratedImage], verdict: Verdict) -> None:
    """Count the regenerated images that were compared, and note how many could not be."""
    same_files = {image.attempt.file_key for image in images if image.same_file}
    verdict.compared |= same_files
    verdict.same_files = len(same_files)
    verdict.count("images", len(verdict.compared))
    uncompared = len(images) - len(verdict.compared | verdict.otherwise)
    if uncompared:
        verdict.not_regenerated.append(
            f"{uncompared} images were generated, and there was nothing "
            "here to compare them with"
        )
    if images and not same_files:
        verdict.notes.append(
            f"none of {len(images)} images has the bytes whose SHA-256 the submission names: "
            "another kind of machine made them, or the hashes are invented"
        )


def _statuses(submission: Claims) -> Counter[bool]:
    """Return how many distinct images a submission has, and how many attempts without one.

    Tasks share some of the images.
    """
    return Counter(attempt.status == "ok" for attempt in submission.attempts)


def _count_totals(submission: Claims, verdict: Verdict) -> None:
    """Note on a verdict how much evidence of each kind the submission holds."""
    statuses = _statuses(submission)
    judges = submission.stores.judges.values()
    verdict.totals = {
        "images": statuses[True],
        "refused": statuses[False],
        "answers": sum(1 for judge in judges for _ in judge),
    }


def _conclude(verdict: Verdict, seed: int) -> None:
    """Set the level of a submission without contradictions, and note what was regenerated."""
    if not verdict.not_asked:
        if not verdict.not_regenerated and not verdict.differing:
            verdict.level = "reproduced"
        elif verdict.parts.get("images"):
            verdict.level = "partly reproduced"
    verdict.unconfirmed = [
        statement
        for statement in verdict.unconfirmed
        if statement not in verdict.confirmed
    ]
    regenerated_parts = verdict.regenerated_parts()
    notes = (
        [f"{listed(regenerated_parts)} were made again and are the same"]
        if regenerated_parts
        else []
    )
    notes += _unnoticed(verdict)
    notes += [verdict.tilt_check] if verdict.tilt_check else []
    if verdict.not_asked:
        names = listed(verdict.not_asked)
        notes.append(
            f"not more than recomputed, because this was not asked again: {names}"
        )
    if "settings" in verdict.confirmed:
        verdict.seed = seed
        notes.append(
            f"what was made again was chosen at random; --seed {seed} chooses it again"
        )
    notes += verdict.differing
    notes += [f"not made again: {line}" for line in verdict.not_regenerated]
    verdict.notes = [*notes[:1], *verdict.notes, *notes[1:]]


def _unnoticed(verdict: Verdict) -> list[str]:
    """Return a line on the largest share of images that could be false and not be drawn.

    Images that are shown, or said to repeat others, are drawn besides and do not count: whoever
    forges the others knows which they are. Every group of prompts gives as many of the drawn
    images, however many it has. So the share is that of each group: a forgery of a large group
    alone has a smaller chance to be drawn.
    """
    drawn = len(verdict.compared & verdict.at_random)
    if not drawn or drawn >= verdict.totals.get("images", drawn):
        return []
    share = 1 - _MISSED ** (1 / drawn)
    return [
        f"a submission with {math.ceil(100 * share)} % of its images forged, or of what was read "
        "from them, spread evenly over its tests and their kinds of prompts, is noticed in "
        f"{1 - _MISSED:.0%} of such checks; a larger --draw notices smaller shares"
    ]
