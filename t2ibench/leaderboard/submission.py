"""A submission: results, and the evidence that every score can be recomputed from."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from t2ibench.errors import T2IBenchError
from t2ibench.leaderboard.bounds import LARGEST, LARGEST_MANIFEST, read_json, sha256_of
from t2ibench.leaderboard.card import Card, Evidence
from t2ibench.leaderboard.packing import pack_evidence, without_paths
from t2ibench.leaderboard.thumbs import QUALITY, SIZE
from t2ibench.models.encoders import embeds_images
from t2ibench.models.generators import can_regenerate
from t2ibench.pipeline.captions import keep
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.progress import Reporter
from t2ibench.pipeline.rescore import stored_plan
from t2ibench.pipeline.scoring import open_stores, score_plan
from t2ibench.results.files import assemble, generator_info, stored_results
from t2ibench.results.record import ControlRecord, EncoderRecord, GeneratorRecord
from t2ibench.results.run import RunFolder, open_run
from t2ibench.results.schema import Results
from t2ibench.settings import Measurement
from t2ibench.store.evidence import slug
from t2ibench.store.files import write_bytes, write_text
from t2ibench.store.images import Attempt, ImageStore
from t2ibench.store.jsonl import write_rows
from t2ibench.store.pixels import UnreadableImageError, thumbnail
from t2ibench.version import __version__

SHOWN_IMAGES = 2  # of a prompt
# Every file that a submission may hold.
FILES = re.compile(
    r"results\.json|attempts\.jsonl|thumbs/[0-9a-f]{64}\.jpg"
    r"|tasks/[a-z0-9_]{1,80}\.yaml"
    r"|evidence/[A-Za-z0-9._-]{1,110}/(?:images|texts)-packed\.safetensors"
    r"|evidence/answers-[A-Za-z0-9._-]{1,110}/answers-packed\.jsonl"
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(min_length=1, max_length=300)]


def _named_by_hash(control: ControlRecord) -> ControlRecord:
    """A control whose name and fingerprint may become the name of a folder."""
    if len(control.name) > 300 or not _SHA256.fullmatch(control.fingerprint):
        raise ValueError("expected a name and a SHA-256")
    return control


class Manifest(BaseModel):
    """submission.json.

    Attributes:
        version: Of this schema.
        t2ibench: Version that packed it.
        name: What the leaderboard calls the model.
        model: As given to --model, so that the images can be generated again.
        model_args: As given to --model-args.
        fingerprint: The generator's.
        revision: Version of the weights.
        encoders: Name to fingerprint.
        controls: Encoders of random weights, by the encoder that they are held against.
        judges: Name to fingerprint.
        files: File to SHA-256, evidence that lies elsewhere included.
        card: What the submitter says of the model.
        evidence: Where the evidence lies, if not in the folder.
    """

    model_config = ConfigDict(extra="forbid")

    version: Literal[3] = 3
    t2ibench: Annotated[str, Field(max_length=40)]
    name: Annotated[str, Field(min_length=1, max_length=120)]
    model: Annotated[str, Field(min_length=1, max_length=300)]
    model_args: dict[Name, Annotated[str, Field(max_length=2000)]] = Field(
        default_factory=dict, max_length=200
    )
    fingerprint: Sha256
    revision: Annotated[str, Field(max_length=200)] | None = None
    encoders: dict[Name, Sha256] = Field(max_length=20)
    controls: dict[Name, Annotated[ControlRecord, AfterValidator(_named_by_hash)]] = Field(
        default_factory=dict, max_length=20
    )
    judges: dict[Name, Sha256] = Field(default_factory=dict, max_length=20)
    files: dict[Name, Sha256]
    card: Card = Field(default_factory=Card)
    evidence: Evidence | None = None

    def encoder_records(self) -> dict[str, EncoderRecord]:
        """The encoders as a run records them."""
        return {
            name: EncoderRecord(fingerprint=fingerprint, embeds_images=embeds_images(name))
            for name, fingerprint in self.encoders.items()
        }


class PackedImages:
    """The outcome of every attempt, without the images (see pipeline.scoring.Images)."""

    def __init__(self, attempts: Iterable[Attempt]) -> None:
        self._attempts = {(attempt.prompt, attempt.index): attempt for attempt in attempts}

    def get(self, prompt: str, index: int) -> Attempt | None:
        """What is known of an image."""
        return self._attempts.get((prompt, index))


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
    pack_evidence(folder, plan, attempts, target / "evidence")
    stores = open_stores(target / "evidence", record.encoders, record.judges, record.controls)
    scored = score_plan(plan, PackedImages(attempts), stores, reporter)
    info = generator_info(generator)
    if name:
        info = info.model_copy(update={"name": name})
    settings = record.repeatable()
    assert settings is not None  # _check refuses runs of Python objects
    # Paths on this machine are not part of a submission.
    settings = settings.model_copy(
        update={
            "output_dir": "runs",
            "name": None,
            "include_path": (),
            **without_paths(settings, record.pools),
        }
    )
    results = assemble(info, scored.results, settings)
    write_text(target / "results.json", results.to_json())
    keep(plan.tasks, target)
    for key, data in shown.items():
        write_bytes(target / "thumbs" / f"{key}.jpg", data)
    _write_manifest(folder, results, target, card or Card())
    return target


def shown_prompts(prompts: Iterable[str], count: int) -> list[str]:
    """The prompts whose images are shown: the same ones for every model."""
    return sorted(set(prompts), key=lambda text: hashlib.sha256(text.encode()).digest())[:count]


def _thumbnails(attempts: Sequence[Attempt], images: ImageStore, count: int) -> dict[str, bytes]:
    """Key of an image to a small JPEG."""
    shown: dict[str, bytes] = {}
    chosen = set(shown_prompts((attempt.prompt for attempt in attempts), count))
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
    if record.measurement.seed != Measurement().seed:
        raise T2IBenchError(
            f"'{run}' was made with --seed {record.measurement.seed}; the leaderboard takes the "
            f"default, {Measurement().seed}, so that nobody chooses among seeds.",
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
    row = {
        "prompt": attempt.prompt,
        "index": attempt.index,
        "seed": attempt.seed,
        "status": attempt.status,
    }
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


def read_manifest(target: Path) -> Manifest:
    """Read submission.json."""
    file = target / "submission.json"
    if not target.is_dir():
        raise T2IBenchError(f"No such folder: '{target}'.", "Check the path.")
    try:
        data = read_json(file, LARGEST_MANIFEST)
    except (OSError, ValueError):
        raise T2IBenchError(
            f"'{target}' is not a submission: it has no readable submission.json.",
            "`t2ibench leaderboard add RUN` makes one.",
        ) from None
    if isinstance(data, dict) and data.get("version") in {1, 2}:
        raise T2IBenchError(
            f"'{target}' was packed by an older version of t2ibench, in a form that is not read.",
            "Pack the run again with this version: `t2ibench leaderboard add RUN`.",
        )
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise T2IBenchError(f"{file}: {where}: {first['msg']}.") from None
