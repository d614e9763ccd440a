"""Verdicts, which whoever builds the site makes, and never whoever submits."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from t2ibench.apps.leaderboard.bounds import plain_files, sha256_of
from t2ibench.apps.leaderboard.verify import MINUTES, REFUSED, Verdict, verify
from t2ibench.errors import T2IBenchError
from t2ibench.results.files import read_results
from t2ibench.results.paired import dump_paired, load_paired
from t2ibench.store.files import write_bytes, write_text
from t2ibench.tasks.index import build_index
from t2ibench.version import __version__

# What reading files that somebody may have damaged can raise.
_DAMAGED = (T2IBenchError, ValueError, OSError, TypeError, LookupError, RecursionError)
_VERDICT, _INFLUENCES = "verdict.json", "influences.safetensors"
_KEPT = ("level", "notes", "tasks", "parts", "lacking", "stated")


class Verifier:
    """Verifies submissions, each once for as long as nothing that decides its verdict changes.

    Args:
        roots: Folders of submissions.
        draw: Number of images of each to generate again.
        home: Folder where verdicts and recomputed scores are kept between builds; None keeps
            none. It has to lie where nobody who submits can write.
        minutes: How long one may take.
        local: Whether evidence may lie on this disk, or in a private network.

    Raises:
        T2IBenchError: the folder lies in the checkout that holds the submissions.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        draw: int = 0,
        home: Path | None = None,
        minutes: float = MINUTES,
        local: bool = False,
    ) -> None:
        self._draw, self._home, self._minutes, self._local = draw, home, minutes, local
        for top in (root.resolve() for root in roots):
            checkout = next((p for p in (top, *top.parents) if (p / ".git").exists()), top)
            if home is not None and home.resolve().is_relative_to(checkout):
                raise T2IBenchError(
                    f"'{home}' lies in {checkout}, as the submissions do: a pull request could "
                    "write it.",
                    "Keep verdicts elsewhere, such as ~/t2ibench-verdicts.",
                )

    def __call__(self, folder: Path) -> Verdict:
        """Recall what was found of a submission, or verify it."""
        place = self._place(folder)
        # What is damaged is verified again.
        with suppress(*_DAMAGED):
            if place is not None and _drawn(place) >= self._draw:
                known = json.loads((place / _VERDICT).read_text(encoding="utf-8"))
                return Verdict(
                    **{name: known[name] for name in _KEPT},
                    results=read_results(place),
                    paired=load_paired((place / _INFLUENCES).read_bytes()),
                )
        return self.check(folder)

    def check(self, folder: Path, seed: int | None = None) -> Verdict:
        """Verify a submission and keep the verdict: a refusal forgets, a quick check does not."""
        verdict = verify(folder, self._draw, seed, self._minutes, self._local)
        place = self._place(folder)
        if place is None:
            return verdict
        if verdict.results is None or verdict.level == REFUSED:
            shutil.rmtree(place, ignore_errors=True)
            return verdict
        drawn = self._draw if verdict.level == "reproduced" else 0
        if drawn >= _drawn(place):
            said = {name: getattr(verdict, name) for name in _KEPT} | {"drawn": drawn}
            write_text(place / "results.json", verdict.results.to_json())
            write_bytes(place / _INFLUENCES, dump_paired(verdict.paired))
            write_text(place / _VERDICT, json.dumps(said, indent=1) + "\n")
        return verdict

    def _place(self, folder: Path) -> Path | None:
        """Where its verdict is; None where nothing is kept, or it cannot be read twice alike."""
        key = key_of(folder) if self._home else None
        return self._home / key if self._home and key else None


def _drawn(place: Path) -> int:
    """How many images were drawn for the verdict that is kept; -1 without one."""
    with suppress(*_DAMAGED):
        return int(json.loads((place / _VERDICT).read_text(encoding="utf-8"))["drawn"])
    return -1


def key_of(folder: Path) -> str | None:
    """What decides the verdict on a submission, as a key."""
    with suppress(*_DAMAGED):
        files, problems = plain_files(folder)
        if problems:
            return None
        files["submission.json"] = folder / "submission.json"
        # Evidence that lies elsewhere has its hash in submission.json.
        hashes = {name: sha256_of(path) for name, path in files.items()}
        shipped = build_index()[0].tasks
        tasks = {
            name: [shipped[name].spec.version, shipped[name].hash] if name in shipped else None
            for name in read_results(folder).tasks
        }
        text = json.dumps([__version__, tasks, hashes], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
    return None
