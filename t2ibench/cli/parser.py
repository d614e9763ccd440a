"""Build the parser of the whole command line; each command adds its own flags."""

from __future__ import annotations

from importlib import import_module

from t2ibench.cli import GROUPS, VERBS
from t2ibench.cli.usage import Commands, Parser
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


def build_parser() -> Parser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="t2ibench",
        usage="t2ibench [COMMAND] FLAGS, or t2ibench COMMAND --help",
        description="Measure social bias in text-to-image models: standard tests, "
        "with intervals, controls and provenance.",
    )
    parser.add_argument(
        "--version", action="version", version=f"t2ibench {__version__}"
    )
    verbs = Commands(parser)
    for name in VERBS:
        if name != "merge":  # `score` adds it
            import_module(f"t2ibench.cli.{name.replace('-', '_')}").add(verbs)
    parser.epilog = f"{verbs.listed(GROUPS)}\n\n{_EXAMPLES}"
    return parser
