"""Embedding texts and images of a submission again, and asking its judges again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from t2ibench.apps.leaderboard.evidence import known_prompts
from t2ibench.apps.leaderboard.made import Again, Claimed, Made, on_server
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.encoders import create_encoder
from t2ibench.models.judges import JUDGES, create_judges
from t2ibench.models.protocols import Encoder, HasUntrained, Judge, Query
from t2ibench.models.resolve import find_registered
from t2ibench.pipeline.embedding import checked_rows, encode, naming
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.scoring import EncoderEvidence
from t2ibench.settings import RunSettings
from t2ibench.store.evidence import text_key

# Cosines of an embedding made again: of an image that another processor drew, and of the very same
# text or file.
_ALIKE, _SAME = 0.999, 0.9999
_ANSWERS_ALIKE = 0.98  # share of answers about images that another processor drew
_PART = 256


def embed_again(claimed: Claimed, made: Sequence[Made], again: Again) -> None:
    """Embed all texts and the images that were made, by every encoder and its control."""
    encoders: dict[str, Encoder] = {}
    reasons: list[str] = []
    for spec in claimed.command.encoder:
        try:
            encoder = create_encoder(spec, dtype=claimed.command.dtype, recorded=True)
            encoders[encoder.name] = encoder
        except T2IBenchError as error:
            reasons.append(str(error))
    plan, stores = claimed.plan, claimed.stores
    for name, evidence in stores.encoders.items():
        encoder_here = encoders.get(name)
        if encoder_here is None:
            again.lacking.append(f"the encoder {name} is not here: {'; '.join(reasons)}")
        elif encoder_here.fingerprint != evidence.fingerprint:
            _another("encoder", name, again)
        else:
            texts = [*plan.texts, *known_prompts(plan, evidence)]
            again.count("texts", _texts(encoder_here, evidence, texts, again))
            if evidence.embeds_images:
                _images(encoder_here, evidence, made, plan.embedded, again)
            _control(name, encoder_here, claimed, made, again)


def _another(kind: str, name: str, again: Again) -> None:
    """An encoder or a judge of the same name that is not the submission's."""
    line = f"the {kind} {name} here is not the one that was used (weights, settings or arguments)"
    # Of what is downloaded or lies in a folder, this machine may have another version.
    (again.lacking if ":" in name else again.problems).append(line)


def _control(
    name: str, encoder: Encoder, claimed: Claimed, made: Sequence[Made], again: Again
) -> None:
    """The same with random weights."""
    evidence = claimed.stores.controls.get(name)
    wanted = claimed.command.control_encoder == "random" and isinstance(encoder, HasUntrained)
    if evidence is None:
        if wanted:
            again.problems.append(
                f"it has no control of random weights for {name}, and its command asks for one"
            )
        return
    if not isinstance(encoder, HasUntrained):
        again.problems.append(f"{name} has no control of random weights, and the submission has")
        return
    label = claimed.manifest.controls[name].name
    try:
        with failing(f"The encoder '{name}' failed in untrained() with"):
            control = encoder.untrained()
    except T2IBenchError as error:
        again.lacking.append(f"the control {label} cannot be made here: {error}")
        return
    if (control.name, control.fingerprint) != (label, evidence.fingerprint):
        again.lacking.append(f"the control {label} is of other versions of its libraries")
        return
    number = _texts(control, evidence, claimed.plan.controlled_texts, again)
    number += _images(control, evidence, made, claimed.plan.controlled, again)
    again.count("controls", number)


def _texts(encoder: Encoder, evidence: EncoderEvidence, texts: Sequence[str], again: Again) -> int:
    """How many texts embed as the submission says."""
    unlike: list[str] = []
    try:
        for start in range(0, len(texts), _PART):
            part = list(texts[start : start + _PART])
            with naming(encoder.name):
                rows = encoder.encode_texts(part)
            rows = checked_rows(encoder, rows, len(part), None)
            for text, row in zip(part, rows, strict=True):
                if not _alike(row, evidence.store.get("texts", text_key(text)), _SAME):
                    unlike.append(f"the text '{text}' embeds otherwise by {encoder.name}")
    except T2IBenchError as error:
        again.lacking.append(f"texts cannot be embedded here: {error}")
        return 0
    again.differ(unlike, "texts")
    return len(texts) - len(unlike)


