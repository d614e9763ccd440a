"""Packing of a run as a submission: half-precision embeddings, answers, and scores from these."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from t2ibench.apps.leaderboard.bounds import sha256_of
from t2ibench.apps.leaderboard.chosen import PLAN
from t2ibench.apps.leaderboard.evidence import NAME as EVIDENCE
from t2ibench.apps.leaderboard.names import normalise
from t2ibench.apps.leaderboard.pictures import pack_pictures
from t2ibench.apps.leaderboard.submission import Card, Manifest, without_path
from t2ibench.errors import T2IBenchError
from t2ibench.identity import ImageKey
from t2ibench.models.generators import can_regenerate
from t2ibench.pipeline.plan import Plan, first_images, is_counted, make_plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.pipeline.scoring import score_plan
from t2ibench.pipeline.stores import open_stores
from t2ibench.results.record import GeneratorRecord, RunRecord
from t2ibench.results.repeated_prompts import repeated_prompts
from t2ibench.results.run import RunFolder, open_run
from t2ibench.results.schema import LibraryWarning
from t2ibench.results.writing import assemble, generator_info, stored_results
from t2ibench.settings import RunSettings
from t2ibench.store.answers import AnswerStore, StoredAnswer, question_id
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, Kind, slug, text_key
from t2ibench.store.files import write_text
from t2ibench.store.images import PERCEPTUAL_HASH, Attempt, ImageStore, stored_order
from t2ibench.version import __version__

_PART = 256  # embeddings stored together
_FOLDERS = re.compile(
    r"(?<![\w.:/])(?:[A-Za-z]:|~|\.{1,2})?[/\\](?:[^/\\\s'\"]+[/\\])*"
)
_LONGEST_TEMPLATE = 10_000  # characters of an instruction that a command may hold


def pack(
    run: Path,
    to: Path,
    reporter: Reporter,
    name: str | None = None,
    card: Card | None = None,
    registered_plan: Path | None = None,
) -> Path:
    """Pack a run as a submission, and return the path of its folder.

    Args:
        run: Folder of the run.
        to: Folder of the submissions.
        reporter: Shows progress.
        name: What the leaderboard calls the model; None for its name in the run.
        card: What the submitter says of the model. Pictures are packed where it has their licence.
        registered_plan: The plan by which the run was made; None for none.

    The embeddings are stored in half precision, and the scores are computed from the stored ones,
    so that recomputing them gives the same numbers.
    """
    folder = open_run(run)
    record = folder.record
    name = name or record.settings.name
    generator = _checked(folder, name)
    name = normalise(name or generator.name)
    results, _ = stored_results(folder)
    if results and (others := sorted(results.earlier)):
        reporter.warn(
            f"{len(others)} tasks of earlier commands are not packed, such as {others[0]}: only "
            "those of the latest command are. Run all of them in one command first."
        )
    plan = _shared_plan(stored_plan(folder), run, reporter)
    images = ImageStore(folder.database, generator.fingerprint)
    attempts = list(_attempts(plan, images))
    # Keeps the file small and the same.
    attempts.sort(key=stored_order)
    target = to / f"{slug(name)}-{generator.fingerprint[:8]}"
    shutil.rmtree(target, ignore_errors=True)
    with closing(Database(target, EVIDENCE)) as packed:
        with packed.writing():
            ImageStore(packed, generator.fingerprint).record(attempts)
            _pack_evidence(folder, plan, images, attempts, packed)
        stores = open_stores(packed, record.encoders, record.judges, record.controls)
        stores = replace(stores, readings=generator.unread_prompts)
        scored = score_plan(
            plan, ImageStore(packed, generator.fingerprint), stores, reporter
        )
    info = generator_info(generator).model_copy(update={"name": name})
    settings = record.repeatable()
    assert settings is not None  # _checked refuses runs of Python objects
    published = _without_paths(settings, record)
    results = assemble(
        info,
        {name: scored_task.result for name, scored_task in scored.items()},
        published,
        record=record,
    )
    assert results.further_settings is not None  # they are those of the record
    results.further_settings.sources = published.sources
    results.library_warnings = [
        _warning_without_paths(warning) for warning in results.library_warnings
    ]
    write_text(target / "results.json", results.to_json())
    encoders = {name: encoder.fingerprint for name, encoder in record.encoders.items()}
    names = [EVIDENCE, "results.json"]
    if registered_plan is not None:
        shutil.copyfile(registered_plan, target / PLAN)
        names.append(PLAN)
    if card is not None and card.pictures is not None:
        names += pack_pictures(plan, images, generator.fingerprint, target)
    files = {name: sha256_of(target / name) for name in names}
    manifest = Manifest(
        t2ibench=__version__,
        name=name,
        model=without_path(generator.model),
        model_args=generator.model_args,
        fingerprint=generator.fingerprint,
        revision=generator.revision,
        encoders=encoders,
        controls=record.controls,
        judges=record.judges,
        files=files,
        card=card or Card(),
    )
    write_text(target / "submission.json", manifest.model_dump_json(indent=1) + "\n")
    return target


def _shared_plan(plan: Plan, run: Path, reporter: Reporter) -> Plan:
    """Return the plan of the tasks that other models can be compared on; raise without any."""
    # Two models may have been given other captions for a task that ships none.
    shared = [task for task in plan.tasks if task.spec.drawn_from is None]
    if not shared:
        raise T2IBenchError(f"'{run}' has tasks with captions of your own alone.")
    if len(shared) < len(plan.tasks):
        reporter.warn(
            "Tasks with captions of your own are not packed: no other model has them."
        )
        plan = make_plan(shared, plan.settings)
    if not plan.has_edits:
        return plan
    others = [task for task in shared if not plan.needs[task.id].edits]
    if not others:
        raise T2IBenchError(
            f"'{run}' has tasks with edits of images alone, which cannot be submitted: a "
            "submission does not contain the source images, so nobody could check them.",
            "Submit a run of other tasks.",
        )
    reporter.warn(
        "Tasks with edits are not packed: a submission does not contain the source images, so "
        "nobody could check them."
    )
    return make_plan(others, plan.settings)


def _checked(folder: RunFolder, name: str | None) -> GeneratorRecord:
    """Return the record of a run's model; raise an error if the run cannot be submitted."""
    record = folder.record
    generator = folder.record.generator
    run = folder.path
    if generator is None:
        raise T2IBenchError(
            f"'{run}' is a run on texts alone.", "Submit a run of a model."
        )
    if record.repeatable() is None:
        raise T2IBenchError(
            f"'{run}' measured a Python object, which others cannot load.",
            "Give the model as package.module:factory and run it again.",
        )
    if not record.encoders and not record.judges:
        raise T2IBenchError(
            f"'{run}' holds no evidence yet.", "Run it without --generate-only."
        )
    if name is None and not can_regenerate(generator.model):
        raise T2IBenchError(
            f"'{run}' holds images that exist, and nothing says which model made them.",
            "Say it: --name 'MODEL, answered by people'.",
        )
    return generator


