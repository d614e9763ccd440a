"""Everything a run can be told, in one model, and how it is read."""

from t2ibench.settings.model import (
    REPEATED,
    Flag,
    Measurement,
    RunSettings,
    Settings,
    field_of,
    flag_names,
    flags,
)
from t2ibench.settings.reader import read_settings

__all__ = [
    "REPEATED",
    "Flag",
    "Measurement",
    "RunSettings",
    "Settings",
    "field_of",
    "flag_names",
    "flags",
    "read_settings",
]
