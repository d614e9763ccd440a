"""Published papers, each with one data file and one module."""