def _incomplete(problem: str) -> T2IBenchError:
    return T2IBenchError(problem, "Run the command again to complete the run.")


def _attempts(plan: Plan, images: ImageStore) -> Iterator[Attempt]:
    for request in plan.requests:
        attempt = images.get(request.key)
        if attempt is None or attempt.status == "failed":
            raise _incomplete(f"Images are missing, for example of '{request.prompt}'.")
        yield replace(attempt, file=None, tries=0)


def _warning_without_paths(warning: LibraryWarning) -> LibraryWarning:
    """Return a library's warning with the folders removed from all paths in it."""
    return warning.model_copy(
        update={
            "about": _FOLDERS.sub("", warning.about),
            "text": _FOLDERS.sub("", warning.text),
        }
    )


def _without_paths(settings: RunSettings, record: RunRecord) -> RunSettings:
    """Return the settings of a run's command without local paths, which are not published."""
    info = record.generator.rewriter if record.generator else None
    asked = str((info.settings if info else {}).get("template", ""))
    args = dict(settings.rewriter_args)
    if 0 < len(asked) <= _LONGEST_TEMPLATE and args.get("template", "").startswith("@"):
        args["template"] = asked
    rewriter_args = {
        key: f"@{Path(text[1:]).name}" if text.startswith("@") else text
        for key, text in args.items()
    }
    judge_checks = tuple(Path(path).name for path in settings.judge_check)
    return settings.model_copy(
        update={
            "output_dir": "runs",
            "name": None,
            "include_path": (),
            "model": without_path(settings.model or ""),
            "judge": tuple(map(without_path, settings.judge)),
            "judge_check": judge_checks,
            "sources": settings.sources and without_path(settings.sources),
            "captions": {},
            "rewriter": settings.rewriter and without_path(settings.rewriter),
            "rewriter_args": rewriter_args,
        }
    )


