"""Read task files with line numbers, validate them, and find tasks by name.

No module here knows any particular method.
"""

from t2ibench.tasks.index import TaskIndex, build_index, load_tasks
from t2ibench.tasks.loader import LoadedTask

__all__ = ["LoadedTask", "TaskIndex", "build_index", "load_tasks"]
