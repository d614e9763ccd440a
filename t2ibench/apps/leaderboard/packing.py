"""Packing a run: embeddings in half precision, answers, and scores computed from both."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from t2ibench.apps.leaderboard.bounds import LARGEST, sha256_of
from t2ibench.apps.leaderboard.evidence import NAME as EVIDENCE
from t2ibench.apps.leaderboard.submission import Card, Manifest, without_path
from t2ibench.apps.leaderboard.thumbs import QUALITY, SHOWN_IMAGES, SIZE
from t2ibench.errors import T2IBenchError
from t2ibench.models.generators import can_regenerate
from t2ibench.pipeline.captions import keep
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.pipeline.scoring import open_stores, score_plan
from t2ibench.results.files import assemble, generator_info, stored_results
from t2ibench.results.rates import repeated_prompts
from t2ibench.results.record import GeneratorRecord, RunRecord
from t2ibench.results.run import RunFolder, open_run
from t2ibench.results.schema import Results
from t2ibench.settings import Measurement, RunSettings
from t2ibench.store.answers import AnswerStore, StoredAnswer, by_people, question_id
from t2ibench.store.database import Database
from t2ibench.store.distinct import DistinctImages
from t2ibench.store.evidence import EvidenceStore, Kind, slug, text_key
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.images import LOOKS, Attempt, ImageStore
from t2ibench.store.pixels import UnreadableImageError, thumbnail
from t2ibench.store.schema import content_id
from t2ibench.version import __version__

_PART = 256  # embeddings stored together
_EXIST = (
    "The leaderboard compares models; run one by its name. Images that exist are taken where "
    "people alone answered: --judge answers:FILE,by=WHO."
)
_LONGEST_TEMPLATE = 10_000  # characters of an instruction that a command may hold


def pack(
    run: Path,
    to: Path,
    reporter: Reporter,
    name: str | None = None,
    thumbnails: int = 0,
    card: Card | None = None,
) -> Path:
    """Pack a run.

    The embeddings are stored in half precision, and the scores are computed from the stored ones,
    so that recomputing them gives the same numbers.
    """
    folder = open_run(run)
    generator = _checked(folder, name)
    results, _ = stored_results(folder)
    if results and (others := sorted(results.earlier)):
        reporter.warn(
            f"{len(others)} tasks of earlier commands are not packed, such as {others[0]}: only "
            "those of the latest command are. Run all of them in one command first."
        )
    record = folder.record
    plan = stored_plan(folder)
    images = ImageStore(folder.database, generator.fingerprint)
    made = list(_attempts(plan, images))
    shown = _thumbnails(made, images, thumbnails)
    # In the order of their keys, which keeps the file small and the same.
    made.sort(key=lambda one: (content_id(one.prompt), one.index))
    attempts = [replace(attempt, file=None, tries=0) for attempt in made]
    target = to / f"{slug(name or generator.name)}-{generator.fingerprint[:8]}"
    shutil.rmtree(target, ignore_errors=True)
    with closing(Database(target, EVIDENCE)) as packed:
        with packed.writing():
            ImageStore(packed, generator.fingerprint).record(attempts)
            _pack_evidence(folder, plan, images, attempts, packed)
        stores = open_stores(packed, record.encoders, record.judges, record.controls)
        scored = score_plan(plan, ImageStore(packed, generator.fingerprint), stores, reporter)
    info = generator_info(generator)
    info = info.model_copy(update={"name": name or info.name})
    settings = record.repeatable()
    assert settings is not None  # _check refuses runs of Python objects
    results = assemble(
        info, {name: one.result for name, one in scored.items()}, _without_paths(settings, record)
    )
    write_text(target / "results.json", results.to_json())
    keep(plan.tasks, target)
    for key, data in shown.items():
        write_bytes(target / "thumbs" / f"{key}.jpg", data)
    _write_manifest(folder, generator, results, target, card or Card())
    return target


def _thumbnails(attempts: Sequence[Attempt], images: ImageStore, count: int) -> dict[str, bytes]:
    """Key of an image to a small JPEG."""
    shown: dict[str, bytes] = {}
    # The prompts whose images are shown are the same ones for every model.
    prompts = {attempt.prompt for attempt in attempts}
    chosen = sorted(prompts, key=lambda text: hashlib.sha256(text.encode()).digest())[:count]
    for attempt in attempts:
        if attempt.prompt in chosen and attempt.index < SHOWN_IMAGES and attempt.status == "ok":
            try:
                shown[attempt.key] = thumbnail(images.image(attempt).data(), SIZE, QUALITY)
            except UnreadableImageError as error:
                raise T2IBenchError(
                    f"{images.path(attempt)} cannot be shown: {error}.",
                    "Leave thumbnails out, or generate the files again that are gone: the run's "
                    "own command with --generate-only does.",
                ) from None
    return shown


def _checked(folder: RunFolder, name: str | None) -> GeneratorRecord:
    """The model of a run that the leaderboard takes."""
    record, generator, run = folder.record, folder.record.generator, folder.path
    if generator is None:
        raise T2IBenchError(f"'{run}' is a run on texts alone.", "Submit a run of a model.")
    seed, default = record.measurement.seed, Measurement().seed
    answered = by_people(record.judges, record.encoders)
    exist = not can_regenerate(generator.model)
    kind = generator.model.partition(":")[0]
    for refused, why, hint in (
        (record.repeatable() is None, "measured a Python object, which others cannot load",
         "Give the model as package.module:factory and run it again."),
        (exist and not answered, f"holds images of unknown origin ({kind}:)", _EXIST),
        (exist and name is None, "holds images that exist, and nothing says which model made them",
         "Say it: --name 'MODEL, answered by people'."),
        (record.measurement.limit is not None,
         "was made with --limit; such runs are not accepted", "Run it without --limit."),
        (seed != default, f"was made with --seed {seed}; the leaderboard takes the default, "
         f"{default}, so that nobody chooses among seeds", "Run it without --seed."),
        (not record.encoders and not record.judges, "holds no evidence yet",
         "Run it without --generate-only."),
    ):  # fmt: skip
        if refused:
            raise T2IBenchError(f"'{run}' {why}.", hint)
    return generator


def _attempts(plan: Plan, images: ImageStore) -> Iterator[Attempt]:
    absent = []
    for request in plan.requests:
        attempt = images.get(request.prompt, request.index)
        if attempt is None or attempt.status == "failed":
            absent.append(request.prompt)
        else:
            yield attempt
    if absent:
        raise T2IBenchError(
            f"{len(absent)} images are missing, for example of '{absent[0]}'.",
            "Run the command again to complete the run.",
        )


def _write_manifest(
    folder: RunFolder, generator: GeneratorRecord, results: Results, target: Path, card: Card
) -> None:
    paths = sorted(path for path in target.rglob("*") if path.is_file())
    files = {
        path.relative_to(target).as_posix(): sha256_of(path)
        for path in paths
        if path.name != "submission.json"
    }
    manifest = Manifest(
        t2ibench=__version__,
        name=str(results.model.name),
        model=without_path(generator.model),
        model_args=generator.model_args,
        fingerprint=generator.fingerprint,
        revision=generator.revision,
        encoders={name: encoder.fingerprint for name, encoder in folder.record.encoders.items()},
        controls=folder.record.controls,
        judges=folder.record.judges,
        files=files,
        card=card,
    )
    size = sum(path.stat().st_size for path in paths)
    if size > LARGEST:
        raise T2IBenchError(
            f"The submission has {size / 1e6:.0f} MB; {LARGEST / 1e6:.0f} are accepted.",
            "Use the tasks' default numbers of images.",
        )
    write_text(target / "submission.json", manifest.model_dump_json(indent=1) + "\n")


def _without_paths(settings: RunSettings, record: RunRecord) -> RunSettings:
    """Settings of a command without paths on this machine, which are not part of a submission."""
    names = {one.name: one.drawn.source for one in record.pools.values() if one.drawn is not None}
    info = record.generator.rewriter if record.generator else None
    asked = str((info.settings if info else {}).get("template", ""))
    args = dict(settings.rewriter_args)
    if 0 < len(asked) <= _LONGEST_TEMPLATE and args.get("template", "").startswith("@"):
        args["template"] = asked
    return settings.model_copy(
        update={
            "output_dir": "runs",
            "name": None,
            "include_path": (),
            "model": without_path(settings.model or ""),
            "judge": tuple(map(without_path, settings.judge)),
            "judge_check": tuple(Path(one).name for one in settings.judge_check),
            "captions": {key: names.get(key, text) for key, text in settings.captions.items()},
            "rewriter": settings.rewriter and without_path(settings.rewriter),
            "rewriter_args": {
                key: f"@{Path(text[1:]).name}" if text.startswith("@") else text
                for key, text in args.items()
            },
        }
    )


def _pack_evidence(
    folder: RunFolder,
    plan: Plan,
    images: ImageStore,
    attempts: Sequence[Attempt],
    target: Database,
) -> None:
    """Pack what encoders, their controls and judges observed."""
    hashes = {(one.prompt, one.index): one.sha256 for one in attempts if one.sha256}

    def pack(of: tuple[str, str], texts: Sequence[str], counts: Mapping[str, int]) -> None:
        keys = {sha for (text, index), sha in hashes.items() if index < counts.get(text, 0)}
        store, packed = EvidenceStore(folder.database, *of), EvidenceStore(target, *of)
        _pack_embeddings(store, packed, "texts", set(map(text_key, texts)))
        _pack_embeddings(store, packed, "images", keys)

    for name, encoder in folder.record.encoders.items():
        texts = plan.texts_for(encoder.embeds_images)
        pack((name, encoder.fingerprint), texts, plan.embedded if encoder.embeds_images else {})
    for control in folder.record.controls.values():
        pack((control.name, control.fingerprint), plan.controlled_texts, plan.controlled)
    # What images look like decides where some repeat others.
    repeated = {one.prompt for one in repeated_prompts(plan.prompts, DistinctImages(images).get)}
    keys = {sha for (prompt, _), sha in hashes.items() if prompt in repeated}
    seen = {key for key in keys if images.looks.has("images", key)}
    _pack_embeddings(images.looks, EvidenceStore(target, *LOOKS), "images", seen)
    for of in folder.record.judges.items():
        found = _answers(AnswerStore(folder.database, *of), plan, hashes)
        by_key = sorted(found, key=lambda a: (question_id(a.question, a.classes), a.image))
        AnswerStore(target, *of).add(by_key)


def _pack_embeddings(store: EvidenceStore, target: EvidenceStore, kind: Kind, of: set[str]) -> None:
    keys = sorted(of)
    lacking = store.missing(kind, keys)
    if lacking:
        raise T2IBenchError(
            f"{len(lacking)} {kind} have no {store.damage.one}.",
            "Run the command again to complete the run.",
        )
    for start in range(0, len(keys), _PART):
        part = keys[start : start + _PART]
        target.add(kind, part, store.rows(kind, part).astype(np.float32), dtype="float16")


def _answers(
    answers: AnswerStore, plan: Plan, hashes: Mapping[tuple[str, int], str]
) -> Iterator[StoredAnswer]:
    """The answers that scores are computed from; not word for word."""
    for prompt, questions in plan.questions.items():
        for (question, classes), count in questions.items():
            for index in range(count):
                sha = hashes.get((prompt, index))
                answer = answers.get(sha, question, classes) if sha else None
                if sha and answer is None:
                    raise T2IBenchError(
                        f"{answers.name} has not answered '{question}' about every image.",
                        "Run the command again to complete the run.",
                    )
                if answer:
                    yield replace(answer, raw="")
