"""What nothing expected: one line, a report without secrets, and the traceback for who wants it."""

from __future__ import annotations

import re
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench.cli.redaction import Redacted
from t2ibench.errors import T2IBenchError

Cli = Callable[..., tuple[int, str, str]]
RUN = ("--model", "toyland", "--tasks", "t2iat_flowers_insects")


class PanicException(BaseException):
    """What a library in Rust raises."""


class Unspeakable(Exception):
    """An exception whose own text raises."""

    def __str__(self) -> str:
        raise ValueError("no text")


def out_of_memory() -> Exception:
    return type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory. Tried 2 GiB")


UNEXPECTED: dict[str, tuple[BaseException, str]] = {
    "a type": (TypeError("an odd operand"), "unexpected error: TypeError: an odd operand;"),
    "a recursion": (RecursionError("maximum recursion depth exceeded"), "RecursionError: maximum"),
    "a text": (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "UnicodeDecodeError"),
    "lines": (ValueError("a\nb\x1b[31m"), "ValueError: a;"),
    "1 MB": (ValueError("x" * 1_000_000), "ValueError: xxx"),
    "no text": (KeyError(), "KeyError: KeyError;"),
    "an assertion": (AssertionError(), "AssertionError"),
    "a network's": (ConnectionResetError(104, "Connection reset"), "ConnectionResetError"),
    "Rust's": (PanicException("index out of bounds"), "PanicException: index out of bounds"),
}  # fmt: skip


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, of its own for a test; the current folder is beside it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("T2IBENCH_TRACEBACK", raising=False)
    return folder


def failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object) -> int:
        raise error

    monkeypatch.setattr("t2ibench.cli.run.run", run)


