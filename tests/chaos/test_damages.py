"""Random damages of a run folder: the same command gives the same results, or says why not."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench.cli import main
from tests.chaos.tools import FLAGS, RUN, one_line
from tests.chaos.tries import Tries, in_time, sizes
from tests.conftest import Cli
from tests.hand import outputs

pytestmark = pytest.mark.nightly

Damage = Callable[[Path, random.Random], None]
# The database twice: most of a run is in it.
FILES = ("run.db", "run.db", "results.json", "results.md", "report.html", "figures/*")
KINDS = (*FILES, "images/*/*.png", ".locks/*", "*/", "*/*/")


def rewritten(change: Callable[[bytes, random.Random], bytes]) -> Damage:
    def damage(path: Path, rng: random.Random) -> None:
        if path.is_file():
            path.write_bytes(change(path.read_bytes(), rng))

    return damage


def stretch(
    change: Callable[[bytes, bytes, bytes, random.Random], bytes],
) -> Callable[[bytes, random.Random], bytes]:
    """A change of what is before, within and behind a stretch of a file."""

    def changed(data: bytes, rng: random.Random) -> bytes:
        start, stop = sorted(rng.randrange(len(data) + 1) for _ in range(2))
        return change(data[:start], data[start:stop], data[stop:], rng)

    return changed


def flip(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    flipped = bytes(byte ^ (1 << rng.randrange(8)) for byte in data[at : at + 1])
    return data[:at] + flipped + data[at + 1 :]


def lines(data: bytes, rng: random.Random) -> bytes:
    found = data.splitlines(keepends=True)
    rng.shuffle(found)
    return b"".join(found)


def remove(path: Path, _: random.Random) -> None:
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def instead(put: Callable[[Path, random.Random], object]) -> Damage:
    """Something else in the place of a file or folder."""

    def damage(path: Path, rng: random.Random) -> None:
        remove(path, rng)
        put(path, rng)

    return damage


def by_sibling(path: Path, rng: random.Random) -> None:
    others = [
        one for one in sorted(path.parent.iterdir()) if one.is_file() and path.is_file()
    ]
    if others:
        path.write_bytes(rng.choice(others).read_bytes())


LINKS = ("nowhere/at/all", "/dev/null", "..", "")  # the last: itself
DAMAGES: dict[str, Damage] = {
    "removed": remove,
    "empty": rewritten(lambda _, __: b""),
    "cut": rewritten(stretch(lambda before, *_: before)),
    "headless": rewritten(stretch(lambda _, __, after, ___: after)),
    "zeros": rewritten(stretch(lambda a, within, b, _: a + bytes(len(within)) + b)),
    "flipped": rewritten(flip),
    "twice": rewritten(
        stretch(lambda before, within, after, _: before + 2 * within + after)
    ),
    "other bytes within": rewritten(
        stretch(lambda a, b, c, rng: a + rng.randbytes(40) + c)
    ),
    "lines in another order": rewritten(lines),
    "other bytes": rewritten(lambda data, rng: rng.randbytes(len(data))),
    "a folder in its place": instead(
        lambda path, _: (path / "inside").mkdir(parents=True)
    ),
    "a file in its place": instead(lambda path, _: path.write_bytes(b"a file")),
    "a link in its place": instead(
        lambda path, rng: path.symlink_to(rng.choice(LINKS) or path.name)
    ),
    "a neighbour in its place": by_sibling,
    "renamed": lambda path, _: path.rename(path.with_name(f"{path.name}.old")),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run in a folder 'runs'."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(FLAGS) == 0
    return folder


@sizes(20, 200)
def test_damages(
    tries: Tries, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    def again() -> tuple[int, str]:
        with in_time():
            status, _, errors = cli(*FLAGS)
        return status, errors

    rng = random.Random(tries.number)
    monkeypatch.chdir(tmp_path)
    mended = 0
    for trial in range(tries.count):
        shutil.rmtree("runs", ignore_errors=True)
        shutil.copytree(whole / "runs", "runs")
        done = [damage(RUN, rng) for _ in range(rng.randint(1, 3))]
        status, errors = again()
        context = f"{trial} {done}: {errors}"
        print(f"{context if status else done}")
        one_line(status, errors, (0, 1, 3))
        mended += status == 0
        left = [path for _, path in done]
        # what a line names is taken out of the way; nothing else was lost
        while status:
            named = [path for path in left if str(path) in errors]
            assert named, context
            for path in named:
                if path.is_symlink() or path.exists():
                    remove(path, rng)
            left = [path for path in left if path not in named]
            status, errors = again()
        assert status == 0, f"{context} {errors}"
        assert said(RUN, done) == said(whole / RUN, done), context
    print(f"{mended} mended, {tries.count - mended} said, of {tries.count}")


def said(run: Path, done: list[tuple[str, Path]]) -> dict[str, bytes]:
    """What a run says, where nothing is lost that it stores twice."""
    found = outputs(run)
    if {RUN / "run.db", RUN / "results.json"} <= {path for _, path in done}:
        # What the generator really used is in these two; the scores are not.
        found["results.json"] = json.dumps(
            json.loads(found["results.json"])["tasks"]
        ).encode()
    return found


def damage(run: Path, rng: random.Random) -> tuple[str, Path]:
    """Damage one file or folder at random: the kind of damage, and what was damaged."""
    while True:
        found = sorted(run.glob(rng.choice(KINDS)))
        kind = rng.choice(sorted(DAMAGES))
        if found:
            path = rng.choice(found)
            if path.is_symlink() or path.exists():
                DAMAGES[kind](path, rng)
                return kind, path
