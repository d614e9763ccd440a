"""`--fail-on`: what it takes, what it prints, and its exit status."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from t2ibench.cli.failure import say
from t2ibench.cli.usage import add_flag

if TYPE_CHECKING:
    from t2ibench.results.gates import Checked

FAILED = 4  # exit status
OF_A_RUN, OF_TWO = '"headline.magnitude_low>0.2"', '"difference.ci_low>0.1"'
EXAMPLES = """gates, for continuous integration:
{examples}\
FIELD is value, ci_low, ci_high, p, p_holm, p_bh, fair_low, fair_high, magnitude, magnitude_low
or magnitude_high, as tables show them: a lean has its sign, its magnitude has none. Commas mean
'and', a repeated flag 'or'. The exit status is 4 where a task meets the condition, or where none
could be checked. Inconclusive tasks and tasks without the number are not checked, and named.
"""


def add_gates(verb: Any, names: str, example: str) -> None:
    """Add --fail-on."""
    text = f"exit with status 4 if any task meets this condition, such as {example}: {names}; "
    add_flag(verb, "--fail-on EXPR", text + "then >, >=, < or <=, and a number", action="append")


def report(checked: Checked) -> int:
    """Say which tasks a gate stops."""
    lines = [f"gate failed: {line}" for line in checked.failures]
    lines += [f"gate: {line}" for line in checked.unchecked]
    if checked.failed and not checked.failures:
        lines.append("gate failed: no task could be checked")
    for line in lines:
        say(line)
    return FAILED if checked.failed else 0
