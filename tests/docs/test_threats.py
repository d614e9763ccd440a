"""SECURITY.md names a test for every threat, and each of them is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_threat_names_tests_that_exist() -> None:
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    table = page.partition("## Threats and the tests")[2].partition("\nNot held:")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(rows) > 15
    for row in rows:
        tests = row.rsplit("|", 2)[1]
        names = re.findall(r"`([\w/.]+\.py)`", tests)
        assert names, row
        folder = (ROOT / names[0]).parent
        for name in names:
            path = ROOT / name if "/" in name else folder / name
            assert path.is_file(), name
            assert "def test_" in path.read_text(encoding="utf-8")
