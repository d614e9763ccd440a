"""The version of the package, which every release that changes a score raises."""

__version__ = "0.1.0"
