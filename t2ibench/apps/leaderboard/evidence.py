"""The evidence of a submission: whether all of it is there, and can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from t2ibench.apps.leaderboard.submission import Manifest, PackedImages
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError
from t2ibench.methods.core.evidence import UNKNOWN
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.scoring import EncoderEvidence, Stores
from t2ibench.store.evidence import slug, text_key
from t2ibench.store.images import Attempt, image_key, image_seed
from t2ibench.store.jsonl import read_rows_strictly

_SHOWN = 5
_KEPT = {"ok", "refused", "filtered"}
_OFF_LENGTH = 0.02  # of a squared length, which half precision does not keep exactly


def read_attempts(folder: Path, manifest: Manifest) -> Iterator[Attempt]:
    """The rows of attempts.jsonl, each image once."""
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
        revised = row.get("revised_prompt")
        yield Attempt(
            key,
            prompt,
            index,
            int(row["seed"]),
            status,
            sha256=sha,
            reason=row.get("reason"),
            revised_prompt=revised if isinstance(revised, str) else None,
        )


def folder_problems(files: Mapping[str, Path], manifest: Manifest) -> Iterator[str]:
    """Evidence of encoders and judges that submission.json does not name."""
    encoders = [*manifest.encoders.items()]
    encoders += [(one.name, one.fingerprint) for one in manifest.controls.values()]
    known = {f"{slug(name)}-{print_[:12]}" for name, print_ in encoders}
    known |= {f"answers-{slug(name)}-{print_[:12]}" for name, print_ in manifest.judges.items()}
    for name in files:
        root, _, rest = name.partition("/")
        if root == "evidence" and rest.partition("/")[0] not in known:
            yield f"{name} is of no encoder or judge that submission.json names"


def attempt_problems(plan: Plan, images: PackedImages) -> Iterator[str]:
    """Images that a task needs and the submission lacks, or whose seed was chosen."""
    lacking: dict[str, int] = {}
    for request in plan.requests:
        attempt = images.get(request.prompt, request.index)
        if attempt is None:
            lacking[request.prompt] = lacking.get(request.prompt, 0) + 1
        elif attempt.seed != image_seed(plan.settings.seed, request.prompt, request.index):
            yield f"image {request.index} of '{request.prompt}' does not have the required seed"
            return
    for prompt, count in list(lacking.items())[:_SHOWN]:
        yield f"{count} images of '{prompt}' are missing"


def evidence_problems(plan: Plan, images: PackedImages, stores: Stores) -> Iterator[str]:
    """Evidence that a task needs and the submission lacks, or that cannot be."""
    for request in plan.requests:
        attempt = images.get(request.prompt, request.index)
        if attempt is not None and attempt.sha256:
            yield from _image_problems(plan, attempt, stores)
    for name, encoder in stores.encoders.items():
        yield from _text_problems([*plan.texts, *known_prompts(plan, encoder)], encoder, name)
    for name, control in stores.controls.items():
        yield from _text_problems(plan.controlled_texts, control, f"the control of {name}")


def known_prompts(plan: Plan, encoder: EncoderEvidence) -> list[str]:
    """Prompts that an encoder has embedded although no score needs them."""
    return [one for one in plan.prompt_texts if encoder.store.has("texts", text_key(one))]


def _text_problems(texts: Sequence[str], encoder: EncoderEvidence, name: str) -> Iterator[str]:
    keys = [text_key(text) for text in texts]
    absent = encoder.store.missing("texts", keys)
    if absent:
        yield f"{len(absent)} texts have no embedding by {name}"
        return
    for text, key in zip(texts, keys, strict=True):
        row = encoder.store.get("texts", key)
        if not (_is_unit(row) or np.isnan(row).all()):  # a word that has no vector
            yield f"the embedding of the text '{text}' by {name} is not of unit length"


def _is_unit(row: Float32Array) -> bool:
    wide = row.astype(np.float64)
    return bool(np.isfinite(wide).all() and abs(float(wide @ wide) - 1.0) <= _OFF_LENGTH)


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
        if not _is_unit(encoder.store.get("images", sha)):
            yield f"the embedding of {where} by {name} is not of unit length"
    for (question, classes), count in plan.questions.get(attempt.prompt, {}).items():
        if attempt.index >= count:
            continue
        for name, judge in stores.judges.items():
            answer = judge.store.get(sha, question, classes)
            if answer is None:
                yield f"{name} has no answer to '{question}' about {where}"
            elif classes and answer.answer not in {*classes, UNKNOWN}:
                yield f"{name} answers '{question}' about {where} with none of its classes"
