"""Limits of a submission's size and settings, checked before anything is computed from it."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError, shown_path
from t2ibench.methods import needs
from t2ibench.models.generators.passthrough import value_of
from t2ibench.results.schema import TaskSettings
from t2ibench.settings import Settings, derived_seed
from t2ibench.store.json_text import read_json_text
from t2ibench.tasks.loader import LoadedTask

LARGEST = 50_000_000  # bytes of a submission
LARGEST_JSON = 20_000_000  # bytes of results.json
LARGEST_MANIFEST = 4_000_000  # bytes of submission.json
DEEPEST = 40  # JSON inside JSON
MOST_FILES = 6000
_TIMES_DRAWS = 10  # of the defaults
_MOST_IMAGES = 100_000  # of a task
_MOST = {"steps": 1000, "tokens": 65_536}  # by the last word of an argument's name
_MOST_OTHERWISE = 4096  # such as pixels of a side
# Arguments that decide nothing, or that are text where they hold digits only.
_FREE = frozenset(
    {
        "negative_prompt",
        "revision",
        "template",
        "timeout",
        "retries",
        "workers",
    }
)
_REPEAT_SECONDS = 5.0  # after which a deadline is repeated to code that did not heed it


def plain_files(folder: Path) -> dict[str, Path]:
    """Return each file of a submission but submission.json, by its relative name; opens none."""
    if not folder.is_dir():
        raise T2IBenchError(
            f"No such folder: '{shown_path(folder)}'.", "Check the path."
        )
    files: dict[str, Path] = {}
    size = 0
    for seen, path in enumerate(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if seen == MOST_FILES:
            raise T2IBenchError(f"it has more than {MOST_FILES} files")
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise T2IBenchError(f"{name} is not a plain file; only those are accepted")
        if path.is_file() and name != "submission.json":
            files[name] = path
            size += path.stat().st_size
    if size > LARGEST:
        raise T2IBenchError(
            f"it has {size / 1e6:.0f} MB; {LARGEST / 1e6:.0f} are accepted"
        )
    return dict(sorted(files.items()))


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, as hexadecimal text."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def read_json(path: Path, largest: int = LARGEST_JSON) -> Any:
    """Return the content of a JSON file; an error if it is too large or nested too deeply."""
    size = path.stat().st_size
    if not path.is_file() or size > largest:
        raise ValueError(
            f"it has {size / 1e6:.1f} MB; {largest / 1e6:.0f} are accepted"
        )
    try:
        data = read_json_text(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level = [data]
    for _ in range(DEEPEST):  # without recursion
        inside = [value for value in level if isinstance(value, dict | list)]
        level = [
            member
            for container in inside
            for member in (
                container.values() if isinstance(container, dict) else container
            )
        ]
        if not level:
            return data
    raise ValueError("it is nested too deeply")


def checked_settings(recorded: Sequence[TaskSettings], fingerprint: str) -> Settings:
    """Return the settings that all tasks share; raise an error if they are not acceptable.

    Args:
        recorded: The settings of each task.
        fingerprint: That of the model, from which the seed may be derived.
    """
    settings_used = list(dict.fromkeys(map(Settings.of, recorded)))
    usual_settings = Settings()
    derived = derived_seed(fingerprint)
    for settings in settings_used:
        for what, made, usual in (
            ("permutations", settings.n_permutations, usual_settings.n_permutations),
            ("bootstrap draws", settings.n_bootstrap, usual_settings.n_bootstrap),
        ):
            if not usual <= made <= _TIMES_DRAWS * usual:
                raise T2IBenchError(
                    f"it was scored with {_number(made)} {what}; the leaderboard takes the "
                    f"default, {usual}, or at most {_TIMES_DRAWS} times as many"
                )
        if settings.level != usual_settings.level:
            raise T2IBenchError(
                f"its intervals are at {settings.level}, not at {usual_settings.level}"
            )
        if settings.seed not in {usual_settings.seed, derived}:
            raise T2IBenchError(
                f"it was made with --seed {_number(settings.seed)}; the leaderboard takes --seed "
                f"derived, which is {derived} for this model, or {usual_settings.seed}, so that "
                "nobody chooses among seeds"
            )
    if len(settings_used) > 1:
        raise T2IBenchError(
            "its tasks were measured with different settings; run them together"
        )
    return settings_used[0]


def _number(value: int) -> str:
    return str(value) if value < 10**15 else "far too many"


def image_problems(tasks: Sequence[LoadedTask], settings: Settings) -> Iterator[str]:
    """Yield a message for each task measured with more images than the leaderboard accepts."""
    for task in tasks:
        images = sum(needs(task.spec, settings).images_by_prompt.values())
        if images > _MOST_IMAGES:
            yield f"{task.id} was measured with {_number(images)} images; at most {_MOST_IMAGES}"


def argument_problems(kind: str, args: Mapping[str, str]) -> Iterator[str]:
    """Yield a message for each argument of a model that could take too much time or memory."""
    for name, text in args.items():
        most = _MOST.get(name.rpartition("_")[2], _MOST_OTHERWISE)
        if name not in _FREE and any(
            not abs(number) <= most for number in _numbers(value_of(text))
        ):
            shortened = text if len(text) <= 40 else f"{text[:40]}…"
            yield f"its {kind} has {name}={shortened}; the leaderboard takes numbers up to {most}"


def _numbers(value: Any) -> Iterator[float]:
    """Yield the numbers in an argument at any depth, including numbers written as text."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _numbers(inner)
    elif isinstance(value, str):
        for part in value.lower().replace("×", "x").split("x"):
            try:
                number = float(part)
            except ValueError:
                continue
            if any(letter.isdigit() for letter in part):
                yield number
    elif isinstance(value, int | float):
        yield value


class TimeOver(BaseException):
    """Raised when a submission exceeds its time limit; no handler of ordinary errors catches it."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise `TimeOver` if the enclosed code takes longer than `seconds`; no effect on Windows."""
    if threading.current_thread() is not threading.main_thread() or os.name == "nt":
        yield
        return

    def over(*_: object) -> None:
        raise TimeOver

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, min(seconds, 1e8), _REPEAT_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
