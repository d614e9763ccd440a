"""The Python API: every public name of t2ibench, from its docstring."""

from __future__ import annotations

import importlib
import inspect

import t2ibench

_SECTIONS = {
    "Measure": ("evaluate", "generate", "score", "load_tasks", "read_results"),
    "Reproduction of papers": ("reproduce", "Reproduction", "Exhibit"),
    "Results of a run": ("Results", "TaskResult"),
    "Several runs": ("compare", "RunsComparison", "Watcher"),
    "Remedies": ("frontier", "Frontier", "where", "Where"),
    "Settings of a run": ("RunSettings", "Settings"),
    "Models and judges": (
        *(
            "Generator",
            "ImageRequest",
            "GeneratedImage",
            "Encoder",
            "Judge",
            "Query",
            "Answer",
        ),
        *("Rewriter", "RewriteRequest", "Rewriting", "Proposer", "Adapter", "Request"),
    ),
    "A method": ("Method", "MainScore"),
    "Errors": ("T2IBenchError", "MissingEvidence"),
}
# A package of the same name stands before it.
_ELSEWHERE = {"reproduce": "t2ibench.apps.papers.call.reproduce"}


def pages() -> dict[str, str | bytes]:
    """The page of the API."""
    named = {name for names in _SECTIONS.values() for name in names}
    missing = set(t2ibench.__all__) - named - {"__version__"}
    if missing:
        raise ValueError(f"tools/docsite/api.py has no section for {sorted(missing)}")
    parts = [
        "# Python API",
        "Everything a program needs can be imported from `t2ibench`; what a package needs to add "
        "parts of its own is in `t2ibench.plugins`, see [the plug-in API](../extend/api.md). "
        "Importing either loads nothing else until one of its names is used.",
    ]
    for title, names in _SECTIONS.items():
        parts.append(f"## {title}")
        parts += [f"::: {_home(name)}" for name in names]
    return {"reference/api.md": "\n\n".join(parts) + "\n"}


def _home(name: str) -> str:
    """Where a name is defined; its docstring is read there."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    value = getattr(t2ibench, name)
    module = inspect.getmodule(value) or importlib.import_module("t2ibench")
    return f"{module.__name__}.{value.__name__}"
