"""Whatever a file holds, reading it gives problems and never an exception."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from t2ibench.tasks.source import read_yaml
from tests.tasks.files import JOBS, TEA

_PIECES = [
    *(
        "- ",
        "? ",
        "a: ",
        "<<: ",
        "&a ",
        "*a ",
        "!!set ",
        "!x ",
        "{",
        "}",
        "[",
        "]",
        "|\n",
        ">-\n",
    ),
    *(
        "\n",
        "\n  ",
        "\t",
        "#",
        "'",
        '"',
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "1e999",
        "2024-13-45",
    ),
]
_YAML_LIKE = st.lists(st.sampled_from(_PIECES) | st.text(max_size=5), max_size=30).map(
    "".join
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "task.yaml"


def check(file: Path, data: bytes) -> None:
    """Read a file; every problem with it has a text and a line of this file."""
    file.write_bytes(data)
    document = read_yaml(file)
    last_line = len(data.decode("utf-8", "replace").splitlines()) + 1
    for problem in document.problems:
        assert problem.path == file and problem.message
        assert problem.line is None or 1 <= problem.line <= last_line


@pytest.mark.slow
@settings(max_examples=50)
@given(
    data=st.binary(max_size=200)
    | (st.text() | _YAML_LIKE).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes(data: bytes, file: Path) -> None:
    check(file, data)
    try:
        data.decode()
    except UnicodeDecodeError:
        assert "is not UTF-8 text" in read_yaml(file).problems[0].message


@given(text=st.sampled_from([TEA, JOBS]), data=st.data())
def test_any_damage(text: str, data: st.DataObject, file: Path) -> None:
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, min(len(text), start + 20)))
    check(
        file,
        (text[:start] + data.draw(_YAML_LIKE) + text[stop:]).encode("utf-8", "replace"),
    )
