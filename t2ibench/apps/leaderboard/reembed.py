"""Embedding texts and images of a submission again, and asking its judges again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from t2ibench.apps.leaderboard.regenerate import (
    Claims,
    RegeneratedImage,
    Regeneration,
    on_server,
)
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.encoders import create_encoder
from t2ibench.models.judges import JUDGES, create_judges
from t2ibench.models.protocols import Answer, Encoder, HasUntrained, Judge, Query
from t2ibench.models.resolution import find_registered
from t2ibench.pipeline.embedding import checked_rows, encode, naming
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore, text_key

# Cosines of an embedding made again: of an image that another processor drew, and of the very same
# text or file.
_ALIKE, _SAME = 0.999, 0.9999
_ANSWERS_ALIKE = 0.98  # share of answers about images that another processor drew
_PART = 256


def embed_again(claims: Claims, images: Sequence[RegeneratedImage], found: Regeneration) -> None:
    """Embed all texts and the images that were made, by every encoder and its control."""
    encoders: dict[str, Encoder] = {}
    reasons: list[str] = []
    for spec in claims.command.encoder:
        try:
            claims.check_paths(spec)
            encoder = create_encoder(spec, dtype=claims.command.dtype, recorded=True)
            encoders[encoder.name] = encoder
        except T2IBenchError as error:
            reasons.append(str(error))
    plan = claims.plan
    for name, evidence in claims.stores.encoders.items():
        encoder_here = encoders.get(name)
        if encoder_here is None:
            found.lacking.append(f"the encoder {name} is not here: {'; '.join(reasons)}")
        elif encoder_here.fingerprint != evidence.fingerprint:
            _report_another("encoder", name, found)
        else:
            texts = plan.texts_for(evidence.embeds_images)
            found.count("texts", _embed_texts(encoder_here, evidence, texts, found))
            if evidence.embeds_images:
                _embed_images(encoder_here, evidence, images, plan.embedded, found)
            _embed_by_control(name, encoder_here, claims, images, found)


def _report_another(kind: str, name: str, found: Regeneration) -> None:
    """An encoder or a judge of the same name that is not the submission's."""
    line = f"the {kind} {name} here is not the one that was used (weights, settings or arguments)"
    # Of what is downloaded or lies in a folder, this machine may have another version.
    (found.lacking if ":" in name else found.problems).append(line)


def _embed_by_control(
    name: str,
    encoder: Encoder,
    claims: Claims,
    images: Sequence[RegeneratedImage],
    found: Regeneration,
) -> None:
    """The same with random weights."""
    evidence = claims.stores.controls.get(name)
    if evidence is None:
        if claims.command.control_encoder == "random" and isinstance(encoder, HasUntrained):
            found.problems.append(
                f"it has no control of random weights for {name}, and its command asks for one"
            )
        return
    if not isinstance(encoder, HasUntrained):
        found.problems.append(f"{name} has no control of random weights, and the submission has")
        return
    label = claims.manifest.controls[name].name
    try:
        with failing(f"The encoder '{name}' failed in untrained() with"):
            control = encoder.untrained()
    except T2IBenchError as error:
        found.lacking.append(f"the control {label} cannot be made here: {error}")
        return
    if (control.name, control.fingerprint) != (label, evidence.fingerprint):
        found.lacking.append(f"the control {label} is of other versions of its libraries")
        return
    number = _embed_texts(control, evidence, claims.plan.controlled_texts, found)
    number += _embed_images(control, evidence, images, claims.plan.controlled, found)
    found.count("controls", number)


def _embed_texts(
    encoder: Encoder, evidence: EvidenceStore, texts: Sequence[str], found: Regeneration
) -> int:
    """How many texts embed as the submission says."""
    unlike: list[str] = []
    try:
        for start in range(0, len(texts), _PART):
            part = list(texts[start : start + _PART])
            with naming(encoder.name):
                rows = encoder.encode_texts(part)
            rows = checked_rows(encoder, rows, len(part), None)
            for text, row in zip(part, rows, strict=True):
                if not _alike(row, evidence.get("texts", text_key(text)), _SAME):
                    unlike.append(f"the text '{text}' embeds otherwise by {encoder.name}")
    except T2IBenchError as error:
        found.lacking.append(f"texts cannot be embedded here: {error}")
        return 0
    found.differ(unlike, "texts")
    return len(texts) - len(unlike)


def _embed_images(
    encoder: Encoder,
    evidence: EvidenceStore,
    images: Sequence[RegeneratedImage],
    embedded: Mapping[str, int],
    found: Regeneration,
) -> int:
    """How many images embed as the submission says."""
    wanted = [one for one in images if one.attempt.index < embedded.get(one.attempt.prompt, 0)]
    if not wanted:
        return 0
    try:
        with naming(encoder.name):
            prepared = [encoder.prepare(one.image) for one in wanted]
        rows = encode(encoder, prepared)
    except T2IBenchError as error:
        found.lacking.append(f"images cannot be embedded here: {error}")
        return 0
    unlike: list[str] = []
    for one, row in zip(wanted, rows, strict=True):
        claimed = evidence.get("images", one.attempt.sha256 or "")
        if _alike(row, claimed, _SAME if one.same_file else _ALIKE):
            found.compared.add(one.attempt.key)
        else:
            unlike.append(
                f"{one}, generated again, does not look to {encoder.name} as the submission says"
            )
    found.differ(unlike, "images")
    return len(wanted) - len(unlike)


