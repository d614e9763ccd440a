"""The bias methods: the evidence that each needs, and the scores computed from it.

A family is a folder; everything about it is in it. Pure functions on numpy arrays:
nothing here imports a model, a store or torch.
"""

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.registry import (
    METHODS,
    combine,
    method_named,
    method_of,
    needs,
    score,
)

__all__ = [
    "METHODS",
    "MainScore",
    "Method",
    "combine",
    "method_named",
    "method_of",
    "needs",
    "score",
]
