"""Garbage collection is suspended for a while, and what was made meanwhile counts as old."""

import gc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest

from t2ibench import garbage
from t2ibench.garbage import frozen_objects, uncollected


@pytest.fixture(autouse=True)
def _nothing_is_frozen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What tests/conftest.py has frozen counts as old meanwhile."""
    gc.unfreeze()
    monkeypatch.setattr(garbage, "_frozen", garbage._Frozen())
    yield
    gc.freeze()


def is_among(thing: Any, objects: list[Any]) -> bool:
    return any(each is thing for each in objects)


def test_nothing_is_collected_inside_and_everything_afterwards() -> None:
    assert gc.isenabled()
    with uncollected():
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_collection_goes_on_after_an_error() -> None:
    with pytest.raises(ImportError), uncollected():
        raise ImportError
    assert gc.isenabled()


def test_what_was_made_inside_is_old_afterwards() -> None:
    with uncollected():
        made: list[list[int]] = [[]]
        assert is_among(made, gc.get_objects(generation=0))
    assert not is_among(made, gc.get_objects(generation=0))
    assert is_among(made, gc.get_objects(generation=2))


@pytest.mark.parametrize("context", [uncollected, frozen_objects])
def test_what_others_have_frozen_stays_frozen(
    context: Callable[[], AbstractContextManager[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted once, since counting goes through all of it."""
    gc.freeze()
    frozen = gc.get_freeze_count()
    counted: list[int] = []

    def count() -> int:
        counted.append(frozen)
        return frozen

    with monkeypatch.context() as patched:
        patched.setattr(gc, "get_freeze_count", count)
        for _ in range(3):
            with context():
                pass
    assert counted == [frozen]
    # A frozen object may have been released meanwhile.
    assert 0 < gc.get_freeze_count() <= frozen


def test_what_exists_is_frozen_inside_and_not_afterwards() -> None:
    with frozen_objects():
        assert gc.get_freeze_count() > 0
        with uncollected(), frozen_objects():
            pass
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
    with uncollected():
        made: list[list[int]] = [[]]
    assert is_among(made, gc.get_objects(generation=2))