def _images(
    encoder: Encoder,
    evidence: EncoderEvidence,
    made: Sequence[Made],
    embedded: Mapping[str, int],
    again: Again,
) -> int:
    """How many images embed as the submission says."""
    wanted = [one for one in made if one.attempt.index < embedded.get(one.attempt.prompt, 0)]
    if not wanted:
        return 0
    try:
        with naming(encoder.name):
            prepared = [encoder.prepare(one.image) for one in wanted]
        rows = encode(encoder, prepared)
    except T2IBenchError as error:
        again.lacking.append(f"images cannot be embedded here: {error}")
        return 0
    unlike: list[str] = []
    for one, row in zip(wanted, rows, strict=True):
        claimed = evidence.store.get("images", one.attempt.sha256 or "")
        if _alike(row, claimed, _SAME if one.same_file else _ALIKE):
            again.compared.add(one.attempt.key)
        else:
            unlike.append(
                f"{one}, generated again, does not look to {encoder.name} as the submission says"
            )
    again.differ(unlike, "images")
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


def ask_again(claimed: Claimed, made: Sequence[Made], again: Again) -> None:
    """Ask every judge again about the images that were made."""
    queries = list(_queries(claimed.plan, made))
    judges: dict[str, Judge] = {}
    reasons: list[str] = []
    for spec in claimed.command.judge:
        try:
            judge = _judge(_full_name(spec, claimed.stores.judges), claimed.command)
            judges[judge.name] = judge
        except T2IBenchError as error:
            reasons.append(str(error))
    for name, evidence in claimed.stores.judges.items():
        judge_here = judges.get(name)
        if judge_here is None:
            again.lacking.append(f"the judge {name} was not asked again: {'; '.join(reasons)}")
        elif judge_here.fingerprint != evidence.fingerprint:
            _another("judge", name, again)
        else:
            stored = evidence.store.get
            _answers(judge_here, queries, lambda *key, get=stored: get(*key), again)


def _full_name(spec: str, known: Collection[str]) -> str:
    """What a run calls a judge: one named `clip` alone gets its encoder's name too."""
    return next((name for name in known if name.startswith(f"{spec}:")), spec)


def _judge(spec: str, command: RunSettings) -> Judge:
    resolved = find_registered(JUDGES, spec)
    if on_server(JUDGES, spec):
        raise T2IBenchError(f"{spec} is on a server, which is not called.")
    if resolved is not None and not resolved.adapter.regenerates:
        raise T2IBenchError(f"{spec} holds answers that were given once.")
    taken = resolved.adapter.Args.model_fields if resolved else {}
    (judge,) = create_judges(
        [spec],
        {key: value for key, value in command.judge_args.items() if key in taken},
        dtype=command.dtype,
        encoders=command.encoder,
        recorded=True,
    )
    return judge


def _queries(plan: Plan, made: Sequence[Made]) -> Iterator[tuple[Made, Query]]:
    for one in made:
        attempt, sha = one.attempt, hashlib.sha256(one.data).hexdigest()
        for (question, classes), count in plan.questions.get(attempt.prompt, {}).items():
            if attempt.index < count:
                yield (
                    one,
                    Query(one.image, attempt.prompt, attempt.index, sha, question, classes),
                )


def _answers(
    judge: Judge,
    queries: Sequence[tuple[Made, Query]],
    stored: Callable[[str, str, Sequence[str]], Any],
    again: Again,
) -> None:
    """Ask one judge, and compare its answers with the stored ones."""
    same, silent = 0, 0
    unlike: list[str] = []
    surely = False
    size = max(1, judge.batch_size)
    for start in range(0, len(queries), size):
        part = queries[start : start + size]
        try:
            with failing(f"The judge '{judge.name}' failed with"):
                answers = list(judge.answer([query for _, query in part]))
                if len(answers) != len(part):
                    raise ValueError(f"{len(answers)} answers to {len(part)} questions")
        except T2IBenchError as error:
            again.lacking.append(f"not all questions were asked again: {error}")
            break
        for (one, query), answer in zip(part, answers, strict=True):
            claimed = stored(one.attempt.sha256 or "", query.question, query.classes)
            if answer.answer is None:
                silent += 1
            elif claimed is not None and answer.answer == claimed.answer:
                same += 1
                again.compared.add(one.attempt.key)
            else:
                surely = surely or one.same_file
                said = claimed.answer if claimed else None
                unlike.append(
                    f"asked '{query.question}' about {one}, {judge.name} says '{answer.answer}'; "
                    f"the submission says '{said}'"
                )
    if surely or len(unlike) > (1 - _ANSWERS_ALIKE) * (same + len(unlike)):
        again.differ(unlike, "answers")
    elif unlike:
        again.lacking.append(
            f"{len(unlike)} of {same + len(unlike)} answers are others, about images that this "
            "machine draws a little differently"
        )
    if silent:
        again.lacking.append(f"{judge.name} left {silent} questions without an answer")
    again.count("answers", same)
