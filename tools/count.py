"""The size of the house: lines of code, without docstrings, comments and blanks.

python tools/count.py                 # t2ibench/ by room, then tests/, tools/ and benchmarks/
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def counted(text: str) -> tuple[int, int, int]:
    """Lines of code, lines of docstrings, and all lines of a module."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings.update(
                    range(first.lineno, (first.end_lineno or first.lineno) + 1)
                )
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - docstrings), len(docstrings), len(text.splitlines())


def main() -> int:
    """Print a row a room."""
    rooms: dict[str, Counter[str]] = {}
    for top in ("t2ibench", "tests", "tools", "benchmarks"):
        for path in sorted((ROOT / top).rglob("*.py")):
            inside = path.relative_to(ROOT).parts
            room = (
                "/".join(inside[:2]) if top == "t2ibench" and len(inside) > 2 else top
            )
            code, docstrings, lines = counted(path.read_text(encoding="utf-8"))
            for name in {room, f"{top}, all"}:
                rooms.setdefault(name, Counter()).update(
                    files=1, code=code, docstrings=docstrings, lines=lines
                )
    print(f"{'':28}{'files':>7}{'code':>9}{'docstrings':>12}{'lines':>9}")
    for name, row in rooms.items():
        print(
            f"{name:28}{row['files']:7,}{row['code']:9,}{row['docstrings']:12,}{row['lines']:9,}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
