"""Write the states of tests for the explorer's scripts: `python tools/write_states.py`.

They are defined in `t2ibench/results/states.py`; a test holds the script equal to them.
"""

from __future__ import annotations

import json
from pathlib import Path

from t2ibench.results.states import STATES

SCRIPT = (
    Path(__file__).parents[1]
    / "t2ibench"
    / "apps"
    / "explorer"
    / "static"
    / "states.js"
)
_HEAD = (
    "// What a test can show. Written by tools/write_states.py "
    "from t2ibench/results/states.py."
)


def states_script() -> str:
    """The script: one line a state, with its word and the classes of its mark."""
    lines = [_HEAD, "export const STATES = {"]
    for state, display in STATES.items():
        word = json.dumps(display.word, ensure_ascii=False)
        classes = json.dumps(display.classes)
        lines.append(f"  {state}: {{ word: {word}, classes: {classes} }},")
    return "\n".join([*lines, "};", ""])


if __name__ == "__main__":
    SCRIPT.write_text(states_script(), encoding="utf-8")
