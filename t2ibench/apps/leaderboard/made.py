"""What a submission claims, and what of it was made again."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.apps.leaderboard.submission import Manifest
from t2ibench.models.on_server import OnServer
from t2ibench.models.resolve import find_registered
from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.scoring import Stores
from t2ibench.registry import Registry
from t2ibench.results.schema import Results
from t2ibench.settings import RunSettings
from t2ibench.store.images import Attempt

if TYPE_CHECKING:
    from PIL.Image import Image

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Made:
    """An image that was generated again.

    Attributes:
        attempt: What the submission says of it.
        data: The bytes of its PNG file.
        image: The image as it is read from that file.
    """

    attempt: Attempt
    data: bytes
    image: Image

    @property
    def same_file(self) -> bool:
        """Whether the file is the submission's, to the last byte."""
        return hashlib.sha256(self.data).hexdigest() == self.attempt.sha256

    def __str__(self) -> str:
        return f"image {self.attempt.index} of '{self.attempt.prompt}'"


@dataclass(slots=True)
class Again:
    """What was made again.

    Attributes:
        problems: What came out otherwise.
        lacking: What could not be made here, and why.
        parts: Kind of evidence to how much of it was made again and is the same.
        thumbnails: Keys of the thumbnails that are those of images made again.
        compared: Keys of the images that were compared with anything the submission holds.
        model: Whether the model could be made, so that its settings were compared.
        effective: Whether its effective settings were compared.
    """

    problems: list[str] = field(default_factory=list)
    lacking: list[str] = field(default_factory=list)
    parts: dict[str, int] = field(default_factory=dict)
    thumbnails: set[str] = field(default_factory=set)
    compared: set[str] = field(default_factory=set)
    model: bool = False
    effective: bool = False

    def differ(self, lines: Sequence[str], what: str) -> None:
        """Add problems of one kind: the first in full, the others as a number."""
        self.problems += lines[:_SHOWN]
        if len(lines) > _SHOWN:
            self.problems.append(f"and {len(lines) - _SHOWN} more {what}")

    def count(self, part: str, number: int) -> None:
        """Add to a part."""
        if number:
            self.parts[part] = self.parts.get(part, 0) + number


@dataclass(frozen=True, slots=True)
class Claimed:
    """A submission, read.

    Attributes:
        folder: Where it is.
        manifest: submission.json.
        results: results.json.
        command: The settings that its command stands for.
        plan: What its tasks need.
        attempts: Its images.
        stores: Its evidence.
    """

    folder: Path
    manifest: Manifest
    results: Results
    command: RunSettings
    plan: Plan
    attempts: Sequence[Attempt]
    stores: Stores


def on_server(registry: Registry[Any], spec: str) -> bool:
    """Whether a name is of an adapter that calls a server, which a submission must not choose."""
    resolved = find_registered(registry, spec)
    return resolved is not None and issubclass(resolved.adapter.Args, OnServer)
