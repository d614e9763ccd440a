"""The base class of all records in results.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass as _ModelMetaclass
else:
    _ModelMetaclass = type(BaseModel)

# More digits than any score means, and well above what another processor's arithmetic moves.
_DIGITS = 9


def rounded(value: float | None) -> float | None:
    """Return a number rounded to nine significant digits; None if it is not finite."""
    if value is None or not np.isfinite(value):
        return None
    return float(f"{value:.{_DIGITS}g}")


# What every model of pydantic has; it stays there, and is not what somebody looks for in a result.
_OF_EVERY_MODEL = frozenset(name for name in dir(BaseModel) if not name.startswith("_"))


class _ListsItsMembers(_ModelMetaclass):
    """Metaclass whose `dir` lists only a record's own members, for completion in notebooks."""

    def __dir__(cls) -> list[str]:
        return sorted(set(super().__dir__()) - _OF_EVERY_MODEL)


class Record(BaseModel, metaclass=_ListsItsMembers):
    """Base class of all records in results.json; a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    def __dir__(self) -> list[str]:
        """Return the names of the record's own fields and methods, without those of pydantic."""
        return sorted(set(super().__dir__()) - _OF_EVERY_MODEL)
