"""The papers, by name."""

from __future__ import annotations

from t2ibench.apps.papers.paper import Paper
from t2ibench.registry import Registry

PAPERS: Registry[Paper] = Registry(
    "paper",
    {
        name: f"t2ibench.apps.papers.published.{name}:PAPER"
        for name in ("t2iat", "mcas", "openbias", "tibet", "vibex")
    },
    members=("name", "file", "builders"),
)
