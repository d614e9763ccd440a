"""Garbage collection is suspended for a while, and what was made meanwhile counts as old."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from t2ibench.garbage import uncollected


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_frozen_by_others() -> Iterator[None]:
    """What tests/conftest.py has frozen counts as old meanwhile."""
    gc.unfreeze()
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


def test_what_others_have_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with uncollected():
            pass
        # A frozen object may have been released meanwhile.
        assert 0 < gc.get_freeze_count() <= frozen
    finally:
        gc.unfreeze()
