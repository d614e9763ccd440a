"""Try each reader with bytes that reach new branches of t2ibench, as atheris finds them.

    pip install atheris
    python -m tests.chaos.guided --minutes 20
    python -m tests.chaos.guided --reader plans --seconds 300

What reached a new branch is kept in a corpus, and what failed beside it (`crash-…`): both are tried
first the next time. It exits with 1 if a reader failed, and says in a line that atheris is missing.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.chaos.tries import CORPUS, in_time

# Bytes of the largest file that is tried; readers are slow with larger ones, not different.
_LONGEST = 16_384
# Megabytes of memory that a reader of so small a file never needs.
_MEMORY = 6_000


def main(argv: Sequence[str] | None = None) -> int:
    """Try the readers one after the other, each in a process of its own."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos.guided", description=__doc__
    )
    how_long = parser.add_mutually_exclusive_group()
    how_long.add_argument(
        "--seconds", type=int, default=60, help="for each reader (60)"
    )
    how_long.add_argument("--minutes", type=float, help="for all readers together")
    parser.add_argument("--reader", help="the name of one reader alone (all)")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: readers were NOT tried guided by coverage")
        return 0
    if arguments.here:
        _fuzz(arguments.reader, arguments.seconds)
        return 0
    names = [arguments.reader] if arguments.reader else _names()
    if arguments.minutes is None:
        failed = [name for name in names if not _passes(name, arguments.seconds)]
    else:
        failed = _failed_within(names, 60 * arguments.minutes)
    for name in failed:
        print(f"{name}: FAILED; what it failed with is in {_corpus(name)}")
    return 1 if failed else 0


def _names() -> list[str]:
    from tests.chaos.readers import READERS

    return list(READERS)


def _failed_within(names: Sequence[str], seconds: float) -> list[str]:
    """Return which readers failed, tried one after the other for so many seconds in all."""
    end = time.monotonic() + seconds
    failed = []
    # Of the last process, which imports t2ibench slowly, to count its branches.
    start_up = 0.0
    for number, name in enumerate(names):
        begun = time.monotonic()
        share = (end - begun) / (len(names) - number)
        trying = max(1, round(share - start_up))
        if not _passes(name, trying):
            failed.append(name)
        start_up = time.monotonic() - begun - trying
    return failed


def _passes(name: str, seconds: int) -> bool:
    """Return whether a reader failed with nothing; print what libFuzzer says at its end."""
    command = [sys.executable, "-m", "tests.chaos.guided", "--here", "--reader", name]
    done = subprocess.run(
        [*command, "--seconds", str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    lines = done.stdout.splitlines()
    progress = [line for line in lines if line.startswith(("#", "stat::", "Done "))]
    print(f"{name}: {progress[-1] if progress else 'no attempt'}", flush=True)
    if done.returncode:
        print("\n".join(line[:300] for line in lines[-40:]), flush=True)
    return done.returncode == 0


def _corpus(name: str) -> Path:
    """Return the folder of the inputs that reached new code of a reader."""
    home = os.environ.get(CORPUS) or Path(tempfile.gettempdir()) / "t2ibench-chaos"
    return Path(home) / "guided" / name.replace(" ", "-")


def _fuzz(name: str, seconds: int) -> None:
    """Try one reader in this process, which ends here."""
    # By its name: it is no requirement of the tests.
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["t2ibench"]):
        from tests.chaos.readers import READERS

    reader = READERS[name]
    files = dict(reader.files())
    corpus = _corpus(name)
    corpus.mkdir(parents=True, exist_ok=True)
    # The first byte says which file it is, since readers go by its ending.
    for number, content in enumerate(files.values()):
        if len(content) < _LONGEST:
            (corpus / f"seed-{number}").write_bytes(bytes([number]) + content)
    folder = Path(tempfile.mkdtemp(prefix="t2ibench-guided-"))
    options = [
        f"-max_total_time={seconds}",
        f"-max_len={_LONGEST}",
        f"-rss_limit_mb={_MEMORY}",
        f"-artifact_prefix={corpus}/",
        "-len_control=0",
        "-print_final_stats=0",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], _attempt(name, folder))
    atheris.Fuzz()


def _attempt(name: str, folder: Path) -> Callable[[bytes], None]:
    """Return what tries the bytes that atheris makes."""
    from tests.chaos.readers import READERS, holds

    reader = READERS[name]
    names = list(reader.files())
    places = [folder / str(number) / file for number, file in enumerate(names)]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)

    def attempt(data: bytes) -> None:
        place = places[data[0] % len(places)] if data else places[0]
        with in_time():
            holds(reader, place, data[1:])

    return attempt


if __name__ == "__main__":
    sys.exit(main())
