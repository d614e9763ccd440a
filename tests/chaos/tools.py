"""What all of these tests need: a run, what may come out of it, and what is put into it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DataObject, SearchStrategy

from t2ibench.errors import visible

TASKS = "t2iat_science_arts,openbias_examples"
FLAGS = (
    *(
        "--model",
        "toyland",
        "--tasks",
        TASKS,
        "--limit",
        "1",
        "--images-per-prompt",
        "2",
    ),
    *("--permutations", "200", "--bootstrap", "50", "--control-encoder", "none"),
)
RUN = Path("runs/toyland")


def one_line(status: int, errors: str, allowed: Sequence[int] = (0, 1, 3, 4)) -> None:
    """What a command may end in: an exit status of the list, and a line that says why.

    Args:
        status: The exit status.
        errors: Standard error.
        allowed: Exit statuses.
    """
    assert status in allowed, (status, errors)
    assert "Traceback" not in errors, errors
    assert "fault of t2ibench" not in errors, errors
    said = [line for line in errors.splitlines() if line.startswith("t2ibench: ")]
    assert len(said) == (status == 1), (status, errors)
    assert all(visible(line) == line for line in said)


NUMBERS = (
    st.integers() | st.floats() | st.sampled_from([0, -1, 10**400, 1e308, 2**63, 0.5])
)
WORDS = st.text(max_size=8) | st.sampled_from(
    [
        *(
            "",
            "toyland",
            "../../etc/passwd",
            "\ud800",
            "\x00",
            "a\nb",
            "{0.__class__}",
            "%s",
            "²",
        ),
        *(
            "<script>alert(1)</script>",
            "x" * 70_000,
            "\u202egpj",
            "=1+1",
            "{stimulus}",
            "all",
        ),
        # One letter that is two, two that look like one, and one of many characters.
        *("e\u0301", "\u0130", "\ufb01", "\U0001f469\u200d\U0001f9b0", "\ufdfa"),
    ]
)
LEAVES = st.none() | st.booleans() | NUMBERS | WORDS
JSON: SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4)
    ),
    max_leaves=8,
)
DEEP = st.sampled_from(["[" * 100_000, '{"a":' * 50_000, "[" * 900 + "]" * 900])


def altered(data: DataObject, whole: Any) -> Any:
    """A JSON value with one to three of its parts replaced, taken away, added or doubled."""
    value = json.loads(json.dumps(whole))
    for _ in range(data.draw(st.integers(1, 3))):
        value = _alter(data, value)
    return value


def _alter(data: DataObject, value: Any) -> Any:
    parent, key, node = None, None, value
    # Down, and at every floor perhaps no further.
    while isinstance(node, dict | list) and node and data.draw(st.integers(0, 5)):
        parent, key = node, data.draw(st.sampled_from(_keys(node)))
        node = parent[key]
    if parent is None:
        return (
            data.draw(JSON)
            if not isinstance(value, dict) or not value
            else _add(data, value)
        )
    ways = ["replace", "replace", "alike", "remove", "add", "exchange", "rename"]
    how = data.draw(st.sampled_from([*ways, "graft"]))
    if how == "replace":
        parent[key] = data.draw(JSON)
    elif how == "exchange":
        other = data.draw(st.sampled_from(_keys(parent)))
        parent[key] = parent[other]
        parent[other] = node
    elif how == "rename" and isinstance(parent, dict):
        name = data.draw(WORDS | st.sampled_from(_keys(parent)))
        del parent[key]
        parent[name] = node
    elif how == "graft":
        parent[key] = json.loads(json.dumps(_anywhere(data, value)))
    elif how == "alike":
        parent[key] = _alike(data, node)
    elif how == "remove":
        del parent[key]
    elif isinstance(parent, list):
        parent.append(data.draw(JSON | st.just(node)))
    else:
        _add(data, parent)
    return value


def _keys(node: dict[str, Any] | list[Any]) -> list[Any]:
    return list(node) if isinstance(node, dict) else list(range(len(node)))


def _anywhere(data: DataObject, value: Any) -> Any:
    """A part of a value, from any depth."""
    node = value
    while isinstance(node, dict | list) and node and data.draw(st.integers(0, 4)):
        node = node[data.draw(st.sampled_from(_keys(node)))]
    return node


def _add(data: DataObject, value: dict[str, Any]) -> dict[str, Any]:
    value[data.draw(WORDS)] = data.draw(JSON)
    return value


def _alike(data: DataObject, node: Any) -> Any:
    """Another value of the same type, which a schema lets pass."""
    if isinstance(node, bool):
        return not node
    if isinstance(node, int | float):
        return data.draw(NUMBERS)
    if isinstance(node, str):
        return data.draw(WORDS)
    return type(node)()


def dumped(value: Any) -> bytes:
    """JSON as a file holds it; halves of surrogate pairs as escapes."""
    return json.dumps(value).encode()


def any_text(pieces: Sequence[str]) -> SearchStrategy[bytes]:
    """Bytes of any kind, and text made of pieces that mean something to a reader."""
    parts = st.lists(st.sampled_from(pieces) | st.text(max_size=5), max_size=30).map(
        "".join
    )
    text = (parts | DEEP).map(lambda found: found.encode("utf-8", "surrogatepass"))
    return st.binary(max_size=100) | text


def spliced(data: DataObject, whole: bytes, pieces: SearchStrategy[bytes]) -> bytes:
    """Bytes with a stretch replaced."""
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, min(len(whole), start + 40)))
    return whole[:start] + data.draw(pieces) + whole[stop:]
