"""Verdicts, which whoever builds the site makes, and never whoever submits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard.bounds import plain_files, sha256_of
from t2ibench.apps.leaderboard.remote import is_small, unpacked
from t2ibench.apps.leaderboard.verify import MINUTES, VERIFIED, Verdict, verify
from t2ibench.errors import T2IBenchError
from t2ibench.results.files import read_results
from t2ibench.results.paired import dump_paired, load_paired
from t2ibench.store.files import set_aside, write_bytes, write_text
from t2ibench.tasks.index import build_index
from t2ibench.version import __version__

_INFLUENCES = "influences.safetensors"
_KEPT = ("level", "notes", "tasks", "parts", "lacking", "stated")


class Verifier:
    """Verifies submissions, each once for as long as nothing that decides its verdict changes.

    Args:
        roots: Folders of submissions.
        draw: Number of images of each to generate again.
        minutes: How long one may take.
        local: Whether evidence may lie on this disk, or in a private network.
        file: Where verdicts are kept between builds, and beside it, in a folder `FILE.scores`, the
            recomputed scores; None keeps none. It has to lie where nobody who submits can write.

    Raises:
        T2IBenchError: the file lies in the checkout that holds the submissions.

    Attributes:
        remark: What to know of the file, if it could not be read.
    """

    def __init__(
        self,
        roots: Iterable[Path],
        draw: int = 0,
        file: Path | None = None,
        minutes: float = MINUTES,
        local: bool = False,
    ) -> None:
        self._draw, self._file, self._minutes, self._local = draw, file, minutes, local
        self._known: dict[str, Any] = {}
        self.remark: str | None = None
        if file is not None:
            for root in roots:
                top = root.resolve()
                checkout = next((p for p in (top, *top.parents) if (p / ".git").exists()), top)
                if file.resolve().is_relative_to(checkout):
                    raise T2IBenchError(
                        f"'{file}' lies in {checkout}, as the submissions do: a pull request could "
                        "write it.",
                        "Keep verdicts elsewhere, such as ~/t2ibench-verdicts.json.",
                    )
            self._known = self._read(file)
        self._changed = False

    def __call__(self, folder: Path) -> Verdict:
        """Verify a submission, or recall what was found."""
        key = None if self._file is None else key_of(folder)
        known = self._known.get(key or "")
        # What is damaged is verified again.
        with suppress(T2IBenchError, ValueError, OSError, TypeError, LookupError):
            if known is not None and known["drawn"] >= self._draw:
                scores = self._scores(str(key))
                return Verdict(
                    **{name: known[name] for name in _KEPT},
                    results=read_results(scores),
                    paired=load_paired((scores / _INFLUENCES).read_bytes()),
                )
        found = verify(folder, self._draw, minutes=self._minutes, local=self._local)
        return self.keep(folder, found, key)

    def _scores(self, key: str) -> Path:
        """Where the recomputed scores of a submission are kept."""
        assert self._file is not None
        return self._file.with_name(f"{self._file.name}.scores") / key

    def keep(self, folder: Path, verdict: Verdict, key: str | None = None) -> Verdict:
        """Remember a verdict that was made just now."""
        key = key or (None if self._file is None else key_of(folder))
        if key is None:
            return verdict  # nothing is kept, or the folder cannot be read twice alike
        drawn = self._draw if verdict.level == "reproduced" else 0
        if verdict.results is None or verdict.level not in VERIFIED:
            self._known.pop(key, None)
        elif key not in self._known or drawn >= self._known[key]["drawn"]:
            said = {name: getattr(verdict, name) for name in _KEPT}
            self._known[key] = {**said, "drawn": drawn}
            write_text(self._scores(key) / "results.json", verdict.results.to_json())
            write_bytes(self._scores(key) / _INFLUENCES, dump_paired(verdict.paired))
        self._changed = True
        return verdict

    def save(self) -> None:
        """Write what is new to the file, if there is one."""
        if self._file is not None and self._changed:
            text = json.dumps({"version": 1, "verdicts": self._known}, indent=1) + "\n"
            write_text(self._file, text)
            self._changed = False

    def _read(self, file: Path) -> dict[str, Any]:
        if not file.exists():
            return {}
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            if data["version"] == 1 and isinstance(data["verdicts"], dict):
                return dict(data["verdicts"])
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            pass
        kept = set_aside(file)
        self.remark = f"{file} holds no verdicts and is now {kept.name}; everything is verified."
        return {}


def key_of(folder: Path) -> str | None:
    """What decides the verdict on a submission, as a key."""
    try:
        files, problems = plain_files(folder)
        if problems:
            return None
        files["submission.json"] = folder / "submission.json"
        hashes = {name: sha256_of(path) for name, path in files.items()}
        # Evidence that lies elsewhere has its hash in submission.json.
        small = is_small(folder)
        scored = json.loads(unpacked(folder))["tasks"] if small else read_results(folder).tasks
        shipped = build_index()[0].tasks
        tasks = {
            name: [shipped[name].spec.version, shipped[name].hash] if name in shipped else None
            for name in scored
        }
        text = json.dumps([__version__, tasks, hashes], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()
    except (OSError, ValueError, LookupError, TypeError, T2IBenchError, RecursionError):
        return None
