"""The explorer's scripts know the states of tests as reports do."""

from __future__ import annotations

import re

from t2ibench.results.states import STATES
from tools.write_states import SCRIPT, states_script


def test_script_of_states_is_written_from_the_states_of_reports() -> None:
    assert SCRIPT.read_text(encoding="utf-8") == states_script(), (
        "run `python tools/write_states.py`"
    )


def test_scripts_name_words_of_states_nowhere_else() -> None:
    words = {display.word for display in STATES.values() if " above " in display.word}
    for path in SCRIPT.parent.glob("*.js"):
        text = re.sub(r"//.*", "", path.read_text(encoding="utf-8"))
        assert path == SCRIPT or not any(word in text for word in words), path
