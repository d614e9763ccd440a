"""The schema of results.json, with its readers and writers."""

from t2ibench.results.files import read_results
from t2ibench.results.schema import Results, TaskResult

__all__ = ["Results", "TaskResult", "read_results"]
