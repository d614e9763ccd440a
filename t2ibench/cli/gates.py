"""What `--fail-on` prints, and its exit status."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from t2ibench.results.gates import Checked

FAILED = 4  # exit status


def report(checked: Checked) -> int:
    """Say which tasks a gate stops."""
    for line in checked.failures:
        print(f"t2ibench: gate failed: {line}", file=sys.stderr)
    for line in checked.unchecked:
        print(f"t2ibench: gate: {line}", file=sys.stderr)
    if checked.failed and not checked.failures:
        print("t2ibench: gate failed: no task could be checked", file=sys.stderr)
    return FAILED if checked.failed else 0
