"""JSON Lines files, of this program and of others."""

from __future__ import annotations

from pathlib import Path

from t2ibench.store.jsonl import read_rows, write_rows


def test_rows_are_read_past_lines_that_hold_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = ('\ufeff{"a": 1}', "", "  ", "[1]", "null", "[" * 100_000, '{"a": 2}')
    path.write_text("\n".join((*lines, '{"a": 3, "cut o')), encoding="utf-8")
    assert list(read_rows(path)) == [{"a": 1}, {"a": 2}]


def test_rows_that_are_written_are_read_as_they_were(tmp_path: Path) -> None:
    rows = [{"a": "ä\nb"}, {}, {"b": [None, 1.5]}]
    write_rows(tmp_path / "rows.jsonl", rows)
    assert list(read_rows(tmp_path / "rows.jsonl")) == rows
