"""Comparison of a submission's embeddings and answers with those of regenerated images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from t2ibench.apps.leaderboard.regenerate import (
    Claims,
    RegeneratedImage,
    Verdict,
    check_paths,
    on_server,
)
from t2ibench.apps.leaderboard.shifts import RemadeRows, check_shifts
from t2ibench.apps.leaderboard.tolerance import are_alike, largest_distance
from t2ibench.arrays import Float32Array
from t2ibench.errors import T2IBenchError, failing
from t2ibench.models.encoders import create_encoder
from t2ibench.models.judges import JUDGES, create_judges
from t2ibench.models.protocols import Encoder, HasUntrained, Judge
from t2ibench.models.resolution import find_registered
from t2ibench.pipeline.embedding import embedded_texts, encode, naming
from t2ibench.pipeline.judging import answered
from t2ibench.pipeline.plan import is_counted
from t2ibench.pipeline.work_items import AskReport, ImageQuestions
from t2ibench.store.answers import AnswerStore
from t2ibench.store.evidence import EvidenceStore, text_key

_ANSWERS_ALIKE = 0.98  # share of answers about images that another processor drew

_Part = TypeVar("_Part", Encoder, Judge)
_Evidence = TypeVar("_Evidence", EvidenceStore, AnswerStore)


def _parts(
    kind: str,
    specs: Sequence[str],
    make: Callable[[str], _Part],
    stores: Mapping[str, _Evidence],
    verdict: Verdict,
) -> Iterator[tuple[_Part, _Evidence]]:
    """Yield each encoder or judge that can be loaded here, with the submission's evidence of it."""
    here: dict[str, _Part] = {}
    reasons: list[str] = []
    for spec in specs:
        try:
            part = make(spec)
            here[part.name] = part
        except T2IBenchError as error:
            reasons.append(str(error))
    for name, evidence in stores.items():
        if name not in here:
            verdict.not_asked.append(f"{kind} {name}")
            verdict.not_regenerated.append(
                f"the {kind} {name} was not asked again: {'; '.join(reasons)}"
            )
        elif here[name].fingerprint != evidence.fingerprint:
            line = f"the {kind} {name} here is not the one that was used"
            verdict.not_asked.append(f"{kind} {name}")
            # A model that is downloaded or in a folder may have another version on this machine.
            problems = verdict.not_regenerated if ":" in name else verdict.problems
            problems.append(f"{line} (weights, settings or arguments)")
        else:
            yield here[name], evidence


def check_embeddings(
    claims: Claims, images: Sequence[RegeneratedImage], verdict: Verdict
) -> None:
    """Recompute embeddings of texts and regenerated images, and note on `verdict` what differs."""

    def make(spec: str) -> Encoder:
        check_paths(spec)
        return create_encoder(spec, dtype=claims.command.dtype, recorded=True)

    same_file = largest_distance(claims.command.dtype)
    other_file = max(same_file, largest_distance(_dtype(claims)))
    remade = RemadeRows()

    def embed(
        part: str,
        embedder: Encoder,
        stored: EvidenceStore,
        texts: Sequence[str],
        counts: Mapping[str, int],
    ) -> bool:
        """Return whether the encoder embedded the texts, and some image if it embeds images."""
        wanted = [image for image in images if is_counted(image.attempt.key, counts)]
        comparison = _Comparison(embedder, stored, same_file, other_file, remade)
        with verdict.tolerant(f"{embedder.name} cannot embed here"):
            unlike = [*comparison.unlike_texts(texts)]
            unlike += comparison.unlike_images(wanted, verdict)
            verdict.differ(unlike, "embeddings")
            verdict.count(part, len(texts))
            return bool(wanted) or not stored.has_any("images")
        return False

    plan = claims.plan
    stores = claims.stores
    for encoder, evidence in _parts(
        "encoder", claims.command.encoder, make, stores.encoders, verdict
    ):
        pictures = evidence.embeds_images
        embedded = plan.embedded if pictures else {}
        texts = plan.texts_for(pictures)
        if not embed("texts", encoder, evidence, texts, embedded):
            verdict.not_asked.append(f"encoder {encoder.name}")
        if control := _control(encoder, claims, verdict):
            claimed = stores.controls[encoder.name]
            embed("controls", control, claimed, plan.controlled_texts, plan.controlled)
    if not verdict.problems:
        check_shifts(claims, images, remade, verdict)


