"""What messages do with the text they quote."""

from __future__ import annotations

import importlib.util

import pytest

from t2ibench.cli import main
from t2ibench.errors import (
    T2IBenchError,
    TaskFileError,
    failing,
    first_line,
    nearest,
    one_line,
    shown,
    visible,
)

HOSTILE = {
    "a line break": "a\nb",
    "a return": "a\rb",
    "a terminal's escape": "\x1b[2J\x1b[31mred",
    "a bell": "\a",
    "NUL": "a\0b",
    "C1": "\x9b31m",
    "right to left": "abc\u202etxt.exe",
    "an isolate": "\u2066x\u2069",
    "a mark": "\u200ex",
    "zero width": "toy\u200bland",
    "a paragraph": "a\u2029b",
    "a byte-order mark": "\ufefftoyland",
    "tags": "x\U000e0041",
    "half a pair": "\udcff",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_control_and_invisible_characters_are_escaped(text: str) -> None:
    for told in (
        visible(text),
        shown(text),
        one_line(text),
        str(T2IBenchError(text, text)),
    ):
        assert told.isprintable() and "\\" in told
        told.encode("utf-8")


@pytest.mark.parametrize(
    "text", ["née", "日本語", "עברית", "नमस्ते", "👩‍🔬", "می‌خواهم", "a\\nb"]
)
def test_ordinary_text_in_any_script_is_unchanged(text: str) -> None:
    assert (
        visible(text)
        == shown(text)
        == one_line(text)
        == str(T2IBenchError(text))
        == text
    )


def test_long_values_and_long_messages_are_short() -> None:
    assert shown("x" * 1_000_000) == "x" * 120 + "… (1000000 characters)"
    told = str(T2IBenchError("begin " + "x" * 1_000_000 + " end", "Do this."))
    assert len(told) < 2200
    assert (
        told.startswith("begin ")
        and told.endswith(" end Do this.")
        and "left out" in told
    )


def test_problems_of_files_have_a_line_each_and_no_more() -> None:
    error = TaskFileError(["a.yaml:1: x\ny", "b.yaml:2: " + "z" * 9000])
    lines = str(error).splitlines()
    assert len(lines) == 3 and lines[0] == "a.yaml:1: x\\ny" and len(lines[1]) < 2200
    assert lines[2] == "2 problems found."


def test_no_name_is_looked_for_that_is_longer_than_any() -> None:
    assert nearest("toylnd", ["toyland"]) == "toyland"
    assert nearest("toyland" * 1000, ["toyland" * 1000 + "x"]) is None


def test_the_first_line_of_a_librarys_message_is_visible() -> None:
    assert first_line(ValueError("\x1b[31mred\nsecond")) == "\\x1b[31mred"
    assert first_line(ValueError()) == "ValueError"
    with (
        pytest.raises(T2IBenchError, match=r"^It failed with ValueError: a\\x07$"),
        failing("It failed with"),
    ):
        raise ValueError("a\a\nb")


@pytest.mark.parametrize(
    ("words", "module", "extra"),
    [
        (("explore", "nowhere"), "uvicorn", "explore"),
        (("--model", "toyland", "--tasks", "weat", "--engine", "ray"), "ray", "ray"),
    ],
)
def test_a_missing_package_names_its_extra(
    words: tuple[str, ...],
    module: str,
    extra: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "t2ibench.errors.find_spec", lambda name: None if name == module else find(name)
    )
    assert main(words) == 1
    said = capsys.readouterr().err
    assert (
        said
        == f"t2ibench: {module} is not installed. pip install 't2ibench[{extra}]'\n"
    )
