"""The version of the package; every release that changes a score raises it."""

__version__ = "0.1.0"