def _dtype(claims: Claims) -> str | None:
    """Return the precision that a submission records: of its model, or else of its command."""
    of_model = claims.results.model.settings.get("dtype")
    return of_model if isinstance(of_model, str) else claims.command.dtype


def _control(encoder: Encoder, claims: Claims, verdict: Verdict) -> Encoder | None:
    """Return the encoder with random weights that is the submission's control; None without one."""
    name = encoder.name
    able = isinstance(encoder, HasUntrained)
    claimed = claims.manifest.controls.get(name)
    if (claimed is None) == (able and claims.command.control_encoder == "random"):
        has = "no control" if claimed is None else "a control"
        verdict.problems.append(
            f"it has {has} of random weights for {name}; its command says otherwise"
        )
    elif claimed is not None and isinstance(encoder, HasUntrained):
        with (
            verdict.tolerant(f"the control {claimed.name} cannot be made here"),
            failing(f"The encoder '{name}' failed in untrained() with"),
        ):
            control = encoder.untrained()
            if (control.name, control.fingerprint) == (
                claimed.name,
                claimed.fingerprint,
            ):
                return control
            verdict.not_regenerated.append(
                f"the control {claimed.name} is of other versions of its libraries"
            )
    return None


@dataclass(frozen=True, slots=True)
class _Comparison:
    """What one encoder makes of texts and images here, beside what a submission says it made.

    Attributes:
        encoder: The encoder.
        evidence: The submission's embeddings by it.
        same_file: The largest accepted 1 - cosine of what the encoder alone makes: of a text, or of
            an image whose file is the same byte for byte.
        other_file: The same of an image whose file is another here.
        remade: Where the embeddings made here go.
    """

    encoder: Encoder
    evidence: EvidenceStore
    same_file: float
    other_file: float
    remade: RemadeRows

    def unlike_texts(self, texts: Sequence[str]) -> Iterator[str]:
        """Yield a line for each text whose embedding differs."""
        named = {text_key(text): text for text in texts}
        name = self.encoder.name
        for part in embedded_texts(texts, self.encoder, None):
            part.check()
            for key, row in zip(*part.rows[name], strict=True):
                if are_alike(row, self.evidence.get("texts", key), self.same_file):
                    self.remade.add(name, "texts", key, row)
                else:
                    yield f"the text '{named[key]}' embeds otherwise by {name}"

    def unlike_images(
        self, images: Sequence[RegeneratedImage], verdict: Verdict
    ) -> Iterator[str]:
        """Yield a line for each image whose embedding differs; count the others as compared."""
        name = self.encoder.name
        for image, row in _rows_of(self.encoder, images):
            if isinstance(row, T2IBenchError):
                reason = str(row).rstrip(".")
                yield f"{image}, generated again, cannot be embedded: {reason}"
                continue
            key = image.attempt.sha256 or ""
            largest = self.same_file if image.same_file else self.other_file
            if are_alike(row, self.evidence.get("images", key), largest):
                verdict.compared.add(image.attempt.file_key)
                self.remade.add(name, "images", key, row)
            else:
                look = f"does not look to {name} as the submission says"
                yield f"{image}, generated again, {look}"


def _rows_of(
    encoder: Encoder, images: Sequence[RegeneratedImage]
) -> Iterator[tuple[RegeneratedImage, Float32Array | T2IBenchError]]:
    """Yield each image with its embedding, or with the error that prevented it."""
    prepared: list[tuple[RegeneratedImage, Any]] = []
    for image in images:
        try:
            with naming(encoder.name):
                prepared.append((image, encoder.prepare(image.image.read())))
        except T2IBenchError as error:
            yield image, error
    if not prepared:
        return
    try:
        rows = encode(encoder, [pixels for _, pixels in prepared])
    except T2IBenchError:
        for image, pixels in prepared:
            try:
                yield image, encode(encoder, [pixels])[0]
            except T2IBenchError as error:
                yield image, error
        return
    for (image, _), row in zip(prepared, rows, strict=True):
        yield image, row


