"""The papers, by name."""

from __future__ import annotations

from t2ibench.registry import Registry
from t2ibench.reproduce.paper import Paper

PAPERS: Registry[Paper] = Registry(
    "paper",
    {
        "t2iat": "t2ibench.reproduce.papers.t2iat:PAPER",
        "mcas": "t2ibench.reproduce.papers.mcas:PAPER",
        "openbias": "t2ibench.reproduce.papers.openbias:PAPER",
        "tibet": "t2ibench.reproduce.papers.tibet:PAPER",
        "vibex": "t2ibench.reproduce.papers.vibex:PAPER",
    },
    members=("name", "file", "builders"),
)
