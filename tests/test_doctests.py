"""The worked examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import t2ibench.methods
import t2ibench.stats

MODULES = [
    *("t2ibench.registry", "t2ibench.arguments", "t2ibench.reports.csv"),
    *(
        "t2ibench.power.forecasters",
        "tools.calibration.verdicts",
        "tools.calibration.worlds",
    ),
] + [
    module.name
    for package in (t2ibench.stats, t2ibench.methods)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
]


# Formulas that several families, or the explorer, compute with.
SHARED = {
    "vibex": "core.probing",
    **dict.fromkeys(("weat", "t2iat", "occupations"), "core.association"),
}


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_there_are_examples() -> None:
    """Every module of statistics, and every family, works an example."""
    finder = doctest.DocTestFinder(exclude_empty=True)

    def examples(name: str) -> int:
        module = importlib.import_module(name)
        return sum(len(test.examples) for test in finder.find(module))

    stats = [name for name in MODULES if name.startswith("t2ibench.stats.")]
    assert not [name for name in stats if not examples(name)]
    families = {name.split(".")[2] for name in MODULES if name.count(".") == 3} - {
        "core"
    }
    for family in families:
        home = f"t2ibench.methods.{SHARED.get(family, family)}"
        assert sum(examples(name) for name in MODULES if name.startswith(home)) > 0, (
            family
        )
