"""One module and one data file a paper; see the package's own docstring."""
