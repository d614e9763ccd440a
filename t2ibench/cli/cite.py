"""`t2ibench cite RUN`: print BibTeX of everything that a run used."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from t2ibench.cli.text_output import print_or_write
from t2ibench.cli.usage import add_flag

_EXAMPLES = """examples:
  t2ibench cite runs/toy
  t2ibench cite runs/toy --output bias.bib
"""


def add(verbs: Any) -> None:
    """Add the command `cite`."""
    verb = verbs.add_parser(
        "cite",
        description=(
            "Print BibTeX of what a run used: t2ibench, the publications of its methods and "
            "tasks, the tasks, the model, encoders and judges, each once. An entry without a "
            "publication is a @misc with what the run's records contain."
        ),
        epilog=_EXAMPLES,
    )
    add_flag(verb, "run RUN", "read this run folder, such as runs/toy (required)")
    add_flag(verb, "--output FILE", "write to this file (default: print)")
    verb.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the bibliography of a run, or write it."""
    from t2ibench.reports.exchange.bibtex import bibliography
    from t2ibench.results.files import read_results

    text = bibliography(read_results(Path(arguments.run)))
    print_or_write(text, Path(arguments.output) if arguments.output else None)
    return 0
