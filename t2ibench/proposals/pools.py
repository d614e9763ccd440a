"""Filling a task that waits for captions: the same file gives the same task, byte for byte."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from t2ibench.arguments import format_args, read_args
from t2ibench.errors import T2IBenchError, TaskFileError, shown
from t2ibench.methods.core.pools import CaptionPool, CaptionSource
from t2ibench.methods.core.schema import BaseTask
from t2ibench.models.proposers import create_proposer
from t2ibench.proposals.captions import is_id, read_captions
from t2ibench.proposals.proposal import proposal_of, propose
from t2ibench.store.file_errors import reading
from t2ibench.tasks.loader import LoadedTask, check_task, task_hash
from t2ibench.tasks.source import Document

_PARTS = ("split", "column")
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Source:
    """Where captions are: a file, folder or `datasets` id, as given, its split and column."""

    place: str
    split: str | None = None
    column: str | None = None

    @property
    def path(self) -> Path:
        """The file or folder, if it is one."""
        return Path(self.place).expanduser()

    @property
    def name(self) -> str:
        """What records call it: without the way to it."""
        remote = not self.path.exists() and is_id(self.place)
        return self.place if remote else self.path.name or self.place

    def split_of(self, pool: CaptionPool, *, of_file: bool) -> str | None:
        """The split that is read."""
        return self.split or (None if of_file else pool.split)

    def sha256(self) -> str | None:
        """What identifies it without reading any caption."""
        if not self.path.is_file():
            return None
        digest = hashlib.sha256()
        with reading(self.path), self.path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        return digest.hexdigest()


def sources(given: Mapping[str, str]) -> dict[str, Source]:
    """What --captions says.

    Examples:
        >>> sources({"coco": "phiyodr/coco2017", "coco.split": "validation"})
        {'coco': Source(place='phiyodr/coco2017', split='validation', column=None)}
    """
    parts: dict[str, dict[str, str]] = {}
    for key, value in given.items():
        pool, dot, part = key.partition(".")
        if dot and part not in _PARTS:
            raise T2IBenchError(
                f"--captions: '{shown(key)}' is unknown.",
                f"A pool takes {pool}=FILE, {' and '.join(f'{pool}.{name}=…' for name in _PARTS)}.",
            )
        if not value.strip():
            raise T2IBenchError(f"--captions {shown(key)}=: expected a file or a datasets id.")
        parts.setdefault(pool, {})[part or "place"] = value
    for pool, found in parts.items():
        if "place" not in found:
            raise T2IBenchError(
                f"--captions {format_args({f'{pool}.{k}': v for k, v in found.items()})}: which "
                "captions?",
                f"Give --captions {pool}=FILE too.",
            )
    return {pool: Source(**found) for pool, found in parts.items()}


def fill(task: LoadedTask, pool: CaptionPool, source: Source, path: Path) -> LoadedTask:
    """A task with its captions."""
    sha256 = source.sha256()
    split = source.split_of(pool, of_file=sha256 is not None)
    captions = read_captions(source.place, column=source.column, split=split, people=pool.people)
    proposal = proposal_of(task.spec.method)
    settings = read_args(proposal.Args, pool.settings, task.id, "settings of the pool")
    proposed, _ = propose(proposal, captions, create_proposer(pool.proposer), settings)
    if proposed.error is not None:
        has = f"{len(captions)}{' of one person' if pool.people else ''}"
        raise T2IBenchError(
            f"{task.id}: too few captions: '{shown(source.place)}' has {has}, and no bias has the "
            f"{getattr(settings, 'support', 1)} that it needs.",
            f"Expected: {pool.title}; give the whole of {pool.file}.",
        )
    texts = "".join(f"{text}\n" for text in captions)
    drawn = CaptionSource(
        source=source.name,
        split=split,
        column=source.column,
        sha256=sha256 or hashlib.sha256(texts.encode()).hexdigest(),
        of="file" if sha256 is not None else "texts",
        captions=len(captions),
        dropped=dict(sorted(proposed.dropped.items())),
    )
    content = task.spec.model_dump(mode="json", exclude_unset=True) | dict(proposed.body)
    content["pool"] = pool.given(drawn).model_dump(mode="json", exclude_unset=True)
    spec = type(task.spec).model_validate(content)
    errors = [str(one) for one in check_task(spec, Document(path)) if not one.warning]
    if errors:
        raise TaskFileError(errors)
    return LoadedTask(spec, path, task.group, task_hash(spec), task.line)


def task_text(spec: BaseTask) -> str:
    """A task as a file of its own: words and captions put in."""
    content = spec.model_dump(mode="json", exclude_unset=True)
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100))
