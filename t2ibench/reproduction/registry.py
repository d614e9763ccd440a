"""The papers, by name."""

from __future__ import annotations

from t2ibench.registry import Registry
from t2ibench.reproduction.paper import Paper

PAPERS: Registry[Paper] = Registry(
    "paper",
    {
        "t2iat": "t2ibench.reproduction.papers.t2iat:PAPER",
        "mcas": "t2ibench.reproduction.papers.mcas:PAPER",
        "openbias": "t2ibench.reproduction.papers.openbias:PAPER",
        "tibet": "t2ibench.reproduction.papers.tibet:PAPER",
        "vibex": "t2ibench.reproduction.papers.vibex:PAPER",
    },
    members=("name", "file", "builders"),
)
