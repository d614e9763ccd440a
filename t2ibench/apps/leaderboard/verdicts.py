"""Verification of all submissions for the site, with a cache of what was regenerated."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard.bounds import plain_files, sha256_of
from t2ibench.apps.leaderboard.regenerate import REFUSED, Verdict
from t2ibench.apps.leaderboard.verify import MINUTES, verify
from t2ibench.errors import T2IBenchError
from t2ibench.identity import sha256_of_json
from t2ibench.source_code import source_digest
from t2ibench.store.files import read_ordinary, write_text
from t2ibench.store.user_paths import resolved
from t2ibench.tasks.index import build_index

# The key of a cached verdict's file to the attribute of the verdict. A file that lacks one of them,
# as older ones do, is not used: its submission is regenerated.
_CACHED = {
    "level": "level",
    "notes": "notes",
    "parts": "parts",
    "lacking": "not_regenerated",
    "differing": "differing",
    "stated": "unconfirmed",
    "totals": "totals",
    "same_files": "same_files",
    "pictures": "checked_pictures",
    "tilts": "tilt_check",
}


class Verifier:
    """Verifies submissions, and caches verdicts until a file, a task or t2ibench changes.

    `roots` are folders of submissions, `draw` is how many images of each to generate again. Scores
    are always recomputed; what making evidence again gave is kept in `home`, which has to lie where
    nobody who submits can write.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        draw: int = 0,
        home: Path | None = None,
        minutes: float = MINUTES,
    ) -> None:
        self._draw, self._home, self._minutes = draw, home, minutes
        for top in (resolved(root) for root in roots):
            checkout = next(
                (
                    folder
                    for folder in (top, *top.parents)
                    if (folder / ".git").exists()
                ),
                top,
            )
            if home is not None and resolved(home).is_relative_to(checkout):
                raise T2IBenchError(
                    f"'{home}' lies in {checkout}, as the submissions do: a pull request could "
                    "write it.",
                    "Keep verdicts elsewhere, such as ~/t2ibench-verdicts.",
                )

    def __call__(self, folder: Path) -> Verdict:
        """Return the verdict on a submission, with recomputed scores and a cached regeneration."""
        stored = _read(self._file(folder))
        if stored.get("drawn", -1) < self._draw:
            return self.check(folder)
        verdict = verify(folder, 0, None, self._minutes)
        if verdict.level != REFUSED:
            for key, attribute in _CACHED.items():
                setattr(verdict, attribute, stored[key])
        return verdict

    def check(self, folder: Path, seed: int | None = None) -> Verdict:
        """Verify a submission and cache the verdict; a rejection deletes what was cached."""
        verdict = verify(folder, self._draw, seed, self._minutes)
        if file := self._file(folder):
            drawn = self._draw if verdict.level == "reproduced" else 0
            if verdict.level == REFUSED:
                file.unlink(missing_ok=True)
            elif self._draw and drawn >= _read(file).get("drawn", -1):
                stored: dict[str, Any] = {
                    key: getattr(verdict, attribute)
                    for key, attribute in _CACHED.items()
                }
                write_text(file, json.dumps(stored | {"drawn": drawn}, indent=1) + "\n")
        return verdict

    def _file(self, folder: Path) -> Path | None:
        """Return the path of a submission's cached verdict; None if it cannot be cached."""
        key = key_of(folder) if self._home else None
        return self._home / f"{key}.json" if self._home and key else None


def _read(file: Path | None) -> dict[str, Any]:
    """Return the content of a cached verdict; empty if it is damaged or missing."""
    with suppress(OSError, ValueError, RecursionError):
        stored = json.loads(read_ordinary(file)) if file else {}
        if isinstance(stored, dict) and {"drawn", *_CACHED} <= stored.keys():
            return stored
    return {}


def key_of(folder: Path) -> str | None:
    """Return a hash of all that a verdict depends on; None if the files cannot be read.

    The rules are part of it: a verdict by milder ones would be stated of a submission that today's
    refuse.
    """
    rules = source_digest()
    if rules is None:
        return None
    with suppress(T2IBenchError, OSError):
        files = plain_files(folder) | {"submission.json": folder / "submission.json"}
        hashes = {name: sha256_of(path) for name, path in files.items()}
        tasks = {name: task.hash for name, task in build_index()[0].tasks.items()}
        return sha256_of_json([rules, tasks, hashes])
    return None
