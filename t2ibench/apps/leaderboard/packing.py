"""Packing a run: embeddings in half precision, answers, and scores computed from both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from safetensors.numpy import save

from t2ibench.apps.leaderboard.bounds import LARGEST, sha256_of
from t2ibench.apps.leaderboard.submission import Card, Manifest, PackedImages
from t2ibench.apps.leaderboard.thumbs import QUALITY, SIZE
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.pools import CaptionPool
from t2ibench.models.generators import can_regenerate
from t2ibench.pipeline.captions import keep
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.rescoring import stored_plan
from t2ibench.pipeline.scoring import open_stores, score_plan
from t2ibench.results.files import assemble, generator_info, stored_results
from t2ibench.results.record import GeneratorRecord
from t2ibench.results.run import RunFolder, open_run
from t2ibench.results.schema import Results
from t2ibench.settings import Measurement, RunSettings
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore, slug, text_key
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.jsonl import write_rows
from t2ibench.store.pixels import UnreadableImageError, thumbnail
from t2ibench.version import __version__

SHOWN_IMAGES = 2  # of a prompt
_Hashes = Mapping[tuple[str, int], str]


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
    _check(folder, run)
    results, _ = stored_results(folder)
    others = sorted(results.earlier) if results else []
    if others:
        reporter.warn(
            f"{len(others)} tasks of earlier commands are not packed, such as {others[0]}: only "
            "those of the latest command are. Run all of them in one command first."
        )
    record, generator = folder.record, _generator(folder)
    plan = stored_plan(folder)
    images = ImageStore(folder.images, generator.fingerprint)
    attempts = list(_attempts(plan, images))
    shown = _thumbnails(attempts, images, thumbnails)
    target = to / f"{slug(name or generator.name)}-{generator.fingerprint[:8]}"
    for old in sorted(target.rglob("*"), reverse=True):
        if old.is_file():
            old.unlink()
    write_rows(target / "attempts.jsonl", map(attempt_row, attempts))
    _pack_evidence(folder, plan, attempts, target / "evidence")
    stores = open_stores(target / "evidence", record.encoders, record.judges, record.controls)
    scored = score_plan(plan, PackedImages(attempts), stores, reporter)
    info = generator_info(generator)
    if name:
        info = info.model_copy(update={"name": name})
    settings = record.repeatable()
    assert settings is not None  # _check refuses runs of Python objects
    results = assemble(info, scored.results, _without_paths(settings, record.pools))
    write_text(target / "results.json", results.to_json())
    keep(plan.tasks, target)
    for key, data in shown.items():
        write_bytes(target / "thumbs" / f"{key}.jpg", data)
    _write_manifest(folder, results, target, card or Card())
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


def _generator(folder: RunFolder) -> GeneratorRecord:
    if folder.record.generator is None:
        raise T2IBenchError(f"'{folder.path}' is a run on texts alone.", "Submit a run of a model.")
    return folder.record.generator


def _check(folder: RunFolder, run: Path) -> None:
    record, generator = folder.record, _generator(folder)
    if record.repeatable() is None:
        raise T2IBenchError(
            f"'{run}' measured a Python object, which others cannot load.",
            "Give the model as package.module:factory and run it again.",
        )
    if not can_regenerate(generator.model):
        raise T2IBenchError(
            f"'{run}' holds images of unknown origin ({generator.model.partition(':')[0]}:).",
            "The leaderboard compares models; run one by its name.",
        )
    if record.measurement.limit is not None:
        raise T2IBenchError(
            f"'{run}' was made with --limit; such runs are not accepted.", "Run it without --limit."
        )
    seed, default = record.measurement.seed, Measurement().seed
    if seed != default:
        raise T2IBenchError(
            f"'{run}' was made with --seed {seed}; the leaderboard takes the default, {default}, "
            "so that nobody chooses among seeds.",
            "Run it without --seed.",
        )
    if not record.encoders and not record.judges:
        raise T2IBenchError(f"'{run}' holds no evidence yet.", "Run it without --generate-only.")


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


def attempt_row(attempt: Attempt) -> dict[str, Any]:
    """A row of attempts.jsonl."""
    row = {key: getattr(attempt, key) for key in ("prompt", "index", "seed", "status")}
    if attempt.revised_prompt is not None:
        row["revised_prompt"] = attempt.revised_prompt
    return row | ({"sha256": attempt.sha256} if attempt.sha256 else {"reason": attempt.reason})


def _write_manifest(folder: RunFolder, results: Results, target: Path, card: Card) -> None:
    generator = _generator(folder)
    paths = sorted(path for path in target.rglob("*") if path.is_file())
    files = {
        path.relative_to(target).as_posix(): sha256_of(path)
        for path in paths
        if path.name != "submission.json"
    }
    manifest = Manifest(
        t2ibench=__version__,
        name=str(results.model.name),
        model=generator.model,
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


def _without_paths(settings: RunSettings, pools: Mapping[str, CaptionPool]) -> RunSettings:
    """Settings of a command without paths on this machine, which are not part of a submission."""
    names = {one.name: one.drawn.source for one in pools.values() if one.drawn is not None}
    kind, colon, source = (settings.rewriter or "").partition(":")
    in_file = colon and kind == "file"
    return settings.model_copy(
        update={
            "output_dir": "runs",
            "name": None,
            "include_path": (),
            "captions": {key: names.get(key, text) for key, text in settings.captions.items()},
            "rewriter": f"file:{Path(source).name}" if in_file else settings.rewriter,
            "rewriter_args": {
                key: f"@{Path(text[1:]).name}" if text.startswith("@") else text
                for key, text in settings.rewriter_args.items()
            },
        }
    )


def _pack_evidence(
    folder: RunFolder, plan: Plan, attempts: Sequence[Attempt], target: Path
) -> None:
    """Pack what a run's encoders, their controls and its judges observed."""
    hashes = {
        (attempt.prompt, attempt.index): attempt.sha256 for attempt in attempts if attempt.sha256
    }
    texts, images = _text_keys(plan.texts), _image_keys(hashes, plan.embedded)
    for name, encoder in folder.record.encoders.items():
        store = EvidenceStore(folder.evidence, name, encoder.fingerprint)
        if encoder.embeds_images:
            prompts = _text_keys(plan.prompt_texts)
            known = {*texts, *prompts} - set(store.missing("texts", prompts))
            _pack_embeddings(store, name, sorted({*texts, *known}), images, target)
        else:
            _pack_embeddings(store, name, texts, [], target)
    texts, images = _text_keys(plan.controlled_texts), _image_keys(hashes, plan.controlled)
    for control in folder.record.controls.values():
        store = EvidenceStore(folder.evidence, control.name, control.fingerprint)
        _pack_embeddings(store, control.name, texts, images, target)
    for name, fingerprint in folder.record.judges.items():
        answers = AnswerStore(folder.evidence, name, fingerprint)
        lines = list(dict.fromkeys(_answers(answers, name, plan, hashes)))
        if lines:
            write_text(
                target / answers.folder.name / "answers-packed.jsonl", "\n".join(lines) + "\n"
            )