def _alike(one: Float32Array, other: Float32Array, least: float) -> bool:
    """Whether two embeddings are the same; a text without a vector is NaN in both."""
    left, right = one.astype(np.float64), other.astype(np.float64)
    if left.shape != right.shape:
        return False
    if np.isnan(left).all():
        return bool(np.isnan(right).all())
    norm = float(np.linalg.norm(left) * np.linalg.norm(right))
    return bool(norm > 0 and float(left @ right) / norm >= least)


def ask_again(claims: Claims, images: Sequence[RegeneratedImage], found: Regeneration) -> None:
    """Ask every judge again about the images that were made."""
    queries: list[tuple[RegeneratedImage, Query]] = []
    for one in images:
        attempt, sha = one.attempt, hashlib.sha256(one.data).hexdigest()
        for (question, classes), count in claims.plan.questions.get(attempt.prompt, {}).items():
            if attempt.index < count:
                query = Query(one.image, attempt.prompt, attempt.index, sha, question, classes)
                queries.append((one, query))
    stores = claims.stores.judges
    judges: dict[str, Judge] = {}
    reasons: list[str] = []
    for spec in claims.command.judge:
        # A judge that is named `clip` alone gets its encoder's name too.
        full = next((name for name in stores if name.startswith(f"{spec}:")), spec)
        try:
            judge = _judge(full, claims)
            judges[judge.name] = judge
        except T2IBenchError as error:
            reasons.append(str(error))
    for name, evidence in stores.items():
        judge_here = judges.get(name)
        if judge_here is None:
            found.lacking.append(f"the judge {name} was not asked again: {'; '.join(reasons)}")
        elif judge_here.fingerprint != evidence.fingerprint:
            _report_another("judge", name, found)
        else:
            _compare_answers(judge_here, queries, evidence, found)


def _judge(spec: str, claims: Claims) -> Judge:
    resolved, command = find_registered(JUDGES, spec), claims.command
    if on_server(JUDGES, spec):
        raise T2IBenchError(f"{spec} is on a server, which is not called.")
    if resolved is not None and not resolved.adapter.regenerates:
        raise T2IBenchError(f"{spec} holds answers that were given once.")
    claims.check_paths(spec)
    taken = resolved.adapter.Args.model_fields if resolved else {}
    (judge,) = create_judges(
        [spec],
        {key: value for key, value in command.judge_args.items() if key in taken},
        dtype=command.dtype,
        encoders=command.encoder,
        recorded=True,
    )
    return judge


def _answers(
    judge: Judge, queries: Sequence[tuple[RegeneratedImage, Query]], found: Regeneration
) -> list[Answer]:
    """The answers of a judge, up to where it failed."""
    answers: list[Answer] = []
    size = max(1, judge.batch_size)
    for start in range(0, len(queries), size):
        part = [query for _, query in queries[start : start + size]]
        try:
            with failing(f"The judge '{judge.name}' failed with"):
                given = list(judge.answer(part))
                if len(given) != len(part):
                    raise ValueError(f"{len(given)} answers to {len(part)} questions")
        except T2IBenchError as error:
            found.lacking.append(f"not all questions were asked again: {error}")
            break
        answers += given
    return answers


def _compare_answers(
    judge: Judge,
    queries: Sequence[tuple[RegeneratedImage, Query]],
    store: AnswerStore,
    found: Regeneration,
) -> None:
    """Ask one judge, and compare its answers with the stored ones."""
    same, silent, unlike, surely = 0, 0, [], False
    for (one, query), answer in zip(queries, _answers(judge, queries, found), strict=False):
        claimed = store.get(one.attempt.sha256 or "", query.question, query.classes)
        if answer.answer is None:
            silent += 1
        elif claimed is not None and answer.answer == claimed.answer:
            same += 1
            found.compared.add(one.attempt.key)
        else:
            surely = surely or one.same_file
            said = claimed.answer if claimed else None
            unlike.append(
                f"asked '{query.question}' about {one}, {judge.name} says '{answer.answer}'; "
                f"the submission says '{said}'"
            )
    if surely or len(unlike) > (1 - _ANSWERS_ALIKE) * (same + len(unlike)):
        found.differ(unlike, "answers")
    elif unlike:
        found.lacking.append(
            f"{len(unlike)} of {same + len(unlike)} answers are others, about images that this "
            "machine draws a little differently"
        )
    if silent:
        found.lacking.append(f"{judge.name} left {silent} questions without an answer")
    found.count("answers", same)
