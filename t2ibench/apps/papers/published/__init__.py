"""One data file and one module a paper; see `t2ibench/apps/papers/__init__.py`."""
