"""The command line. Nothing heavy is imported before a verb runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

VERBS = (
    "run",
    "ls",
    "validate",
    "score",
    "report",
    "compare",
    "explore",
    "propose",
    "caption",
    "label",
    "agree",
    "leaderboard",
    "calibrate",
    "power",
    "check-adapter",
)


def _normalise(argv: Sequence[str]) -> list[str]:
    """Put in the default verb, and read --model_args as --model-args."""
    words = []
    for word in argv:
        if word.startswith("--") and "_" in word:
            flag, equals, value = word.partition("=")
            word = flag.replace("_", "-") + equals + value  # noqa: PLW2901
        words.append(word)
    if words and words[0] not in VERBS and words[0] not in {"-h", "--help", "--version"}:
        if words[0].startswith("-"):
            return ["run", *words]
        from t2ibench.errors import did_you_mean

        message = f"unknown command '{words[0]}'.{did_you_mean(words[0], VERBS)}"
        print(f"t2ibench: {message} Commands: {', '.join(VERBS)}.", file=sys.stderr)
        raise SystemExit(2)
    return words


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The words after 't2ibench'; None takes those of the process.

    Returns:
        0 done; 1 the input is wrong; 3 finished, some evidence is missing; 4 a gate
        (--fail-on) failed; 130 interrupted.
        argparse exits with 2 on wrong usage.
    """
    import warnings

    from t2ibench.cli.parser import build_parser
    from t2ibench.errors import T2IBenchError

    given = list(sys.argv[1:] if argv is None else argv)
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        # For package.module:factory in this folder; last, so that it shadows no installed package.
        sys.path.append(str(Path.cwd()))
    parser = build_parser()
    if not given:
        parser.print_help()
        return 0
    arguments = parser.parse_args(_normalise(given))
    arguments.argv = ["t2ibench", *given]
    # What libraries announce to each other about their future; a user cannot act on it.
    warnings.simplefilter("ignore", FutureWarning)
    try:
        return int(arguments.handler(arguments))
    except T2IBenchError as error:
        print(f"t2ibench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\nt2ibench: interrupted. Everything done so far is kept; "
            "re-run the same command to continue.",
            file=sys.stderr,
        )
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 0
