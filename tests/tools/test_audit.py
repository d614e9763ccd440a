"""The nightly audit says when nothing was audited."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tools.audit import outcome

CLEAN = {"name": "a", "version": "1", "vulns": []}
SKIPPED = {
    "name": "b",
    "skip_reason": "Dependency not found on PyPI and could not be audited",
}
FLAW = {"id": "PYSEC-1", "fix_versions": ["1.2"]}
VULNERABLE = {"name": "c", "version": "1.1", "vulns": [FLAW, {"id": "GHSA-2"}]}


def report(*dependencies: dict[str, Any]) -> str:
    return json.dumps({"dependencies": dependencies, "fixes": []})


@pytest.mark.parametrize(
    "text", ["", "[]", "Traceback", "{}", report(), report(SKIPPED, SKIPPED)]
)
def test_without_its_data_nothing_is_called_audited(text: str) -> None:
    harmless, (line,) = outcome(text)
    assert (
        harmless and "could not reach its data" in line and line.endswith("NOT AUDITED")
    )


def test_audited_packages_are_counted_and_others_named() -> None:
    lines = ["1 of 2 packages were audited", "not audited: b"]
    assert outcome(report(CLEAN, SKIPPED)) == (True, lines)


def test_a_known_vulnerability_fails() -> None:
    harmless, lines = outcome(report(CLEAN, VULNERABLE))
    assert not harmless
    assert lines[1:] == [
        "c 1.1: PYSEC-1, mended in 1.2",
        "c 1.1: GHSA-2, mended in no version",
    ]
