"""The format of a submission: its results, and the evidence that they are recomputed from."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from t2ibench.apps.leaderboard.bounds import LARGEST_MANIFEST, read_json
from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.models.encoders import embeds_images
from t2ibench.results.record import ControlRecord, EncoderRecord

# adapters of images, answers and rewritings that exist
_ON_DISK = ("folder", "answers", "file")
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
Short = Annotated[str, Field(min_length=1, max_length=120)]
# Every file that a submission may hold beside submission.json.
FILES = re.compile(r"results\.json|evidence\.db|plan\.json|pictures/[0-9a-f]{64}\.jpg")
_SHA256 = re.compile(r"[0-9a-f]{64}")
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, Field(min_length=1, max_length=300)]


def _day(text: str) -> str:
    """Return a date such as 2026-05-01, 2026-05 or 2026; raise an error if it has no such form."""
    if not _DATE.fullmatch(text):
        raise ValueError("expected a date such as 2026-05-01, 2026-05 or 2026")
    date.fromisoformat((text + "-01-01")[:10])
    return text


def _web(text: str) -> str:
    """Return a web address; raise an error if a page must not link to it."""
    parts = urlsplit(text)
    plain = text.isascii() and text.isprintable() and not set(" <>\"'`\\") & set(text)
    if (
        parts.scheme not in {"http", "https"}
        or not parts.hostname
        or "@" in parts.netloc
    ):
        raise ValueError("expected an address such as https://example.org/model")
    if not plain:
        raise ValueError(
            "expected an address of ASCII letters, digits and simple signs"
        )
    return text


class Card(BaseModel):
    """What the submitter says of the model; the leaderboard shows it as stated.

    `pictures` is the licence under which the submitter lets everybody show pictures of the run.
    """

    model_config = ConfigDict(extra="forbid")

    licence: Short | None = None
    parameters: (
        Annotated[str, Field(pattern=r"^\d{1,6}(\.\d{1,3})? ?[KMBT]?$")] | None
    ) = None
    released: Annotated[str, AfterValidator(_day)] | None = None
    weights: Literal["open", "hosted"] | None = None
    submitter: Short | None = None
    submitted: Annotated[str, AfterValidator(_day)] | None = None
    url: Annotated[str, Field(max_length=300), AfterValidator(_web)] | None = None
    pictures: Short | None = None

    def facts(self) -> list[tuple[str, str, str | None]]:
        """Return heading, text and link of each of the submitter's statements on the model."""
        statements = self.model_dump(exclude={"url", "pictures"}).items()
        facts = [
            (name.capitalize(), text or "not stated", None) for name, text in statements
        ]
        return [*facts, ("Page", self.url or "not stated", self.url)]


def _named_by_hash(control: ControlRecord) -> ControlRecord:
    """Return an untrained control's record; raise an error for an invalid name or SHA-256."""
    if len(control.name) > 300 or not _SHA256.fullmatch(control.fingerprint):
        raise ValueError("expected a name and a SHA-256")
    return control


def without_path(given: str) -> str:
    """Return the spec of a model, judge or rewriter with a file's name in place of its path.

    Examples:
        >>> without_path("folder:/home/anna/images"), without_path("hf:org/name")
        ('folder:images', 'hf:org/name')
    """
    kind, _, source = given.partition(":")
    return f"{kind}:{Path(source).name}" if kind in _ON_DISK else given


class Manifest(BaseModel):
    """Content of submission.json: the model, and the fingerprints of models and files.

    `controls` are the encoders of random weights, by the encoder that they are compared with.
    """

    model_config = ConfigDict(extra="forbid")

    version: Literal[4] = 4
    t2ibench: Annotated[str, Field(max_length=40)]
    name: Annotated[str, Field(min_length=1, max_length=120)]
    model: Annotated[str, Field(min_length=1, max_length=300)]
    model_args: dict[Name, Annotated[str, Field(max_length=2000)]] = Field(
        default_factory=dict, max_length=200
    )
    fingerprint: Sha256
    revision: Annotated[str, Field(max_length=200)] | None = None
    encoders: dict[Name, Sha256] = Field(max_length=20)
    controls: dict[Name, Annotated[ControlRecord, AfterValidator(_named_by_hash)]] = (
        Field(default_factory=dict, max_length=20)
    )
    judges: dict[Name, Sha256] = Field(default_factory=dict, max_length=20)
    files: dict[Name, Sha256]
    card: Card = Field(default_factory=Card)
    evidence: None = Field(default=None, exclude=True)  # of earlier versions

    def encoder_records(self) -> dict[str, EncoderRecord]:
        """Return the record of each encoder, by its name, as a run stores it."""
        return {
            name: EncoderRecord(
                fingerprint=fingerprint, embeds_images=embeds_images(name)
            )
            for name, fingerprint in self.encoders.items()
        }


def read_manifest(target: Path) -> Manifest:
    """Return the content of submission.json; raise an error if it is missing or invalid."""
    file = target / "submission.json"
    if not target.is_dir():
        raise T2IBenchError(
            f"No such folder: '{shown_path(target)}'.", "Check the path."
        )
    try:
        data = read_json(file, LARGEST_MANIFEST)
    except (OSError, ValueError):
        raise T2IBenchError(
            f"'{target}' is not a submission: it has no readable submission.json.",
            "`t2ibench leaderboard add RUN` makes one.",
        ) from None
    try:
        return Manifest.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise T2IBenchError(f"{file}: {where}: {first['msg']}.") from None
