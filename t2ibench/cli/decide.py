"""`t2ibench decide RUN… --accept accept.yaml`: decide about runs by limits fixed beforehand."""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from t2ibench.cli.usage import LIST, add_flag
from t2ibench.errors import T2IBenchError

if TYPE_CHECKING:
    from t2ibench.decisions.decision import Decision
    from t2ibench.decisions.profile import Profile

_EXAMPLES = """examples:
  t2ibench decide runs/sdxl --accept accept.yaml
  t2ibench decide runs/sdxl --accept accept.yaml --format junit --output decision.xml
  t2ibench decide runs/before runs/after --accept accept.yaml   no more one-sided than before?
  t2ibench decide runs/sdxl --plan plan.json                    the limits of a plan, what departs

Pass: the whole interval lies within the accepted sizes. Fail: it lies beyond the rejected size.
Undecided: neither, or the numbers must not be used, such as when a control contradicts a test.
With two runs, a profile with a comparison decides about the second, NEW, beside the first, OLD.

exit status: 0 pass; 4 fail; 3 undecided; 1 wrong input; 2 wrong usage
docs/decisions.md has the error rates, and examples/accept.yaml every key
"""
_FORMATS = "terminal, markdown, json, junit or html"


def add(verbs: Any) -> None:
    """Add the command `decide`."""
    verb = verbs.add_parser(
        "decide",
        description="Decide whether a run is within limits that were fixed before it: pass, fail "
        "or undecided, with the images that would decide.",
        epilog=_EXAMPLES,
    )
    add_flag(
        verb,
        "runs RUN",
        "read these run folders; give OLD and NEW if the limits compare two runs (required)",
        nargs="+",
    )
    add_flag(
        verb,
        "--accept FILE",
        "take the limits from this accept.yaml (default: those of --plan)",
    )
    add_flag(
        verb,
        "--plan FILE",
        "list how the run departs from this plan.json (default: no plan)",
    )
    add_flag(
        verb,
        "--format F" + LIST,
        f"print {_FORMATS}; several need --output (default: terminal)",
    )
    add_flag(
        verb,
        "--output FILE",
        "write to this file; of several formats, to FILE.xml, FILE.html, … (default: print)",
    )
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the decision about runs, and return its exit status."""
    from t2ibench.arguments import names_of
    from t2ibench.decisions.decision import EXIT_STATUS
    from t2ibench.reports.decisions.formats import format_named
    from t2ibench.reports.decisions.sentences import worst

    names = list(dict.fromkeys(names_of(arguments.format or "terminal")))
    if not names:
        raise T2IBenchError("--format names no format.", f"Give {_FORMATS}.")
    writers = [format_named(name) for name in names]
    output = Path(arguments.output) if arguments.output else None
    if len(names) > 1 and output is None:
        raise T2IBenchError(
            f"--format {','.join(names)}: several formats need files.",
            "Give --output decision, which writes decision.xml, decision.html and so on.",
        )
    decisions = _decisions(arguments)
    for name, write in zip(names, writers, strict=True):
        _write(write(decisions), name, output, several=len(names) > 1)
    return EXIT_STATUS[worst(decisions)]


_ENDINGS = {"terminal": "txt", "markdown": "md", "junit": "xml"}


def _write(text: str, name: str, output: Path | None, *, several: bool) -> None:
    """Print a decision in a format, or write it to a file."""
    from t2ibench.store.files import write_text

    if output is None:
        print(text, end="")
        return
    path = output
    if several:
        path = output.with_name(f"{output.name}.{_ENDINGS.get(name, name)}")
    write_text(path, text)
    print(f"Decision: {path}")


def _decisions(arguments: argparse.Namespace) -> list[Decision]:
    """Return the decision about every run, or about the second beside the first."""
    from t2ibench.decisions.decision import decide
    from t2ibench.decisions.departures import (
        departures,
        departures_of_older_run,
        left_open,
    )
    from t2ibench.decisions.plan import read_plan
    from t2ibench.decisions.profile import read_profile
    from t2ibench.decisions.runs import ReferenceRuns, read_run

    plan = read_plan(Path(arguments.plan)) if arguments.plan else None
    if arguments.accept:
        profile = read_profile(Path(arguments.accept))
        base = Path(arguments.accept).parent
    elif plan is not None:
        profile = plan.profile
        base = Path(arguments.plan).parent
    else:
        raise T2IBenchError(
            "decide needs the limits.",
            "Give --accept accept.yaml, or --plan plan.json; examples/accept.yaml has every key.",
        )
    runs = [read_run(Path(path)) for path in arguments.runs]
    older = None
    if profile.needs_older_run and len(runs) > 1:
        _check_two(profile, len(runs))
        older, *runs = runs
    references = ReferenceRuns(base)
    today = datetime.now(tz=timezone.utc).date()
    decisions = []
    for measured in runs:
        departs: list[str] = []
        remarks: list[str] = []
        if plan is not None:
            departs = departures(
                plan, profile, measured.results, measured.looks, references
            )
            if older is not None:
                departs += departures_of_older_run(plan, older.results)
            remarks = left_open(plan, measured.results)
        decisions.append(
            decide(
                profile,
                measured,
                references,
                older,
                departures=departs,
                plan=None if plan is None else plan.sha256,
                remarks=remarks,
                today=today,
            )
        )
    return decisions


def _check_two(profile: Profile, count: int) -> None:
    """Check that a profile that compares has two runs to compare."""
    if count != 2:
        raise T2IBenchError(
            f"'{profile.title}' compares an older run with a newer one; {count} runs were given.",
            "Give two: t2ibench decide OLD NEW --accept FILE",
        )
