"""Draw docstrings and help lines at random, for a reader who does not look at the code.

python tools/draw_sentences.py docstrings --seed 1     # 40 first lines of docstrings
python tools/draw_sentences.py help --seed 1           # 40 lines of --help

The reader says of each what it does or returns; one that cannot be understood is rewritten, with
all others of its kind. The same seed draws the same lines from the same code.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "t2ibench"


def main() -> None:
    """Print the drawn lines, numbered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=["docstrings", "help"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=40)
    options = parser.parse_args()
    lines = sorted(
        docstrings(PACKAGE) if options.kind == "docstrings" else help_lines()
    )
    drawn = random.Random(options.seed).sample(lines, min(options.count, len(lines)))
    for number, line in enumerate(drawn, start=1):
        print(f"{number:2}. {line}")


def docstrings(package: Path) -> Iterator[str]:
    """The first line of every docstring, behind the signature that it belongs to."""
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = path.relative_to(package.parent).with_suffix("").as_posix()
        for node in ast.walk(tree):
            if not isinstance(
                node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
            ):
                continue
            text = ast.get_docstring(node)
            if text:
                yield f"{module}: {_signature(node)}: {text.splitlines()[0]}"


def _signature(node: ast.AST) -> str:
    if isinstance(node, ast.ClassDef):
        return f"class {node.name}"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
        return f"{node.name}({ast.unparse(node.args)}){returns}"
    return "module"


def help_lines() -> Iterator[str]:
    """Every line of --help, behind its command and flag."""
    from t2ibench.cli.parser import build_parser

    def walk(parser: argparse.ArgumentParser, command: str) -> Iterator[str]:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for name, below in action.choices.items():
                    yield from walk(below, f"{command} {name}")
            elif action.help and action.help != argparse.SUPPRESS:
                flag = "/".join(action.option_strings) or str(action.metavar)
                yield f"{command} {flag}: {action.help}"

    return walk(build_parser(), "t2ibench")


if __name__ == "__main__":
    main()
