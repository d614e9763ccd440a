"""What nothing expected: one line, and the traceback for who wants it."""

from __future__ import annotations

import errno
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from t2ibench.cli.failure import explained
from t2ibench.errors import T2IBenchError
from tests.conftest import Cli

RUN = ("--model", "toyland", "--tasks", "t2iat_flowers_insects")


class PanicException(BaseException):
    """What a library in Rust raises."""


class OutOfMemoryError(RuntimeError):
    """What torch raises."""


class Unspeakable(Exception):
    """An exception whose own text raises."""

    def __str__(self) -> str:
        raise ValueError("no text")


UNEXPECTED = [
    (TypeError("an odd operand"), "TypeError: an odd operand;"),
    (RecursionError("maximum recursion depth exceeded"), "RecursionError: maximum"),
    (ValueError("a\nb\x1b[31m"), "ValueError: a;"),
    (ValueError("x" * 1_000_000), "ValueError: xxx"),
    (KeyError(), "KeyError: KeyError;"),
    (PanicException("index out of bounds"), "PanicException: index out of bounds"),
    (Unspeakable(), "Unspeakable"),
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current folder of its own for each test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("T2IBENCH_TRACEBACK", raising=False)


@pytest.fixture
def fail(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """A run that raises an error, and the one line that the command says about it."""

    def failed(error: BaseException, *flags: str, status: int = 1) -> str:
        monkeypatch.setattr("t2ibench.cli.run.run", mock.Mock(side_effect=error))
        found, out, err = cli(*RUN, *flags)
        assert (found, out) == (status, "")
        err = err.removeprefix("\n")  # after a ^C of the terminal
        assert len(err.splitlines()) <= 1 and len(err) < 2500 and "Traceback" not in err
        return err

    return failed


@pytest.mark.parametrize(("error", "message"), UNEXPECTED)
def test_the_unexpected_is_one_line(
    error: BaseException, message: str, fail: Callable[..., str]
) -> None:
    err = fail(error, "--output-dir", "nowhere")
    assert err.startswith(f"t2ibench: unexpected error: {message}")
    assert "this is a fault of t2ibench. Everything done so far is kept." in err
    assert err.endswith("Please report it with what T2IBENCH_TRACEBACK=1 prints.\n")


@pytest.mark.parametrize("error", [TypeError("x"), T2IBenchError("Wrong.", "Do this.")])
def test_the_traceback_is_there_for_who_asks(
    error: Exception,
    fail: Callable[..., str],
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("T2IBENCH_TRACEBACK", "0")
    fail(error)
    monkeypatch.setenv("T2IBENCH_TRACEBACK", "1")
    status, _, err = cli(*RUN)
    assert status == 1 and "Traceback (most recent call last)" in err
    assert err.strip().splitlines()[-1].startswith("t2ibench: ")
    assert (
        "T2IBENCH_TRACEBACK=1" in cli("--help")[1]
        and "TRACEBACK" in cli("run", "--help")[1]
    )


@pytest.mark.parametrize(
    ("error", "start", "advice"),
    [
        (
            MemoryError("Unable to allocate 60 GiB"),
            "memory ran out",
            "or lower --bootstrap",
        ),
        (
            OutOfMemoryError("CUDA out of memory. Tried 2"),
            "memory ran out",
            "Lower --batch-size",
        ),
        (RuntimeError("CPU: can't allocate memory"), "memory", "Lower --batch-size"),
        (
            RuntimeError("can't start new thread"),
            "the system allows no further threads",
            "ulimit -u",
        ),
        (
            OSError(errno.ENOMEM, "Cannot allocate memory"),
            "memory ran out",
            "fewer tasks",
        ),
        (OSError(errno.ENOMEM, "Cannot allocate memory", "x"), "memory ran out", ""),
        (
            ImportError("x.so: failed to map segment from shared object"),
            "memory ran out",
            "",
        ),
        (FileNotFoundError(2, "No such file", "gone/x"), "gone/x: ", ""),
        (KeyboardInterrupt(), "interrupted", ""),
    ],
)
def test_expected_errors_are_not_called_a_fault_of_t2ibench(
    error: BaseException, start: str, advice: str, fail: Callable[..., str]
) -> None:
    err = fail(error, status=130 if isinstance(error, KeyboardInterrupt) else 1)
    assert err.startswith(f"t2ibench: {start}") and advice in err
    if isinstance(error, (MemoryError, RuntimeError)):
        assert "Everything done so far is kept" in err
    assert "fault" not in err


def test_a_broken_pipe_and_a_system_exit_end_the_program_silently(
    fail: Callable[..., str],
) -> None:
    assert fail(BrokenPipeError(32, "Broken pipe"), status=0) == ""
    assert fail(SystemExit(7), status=7) == ""
    with pytest.raises(GeneratorExit):
        fail(GeneratorExit())


# --- what libraries say -------------------------------------------------------------------------


def test_warnings_of_libraries_do_not_reach_the_terminal(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object) -> int:
        for kind in (UserWarning, DeprecationWarning, FutureWarning, RuntimeWarning):
            warnings.warn("`local_dir_use_symlinks` is ignored", kind, stacklevel=1)
        return 0

    monkeypatch.setattr("t2ibench.cli.run.run", run)
    monkeypatch.setattr("sys.warnoptions", [])
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        assert cli(*RUN) == (0, "", "")
        with pytest.warns(UserWarning, match="still here"):
            warnings.warn("still here", UserWarning, stacklevel=1)


def test_loading_raises_no_warning_where_warnings_are_errors() -> None:
    from t2ibench.models.library_messages import Journal, collect_messages

    with warnings.catch_warnings(), Journal().listening(lambda _: None):
        warnings.simplefilter("error")
        with collect_messages():
            warnings.warn("old", DeprecationWarning, stacklevel=1)
            warnings.warn("odd", UserWarning, stacklevel=1)
        with pytest.raises(UserWarning):
            warnings.warn("ours", UserWarning, stacklevel=1)


# --- code of other people -----------------------------------------------------------------------

CODE = """
import sys
from t2ibench.models.protocols import GeneratedImage

def quits():
    sys.exit(0)

class Base:
    name, settings, revision, batch_size, fingerprint = "base", {}, None, 8, "ab" * 32
    def available(self, prompt):
        return None
    def generate(self, requests):
        return [GeneratedImage("refused", reason="\\ud800\\x1b[31m") for _ in requests]

class Quits(Base):
    def generate(self, requests):
        sys.exit(0)

class Panics(Base):
    def generate(self, requests):
        raise type("Panic", (BaseException,), {})("boom")

class Escapes(Base):
    name = "g\\x1b[31m"
"""
OTHERS = {
    "quits": "cannot be made: SystemExit: 0",
    "Quits": "The first 8 images all failed; the last error: SystemExit",
    "Panics": "unexpected error: Panic: boom",
    "Escapes": "has the name 'g\\x1b[31m'",
}
FEW = (
    *("--encoder", "toyland", "--limit", "1", "--images-per-prompt", "1"),
    *("--permutations", "99", "--bootstrap", "50"),
)


@pytest.mark.parametrize("name", [*OTHERS, "Base"])
def test_errors_of_third_party_code_are_one_line_and_its_reasons_are_stored(
    name: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path(f"code_{name}.py").write_text(CODE)
    for _ in range(2 if name == "Base" else 1):
        status, out, err = cli("--model", f"code_{name}:{name}", *RUN[2:], *FEW)
        assert "\x1b" not in out + err and "Traceback" not in err
        if name == "Base":
            assert status == 3, err
        else:
            (line,) = err.strip().splitlines()
            assert status == 1 and OTHERS[name] in line


GIVES = """
from PIL import Image
from t2ibench.models.protocols import GeneratedImage

class Base:
    name, settings, revision, batch_size, fingerprint = "base", {}, None, 8, "ab" * 32
    def available(self, prompt):
        return None

class NoImages(Base):
    def generate(self, requests):
        return []

class NoList(Base):
    def generate(self, requests):
        return None

class TooFew(Base):
    def generate(self, requests):
        grey = Image.new("RGB", (32, 32), (90, 90, 90))
        return [GeneratedImage("ok", grey) for _ in requests[1:]]

class NoPixels(Base):
    def generate(self, requests):
        return [GeneratedImage("ok") for _ in requests]

class NoPicture(Base):
    def generate(self, requests):
        return [GeneratedImage("ok", bytearray(12)) for _ in requests]

class NoParts(NoImages):
    def generate_in_parts(self, requests):
        return iter(())

class Filters(Base):
    def generate(self, requests):
        return [GeneratedImage("filtered", reason="unsafe") for _ in requests]
"""
GIVEN = {
    "NoImages": "failed: the generator gave 0 images for 1 request.",
    "NoList": "failed: the generator gave a NoneType, not a list of GeneratedImage.",
    "TooFew": "failed: the generator gave 0 images for 1 request.",
    "NoPixels": "failed: the generator gave no image.",
    "NoPicture": "failed: the generator gave a bytearray as the image, not a PIL image.",
    "NoParts": "failed: the generator gave 0 images for 1 request.",
}
TINY = """
id: tiny
version: 1
method: vibex
title: Tiny
description: Two images alone.
citation: The tests.
anchors: [{name: cat, prompt: a cat}, {name: dog, prompt: a dog}]
concepts: [{name: fur, prompt: fur}]
images_per_prompt: 1
"""


@pytest.mark.parametrize(
    "more", [(), ("--generate-only",)], ids=["run", "generate-only"]
)
@pytest.mark.parametrize("name", [*GIVEN])
def test_a_generator_without_any_image_ends_even_a_small_run(
    name: str,
    more: tuple[str, ...],
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"gives_{name}.py").write_text(GIVES)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "tiny.yaml").write_text(TINY)
    words = ("--model", f"gives_{name}:{name}", "--encoder", "toyland", *more)
    words += (
        "--include-path",
        str(tmp_path / "tasks"),
        "--output-dir",
        str(tmp_path / "runs"),
    )
    status, out, err = cli(*words, "--tasks", "tiny")
    assert (status, out) == (1, "")
    assert f"All 2 images {GIVEN[name]} Fix the cause" in err
    status, _, err = cli(*words, "--tasks", "t2iat_flowers_insects")
    assert status == 1
    assert "The first 8 images all failed" in err


def test_a_run_that_only_generates_is_not_done_without_any_image(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """That all are filtered is a property of the model, and nothing to measure it by."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "gives_filtered.py").write_text(GIVES)
    words = (
        "--model",
        "gives_filtered:Filters",
        "--output-dir",
        str(tmp_path / "runs"),
    )
    words += ("--tasks", "t2iat_flowers_insects", "--limit", "1", "--generate-only")
    for _ in range(2):
        status, _, err = cli(*words)
        assert status == 3
        assert "There is no image: none of " in err


def test_an_interrupt_of_a_library_without_threads_is_no_users(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OpenBLAS raises SIGINT where it can start no thread."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with explained() as outcome:
        raise KeyboardInterrupt
    said = capsys.readouterr().err
    assert outcome.status == 1 and "interrupted" not in said
    assert "the system allows no further threads" in said and "ulimit -u" in said