def _text_keys(texts: Sequence[str]) -> list[str]:
    return sorted(text_key(text) for text in texts)


def _image_keys(hashes: _Hashes, counts: Mapping[str, int]) -> list[str]:
    return sorted({sha for (prompt, index), sha in hashes.items() if index < counts.get(prompt, 0)})


def _pack_embeddings(
    store: EvidenceStore, name: str, texts: list[str], images: list[str], target: Path
) -> None:
    kinds: tuple[Literal["texts", "images"], ...] = ("texts", "images")
    for kind, keys in zip(kinds, (texts, images), strict=True):
        lacking = store.missing(kind, keys)
        if lacking:
            raise T2IBenchError(
                f"{len(lacking)} {kind} have no embedding by {name}.",
                "Run the command again to complete the run.",
            )
        if keys:
            rows = np.stack([store.get(kind, key) for key in keys]).astype(np.float16)
            raw = np.frombuffer(bytes.fromhex("".join(keys)), np.uint8).reshape(len(keys), -1)
            path = target / store.folder.name / f"{kind}-packed.safetensors"
            write_bytes(path, save({"keys": raw, "embeddings": rows}))


def _answers(answers: AnswerStore, name: str, plan: Plan, hashes: _Hashes) -> Iterator[str]:
    """One line an answer."""
    for prompt, questions in plan.questions.items():
        for (question, classes), count in questions.items():
            for index in range(count):
                sha = hashes.get((prompt, index))
                answer = answers.get(sha, question, classes) if sha else None
                if sha and answer is None:
                    raise T2IBenchError(
                        f"{name} has not answered '{question}' about every image.",
                        "Run the command again to complete the run.",
                    )
                if answer:
                    keys = ("image", "question", "classes", "answer")
                    row = {key: getattr(answer, key) for key in keys}
                    yield json.dumps(row, ensure_ascii=False)
