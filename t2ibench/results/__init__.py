"""The content of results.json as typed records, and how it is read and written."""

from t2ibench.results.files import read_results
from t2ibench.results.schema import Results, TaskResult

__all__ = ["Results", "TaskResult", "read_results"]
