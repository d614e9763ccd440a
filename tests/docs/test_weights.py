"""SECURITY.md names every file of weights in the package, with its hash."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import t2ibench

ROOT = Path(t2ibench.__file__).parent
TABLE = re.compile(r"^\| `([^`]+)` \| ([\d,]+) \| `([0-9a-f]{64})` \|$", re.MULTILINE)


def test_the_weights_are_those_of_the_table() -> None:
    page = (ROOT.parent / "SECURITY.md").read_text(encoding="utf-8")
    named = {
        name: (int(size.replace(",", "")), sha)
        for name, size, sha in TABLE.findall(page)
    }
    found = [*ROOT.rglob("*.safetensors"), *ROOT.rglob("tokenizer.json")]
    data = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in found}
    assert len(data) == 11
    assert named == {
        name: (len(one), hashlib.sha256(one).hexdigest()) for name, one in data.items()
    }