def _pack_evidence(
    folder: RunFolder,
    plan: Plan,
    images: ImageStore,
    attempts: Sequence[Attempt],
    target: Database,
) -> None:
    """Copy embeddings, image hashes and judges' answers that scores need into the submission."""
    hashes = {attempt.key: attempt.sha256 for attempt in attempts if attempt.sha256}

    def pack(
        model: tuple[str, str], texts: Sequence[str], counts: Mapping[str, int]
    ) -> None:
        keys = {sha256 for image, sha256 in hashes.items() if is_counted(image, counts)}
        store = EvidenceStore(folder.database, *model)
        packed = EvidenceStore(target, *model)
        _pack_embeddings(store, packed, "texts", set(map(text_key, texts)))
        _pack_embeddings(store, packed, "images", keys)

    for name, encoder in folder.record.encoders.items():
        texts = plan.texts_for(encoder.embeds_images)
        pack(
            (name, encoder.fingerprint),
            texts,
            plan.embedded if encoder.embeds_images else {},
        )
    for control in folder.record.controls.values():
        pack(
            (control.name, control.fingerprint), plan.controlled_texts, plan.controlled
        )
    # What images look like decides where some repeat others.
    repeated = {
        repeated_prompt.prompt
        for repeated_prompt in repeated_prompts(
            plan.prompts, DistinctImages(images).first
        )
    }
    keys = {
        attempt.sha256
        for attempt in attempts
        if attempt.sha256 and attempt.prompt in repeated
    }
    seen = {key for key in keys if images.perceptual_hashes.has("images", key)}
    _pack_embeddings(
        images.perceptual_hashes,
        EvidenceStore(target, *PERCEPTUAL_HASH),
        "images",
        seen,
    )
    for judge in folder.record.judges.items():
        answers = _answers(AnswerStore(folder.database, *judge), plan, hashes)
        by_key = sorted(
            answers,
            key=lambda answer: (
                question_id(answer.question, answer.classes),
                answer.image,
            ),
        )
        AnswerStore(target, *judge).add(by_key)


def _pack_embeddings(
    store: EvidenceStore, target: EvidenceStore, kind: Kind, wanted: set[str]
) -> None:
    keys = sorted(wanted)
    if missing := store.missing(kind, keys):
        raise _incomplete(f"{len(missing)} {kind} have no embedding by {store.name}.")
    for start in range(0, len(keys), _PART):
        part = keys[start : start + _PART]
        target.add(
            kind, part, store.rows(kind, part).astype(np.float32), dtype="float16"
        )


def _answers(
    answers: AnswerStore, plan: Plan, hashes: Mapping[ImageKey, str]
) -> Iterator[StoredAnswer]:
    """Yield a judge's answers that scores are computed from, without its exact words."""
    for prompt, questions in plan.questions.items():
        for (question, classes), count in questions.items():
            for image in first_images(prompt, count):
                sha256 = hashes.get(image)
                answer = answers.get(sha256, question, classes) if sha256 else None
                if sha256 and answer is None:
                    raise _incomplete(
                        f"{answers.name} has not answered '{question}' everywhere."
                    )
                if answer:
                    yield replace(answer, raw="")
