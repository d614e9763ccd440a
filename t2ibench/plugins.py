"""The public API for packages that add methods, models, judges, figures, writers or destinations.

Names of this module are stable: CONTRIBUTING.md says what a breaking change of them is, and how it
is announced. Whatever is not here (or in `t2ibench`) may change with any version. `plugins.pyi`
lists the names, by what they are for, with the modules that they come from.

Importing this module imports nothing else until one of its names is used, so that a package's
methods and adapters are listed quickly.
"""

from __future__ import annotations

import ast
import importlib
from importlib.resources import files
from typing import Any


def _homes() -> dict[str, str]:
    """Return the modules of the public names, keyed by name, as plugins.pyi lists them."""
    stub = ast.parse((files("t2ibench") / "plugins.pyi").read_text(encoding="utf-8"))
    return {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


_HOMES = _homes()
__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 't2ibench.plugins' has no attribute '{name}'")
    home = importlib.import_module(_HOMES[name])
    if not hasattr(home, name):  # a module of a package, such as `checks`
        importlib.import_module(f"{_HOMES[name]}.{name}")
    return getattr(home, name)


def __dir__() -> list[str]:
    return list(__all__)