@pytest.mark.parametrize(("error", "message"), UNEXPECTED.values(), ids=list(UNEXPECTED))
def test_the_unexpected_is_one_line_and_a_report(
    error: BaseException,
    message: str,
    cli: Cli,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    failing_with(error, monkeypatch)
    status, out, err = cli(*RUN, "--output-dir", "nowhere")
    assert (status, out) == (1, "")
    assert err.startswith("t2ibench: unexpected error: ") and message in err
    assert "this is a fault of t2ibench. Everything done so far is kept." in err
    assert len(err.splitlines()) == 1 and len(err) < 2500 and "Traceback" not in err
    (report,) = temporary.iterdir()
    assert str(report) in err
    text = report.read_text(encoding="utf-8")
    assert "Traceback (most recent call last)" in text and type(error).__name__ in text
    assert "t2ibench --model toyland" in text and "python 3" in text and "numpy" in text
    assert report.stat().st_mode & 0o077 == 0
    assert len(text) < 300_000


def test_an_error_that_cannot_be_shown(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_with(Unspeakable(), monkeypatch)
    status, _, err = cli(*RUN)
    assert status == 1 and "unexpected error: Unspeakable" in err and len(err.splitlines()) == 1
    assert len(list(temporary.iterdir())) == 1


def test_the_report_lies_with_the_results(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_with(TypeError("x"), monkeypatch)
    Path("mine").mkdir()
    _, _, err = cli(*RUN, "--output-dir", "mine")
    (report,) = Path("mine").iterdir()
    assert str(report) in err and not list(temporary.iterdir())


def test_without_any_place_for_a_report(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_with(TypeError("x"), monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", "/proc/nothere")
    status, _, err = cli(*RUN)
    assert status == 1 and "T2IBENCH_TRACEBACK=1 shows where" in err
    assert len(err.splitlines()) == 1


def test_a_link_that_waits_for_the_report_is_not_followed(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = temporary.parent / "victim"
    victim.write_text("mine")
    for number in range(50):
        (temporary / f"t2ibench-error-{number}.txt").symlink_to(victim)
    failing_with(TypeError("x"), monkeypatch)
    assert cli(*RUN)[0] == 1
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("error", [TypeError("x"), T2IBenchError("Wrong.", "Do this.")])
def test_the_traceback_is_there_for_who_asks(
    error: Exception, cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_with(error, monkeypatch)
    monkeypatch.setenv("T2IBENCH_TRACEBACK", "1")
    status, _, err = cli(*RUN)
    assert status == 1 and "Traceback (most recent call last)" in err
    assert err.strip().splitlines()[-1].startswith("t2ibench: ")
    monkeypatch.setenv("T2IBENCH_TRACEBACK", "0")
    assert "Traceback" not in cli(*RUN)[2]
    assert "T2IBENCH_TRACEBACK=1" in cli("--help")[1] and "TRACEBACK" in cli("run", "--help")[1]


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (MemoryError("Unable to allocate 60 GiB"), "lower --bootstrap"),
        (MemoryError(), "fewer tasks"),
        (out_of_memory(), "Lower --batch-size"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "Lower --batch-size"),
    ],
)
def test_without_memory_it_says_what_to_reduce(
    error: Exception, advice: str, cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_with(error, monkeypatch)
    status, _, err = cli(*RUN)
    assert status == 1 and err.startswith("t2ibench: memory ran out") and advice in err
    assert "Everything done so far is kept" in err and len(err.splitlines()) == 1
    assert not list(temporary.iterdir())


def test_a_file_that_nothing_expected_to_fail(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object) -> int:
        return len(Path("gone/x").read_text())

    monkeypatch.setattr("t2ibench.cli.run.run", run)
    status, _, err = cli(*RUN)
    assert status == 1 and err.startswith("t2ibench: gone/x: ") and len(err.splitlines()) == 1
    assert not list(temporary.iterdir())


def test_what_ends_a_program_on_purpose_still_does(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from t2ibench.cli import main

    failing_with(KeyboardInterrupt(), monkeypatch)
    status, _, err = cli(*RUN)
    assert status == 130 and "interrupted" in err and "Traceback" not in err
    failing_with(BrokenPipeError(32, "Broken pipe"), monkeypatch)
    assert cli(*RUN)[::2] == (0, "")
    for error in (SystemExit(7), GeneratorExit()):
        failing_with(error, monkeypatch)
        with pytest.raises(type(error)):
            main(list(RUN))
    assert not list(temporary.iterdir())


# --- secrets ------------------------------------------------------------------------------------

SECRET = "very-secret-value-1"
TOLD = {
    "an argument": (["--judge-args", f"api_key={SECRET},base_url=http://x/v1"], {}),
    "joined": ([f"--judge-args=api_key={SECRET}"], {}),
    "quoted": (["--judge-args", f'api_key="{SECRET}"'], {}),
    "a flag": (["--hf-token", SECRET], {}),
    "a flag with =": ([f"--token={SECRET}"], {}),
    "an address": (["--judge-args", f"base_url=http://user:{SECRET}@host/v1"], {}),
    "a query": (["--judge-args", f"base_url=http://host/v1?key={SECRET}"], {}),
    "the usual variable": ([], {"OPENAI_API_KEY": SECRET}),
    "the hub's": ([], {"HF_TOKEN": SECRET}),
    "one of another name": (["--judge-args", "api_key_env=MINE"], {"MINE": SECRET}),
    "a password": ([], {"DB_PASSWORD": SECRET}),
}


@pytest.mark.parametrize(("words", "environment"), TOLD.values(), ids=list(TOLD))
def test_no_secret_is_shown_or_written(
    words: list[str],
    environment: dict[str, str],
    cli: Cli,
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    # The secret is in the message of the error too, where a library repeats what it was given.
    error = ValueError(f"401 for {SECRET}" if words[:1] != ["--hf-token"] else "401")
    argv = [*RUN, *words]
    from t2ibench.cli import failure

    assert failure.explain(error, argv, []) == 1
    (report,) = temporary.iterdir()
    text = report.read_text()
    assert SECRET not in text
    assert "***" in text or words[:1] == []
    assert "ValueError" in text and "--model toyland" in text


def test_keys_are_known_by_their_look_and_other_words_stay() -> None:
    redacted = Redacted(["--model", "toyland", "--judge-args", "max_tokens=64,margin=0.1"])
    assert redacted.command() == ("t2ibench --model toyland --judge-args max_tokens=64,margin=0.1")
    for text in ("KeyError: 'gender'", "tokens: 3", "author=me", "monkey=1", "tokenizer: x"):
        assert redacted.of(text) == text
    text = "keys sk-proj-abcdefgh1234, hf_abcdefgh1234 and AKIAABCDEFGH1234 of tokenizer.json"
    assert redacted.of(text) == "keys ***, *** and *** of tokenizer.json"
    assert redacted.of("Authorization: Bearer abc.def") == "Authorization: ***"
    assert redacted.of("{'Authorization': 'Bearer abc.def'}") == "{'Authorization': ***}"


# --- what libraries say -------------------------------------------------------------------------


def test_warnings_of_libraries_do_not_reach_the_terminal(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
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


def test_loading_is_quiet_where_warnings_are_errors() -> None:
    from t2ibench.models.devices import quietly

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with quietly():
            warnings.warn("old", DeprecationWarning, stacklevel=1)
            warnings.warn("odd", UserWarning, stacklevel=1)
        with pytest.raises(UserWarning):
            warnings.warn("ours", UserWarning, stacklevel=1)


def test_many_failures_at_once_have_a_report_each(
    temporary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from t2ibench.cli import failure

    threads = [
        threading.Thread(target=failure.explain, args=(TypeError(str(n)), list(RUN), []))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(temporary.iterdir())) == 8
    assert len(re.findall("unexpected error", capsys.readouterr().err)) == 8


# --- code of other people -----------------------------------------------------------------------

CODE = """
import sys
from t2ibench.models.protocols import GeneratedImage

def quits():
    sys.exit(0)

def recurses():
    return recurses()

class Base:
    name, settings, revision, batch_size, fingerprint = "base", {}, None, 8, "ab" * 32
    images_per_prompt = guided_images_per_prompt = None
    def available(self, prompt):
        return None
    def generate(self, requests):
        return [GeneratedImage("refused", reason="\\ud800\\x1b[31m") for _ in requests]

class Quits(Base):
    def generate(self, requests):
        sys.exit(0)

class Deep(Base):
    def generate(self, requests):
        return self.generate(requests)

class Panics(Base):
    def generate(self, requests):
        raise type("Panic", (BaseException,), {})("boom")

class Escapes(Base):
    name = "g\\x1b[31m"

class Halves(Base):
    name = "g\\udcff"
"""
OTHERS = {
    "quits": "cannot be made: SystemExit: 0",
    "recurses": "cannot be made: RecursionError",
    "Quits": "The first 8 images all failed; the last error: SystemExit",
    "Deep": "The first 8 images all failed; the last error: RecursionError",
    "Panics": "unexpected error: Panic: boom",
    "Escapes": "has the name 'g\\x1b[31m'",
    "Halves": "has the name 'g\\udcff'",
}


@pytest.mark.parametrize(("name", "message"), OTHERS.items())
def test_code_of_others_is_told_in_one_line(
    name: str, message: str, cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path(f"code_{name}.py").write_text(CODE)
    status, _, err = cli(
        *("--model", f"code_{name}:{name}", *RUN[2:], "--encoder", "toyland"),
        *("--limit", "1", "--images-per-prompt", "1"),
    )
    assert status == 1 and message in err.strip().splitlines()[-1]
    assert len(err.strip().splitlines()) == 1 and "Traceback" not in err


def test_odd_reasons_of_a_model_are_stored_and_shown(
    cli: Cli, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path("code_odd.py").write_text(CODE)
    argv = (
        *("--model", "code_odd:Base", *RUN[2:], "--encoder", "toyland", "--limit", "1"),
        *("--images-per-prompt", "1", "--permutations", "99", "--bootstrap", "50"),
    )
    for _ in range(2):
        status, out, err = cli(*argv)
        assert status == 3 and "\x1b" not in out + err, err
