"""What pip-audit found, in lines: without its data it calls everything harmless.

python tools/audit.py REPORT.json, which `pip-audit --format json` wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def outcome(report: str) -> tuple[bool, list[str]]:
    """Whether nothing is known to be vulnerable, and what to print.

    Packages that the database does not know are named: where they are all of them, it was not
    reached, and nothing was audited.
    """
    try:
        found = json.loads(report)["dependencies"]
    except (ValueError, LookupError, TypeError):
        return True, ["pip-audit could not reach its data: NOT AUDITED"]
    unknown = [one["name"] for one in found if "vulns" not in one]
    if len(unknown) == len(found):
        return True, [
            f"pip-audit could not reach its data on {len(found)} packages: NOT AUDITED"
        ]
    lines = [f"{len(found) - len(unknown)} of {len(found)} packages were audited"]
    lines += [f"not audited: {', '.join(sorted(unknown))}"] if unknown else []
    for one in found:
        for flaw in one.get("vulns", []):
            fixed = ", ".join(flaw.get("fix_versions") or ["no version"])
            lines.append(
                f"{one['name']} {one['version']}: {flaw['id']}, mended in {fixed}"
            )
    return not any(one.get("vulns") for one in found), lines


if __name__ == "__main__":
    path = Path(sys.argv[1])
    harmless, said = outcome(path.read_text(encoding="utf-8") if path.is_file() else "")
    print("\n".join(said))
    sys.exit(0 if harmless else 1)
