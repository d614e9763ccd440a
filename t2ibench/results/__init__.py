"""The schema of results.json and reading it."""

from t2ibench.results.schema import Results, TaskResult, read_results

__all__ = ["Results", "TaskResult", "read_results"]
