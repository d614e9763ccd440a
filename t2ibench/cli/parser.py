"""Build the parser of the whole command line; each command adds its own flags."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module

from t2ibench.cli import COMMANDS, VERBS
from t2ibench.cli.usage import Parser
from t2ibench.version import __version__

_EXAMPLES = """examples:
  t2ibench --model toy --tasks all                         the bundled model, every task
  t2ibench --model sdxl --tasks core                       gender, skin, age, valence: 2,800 images
  t2ibench --model ./my-pipeline --tasks t2iat_flowers_insects --images-per-prompt 4
  t2ibench --model folder:my-images --tasks occupations    images that exist already
  t2ibench --encoder vectors:glove.txt --tasks weat        word vectors, no generator
  t2ibench --model sdxl --tasks all --dry-run              what it would generate, how long
  t2ibench ls                                              tasks; ls models, ls encoders, …
  t2ibench ls core_occupations_gender                      one task: question, prompts, source

Errors are one line; with T2IBENCH_TRACEBACK=1 in the environment, also where they come from.
"""


# Commands that another command's module adds.
_ADDED_BY = {"merge": "score"}


def build_parser(verbs: Sequence[str] = VERBS) -> Parser:
    """Return the parser of the command line.

    Args:
        verbs: The commands whose flags it reads, by default all. `--help` lists every command.
    """
    parser = Parser(
        prog="t2ibench",
        usage="t2ibench [COMMAND] FLAGS, or t2ibench COMMAND --help",
        description="Measure social bias in text-to-image models: standard tests, "
        "with intervals, controls and provenance.",
        epilog=f"{_listed_commands()}\n\n{_EXAMPLES}",
    )
    parser.add_argument(
        "--version", action="version", version=f"t2ibench {__version__}"
    )
    commands = parser.add_subparsers(
        prog=parser.prog, metavar="COMMAND", help=argparse.SUPPRESS
    )
    modules = dict.fromkeys(_ADDED_BY.get(verb, verb) for verb in verbs)
    for name in modules:
        import_module(f"t2ibench.cli.{name.replace('-', '_')}").add(commands)
    return parser


def _listed_commands() -> str:
    """Return every command with its help, one line each, below the titles of their groups."""
    width = max(map(len, VERBS))
    groups = []
    for title, lines in COMMANDS.items():
        commands = [f"  {verb:{width}}  {line}" for verb, line in lines.items()]
        groups.append("\n".join([f"{title}:", *commands]))
    return "\n\n".join(groups)