def check_answers(
    claims: Claims, images: Sequence[RegeneratedImage], verdict: Verdict
) -> None:
    """Ask every judge again about the regenerated images, and note on `verdict` what differs."""
    questions: list[ImageQuestions] = []
    for image in images:
        asked = claims.plan.questions_about(image.attempt.key)
        questions.append((image.image, asked))
    stores = claims.stores.judges
    command = claims.command

    def make(spec: str) -> Judge:
        # A judge that is named `clip` alone gets its encoder's name too.
        full = next((name for name in stores if name.startswith(f"{spec}:")), spec)
        resolved = find_registered(JUDGES, full)
        if on_server(JUDGES, full):
            raise T2IBenchError(f"{full} is on a server, which is not called.")
        if resolved is not None and not resolved.adapter.regenerates:
            raise T2IBenchError(f"{full} holds answers that were given once.")
        check_paths(full)
        taken = resolved.adapter.Args.model_fields if resolved else {}
        args = {key: value for key, value in command.judge_args.items() if key in taken}
        (judge,) = create_judges(
            [full], args, dtype=command.dtype, encoders=command.encoder, recorded=True
        )
        return judge

    for judge, evidence in _parts("judge", command.judge, make, stores, verdict):
        same = _compare_answers(judge, images, questions, evidence, verdict)
        if not same and any(True for _ in evidence):
            verdict.not_asked.append(f"judge {judge.name}")


def _compare_answers(
    judge: Judge,
    images: Sequence[RegeneratedImage],
    questions: Sequence[ImageQuestions],
    store: AnswerStore,
    verdict: Verdict,
) -> int:
    """Ask one judge again about images, and return how many of its answers are the same.

    Those that differ are noted on `verdict`.
    """
    reports = list(answered(questions, judge))
    answers = {
        (answer.image, answer.question, answer.classes): answer.answer
        for answer in chain.from_iterable(report.answers for report in reports)
    }
    same = 0
    asked = 0
    unlike = []
    others: set[str] = set()
    surely = False
    for regenerated, (image, asked_of_image) in zip(images, questions, strict=True):
        for question, classes in asked_of_image:
            asked += 1
            given = answers.get((image.sha256, question, classes))
            if given is None:
                continue
            claimed = store.get(regenerated.attempt.sha256 or "", question, classes)
            claimed_answer = claimed.answer if claimed else None
            if given == claimed_answer:
                same += 1
                verdict.compared.add(regenerated.attempt.file_key)
            else:
                surely = surely or regenerated.same_file
                others.add(regenerated.attempt.file_key)
                unlike.append(
                    f"asked '{question}' about {regenerated}, {judge.name} says '{given}'; "
                    f"the submission says '{claimed_answer}'"
                )
    if surely or len(unlike) > (1 - _ANSWERS_ALIKE) * (same + len(unlike)):
        verdict.differ(unlike, "answers")
    elif unlike:
        verdict.otherwise |= others
        verdict.differing.append(
            f"{len(unlike)} of {same + len(unlike)} answers of {judge.name} differ, within what "
            "another machine's drawing explains: they are about images that are other files here"
        )
    unanswered = asked - same - len(unlike)
    if unanswered:
        verdict.not_regenerated.append(
            f"{unanswered} of {asked} answers of {judge.name}{_stop(reports)}"
        )
    verdict.count("answers", same)
    return same


def _stop(reports: Sequence[AskReport]) -> str:
    """Return why a judge stopped answering, in brackets; "" if it did not."""
    stops = [report.stopped for report in reports if report.stopped]
    return f" ({stops[0]})" if stops else ""
