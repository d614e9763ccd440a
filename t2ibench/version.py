"""The version; a release that changes any score raises it."""

__version__ = "0.1.0"
