"""Functions that fill tasks which wait for captions; the same file gives the same task."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from t2ibench.arguments import read_args
from t2ibench.errors import T2IBenchError, TaskFileError, shown
from t2ibench.methods.core.pools import CaptionPool, CaptionSource
from t2ibench.methods.core.schema import BaseTask
from t2ibench.models.proposers import create_proposer
from t2ibench.proposals.captions import TableLayout, is_id, read_captions
from t2ibench.proposals.proposal import proposal_of, propose
from t2ibench.store.file_errors import reading
from t2ibench.store.user_paths import expanded
from t2ibench.tasks.loader import LoadedTask, check_task, task_hash
from t2ibench.tasks.source import Document


@dataclass(frozen=True, slots=True)
class Source:
    """A source of captions: a file, a folder or a data set.

    Attributes:
        place: A file, a folder or the id of a data set, as the user gave it.
        columns: Headings of its table, by role.
    """

    place: str
    columns: Mapping[str, str] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        """The place as a path, whether or not it exists."""
        return expanded(self.place)

    @property
    def name(self) -> str:
        """Name of the source in records: the data set's id, or the file name without folders."""
        remote = not self.path.exists() and is_id(self.place)
        return self.place if remote else self.path.name or self.place

    def sha256(self) -> str | None:
        """Return the SHA-256 of the file; None for a folder or a data set."""
        if not self.path.is_file():
            return None
        with reading(self.path):
            return hashlib.sha256(self.path.read_bytes()).hexdigest()


def fill(task: LoadedTask, pool: CaptionPool, source: Source, path: Path) -> LoadedTask:
    """Return a task that waits for captions, filled with the captions of a source.

    Raises:
        T2IBenchError: the source has too few captions.
        TaskFileError: the filled task is invalid.
    """
    sha256 = source.sha256()
    split = None if sha256 is not None else pool.split
    layout = TableLayout(columns=source.columns)
    captions = read_captions(
        source.place, split=pool.split, people=pool.people, layout=layout
    )
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
    caption_source = CaptionSource(
        source=source.name,
        split=split,
        column=None,  # stored runs may name one
        sha256=sha256 or hashlib.sha256(texts.encode()).hexdigest(),
        of="file" if sha256 is not None else "texts",
        captions=len(captions),
        dropped=dict(sorted(proposed.dropped.items())),
    )
    content = task.spec.model_dump(mode="json", exclude_unset=True) | dict(
        proposed.body
    )
    content["pool"] = pool.given(caption_source).model_dump(
        mode="json", exclude_unset=True
    )
    spec = type(task.spec).model_validate(content)
    errors = [
        str(problem)
        for problem in check_task(spec, Document(path))
        if not problem.warning
    ]
    if errors:
        raise TaskFileError(errors)
    return LoadedTask(spec, path, task.group, task_hash(spec), task.line)


def task_text(spec: BaseTask) -> str:
    """Return the YAML text of a task with its words and captions filled in."""
    content = spec.model_dump(mode="json", exclude_unset=True)
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100))
