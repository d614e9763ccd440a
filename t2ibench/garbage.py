"""Python's garbage collection, which passes over objects of which none is garbage."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@contextmanager
def uncollected() -> Iterator[None]:
    """Suspend garbage collection inside this context.

    It goes through all objects again and again while rows are read or a library is imported, and
    finds almost nothing: of the time in which diffusers is imported, it would take a fifth.
    Afterwards the new objects count as old, or the next collection would go through all of them.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not _frozen.some():  # unfreezing would undo what others have done
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.enable()


@contextmanager
def frozen_objects() -> Iterator[None]:
    """Have garbage collection pass over the objects that exist already, such as records of images.

    Going through a million of them again and again takes time, and none of them is garbage.
    """
    if _frozen.some():  # unfreezing would undo what others have done
        yield
        return
    gc.freeze()
    _frozen.here = True
    try:
        yield
    finally:
        gc.unfreeze()
        _frozen.here = False


@dataclass(slots=True)
class _Frozen:
    """Who has frozen objects.

    Python counts them by going through all of them, which takes a tenth of a second for a million.
    So once the program around this has frozen some, it is taken to keep them so.

    Attributes:
        here: Whether `frozen_objects` has.
        by_others: Whether others had at the last look.
    """

    here: bool = False
    by_others: bool = False

    def some(self) -> bool:
        """Return whether any object is frozen."""
        if not (self.here or self.by_others):
            self.by_others = gc.get_freeze_count() > 0
        return self.here or self.by_others


_frozen = _Frozen()
