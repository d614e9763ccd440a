"""Python's garbage collection, suspended while many objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
            frozen_by_others = gc.get_freeze_count() > 0
            if not frozen_by_others:  # unfreezing would undo what they have done
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.enable()
