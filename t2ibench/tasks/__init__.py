"""Task definitions: source with lines, loader, index. Knows no family."""

from t2ibench.tasks.index import TaskIndex, build_index, load_tasks
from t2ibench.tasks.loader import LoadedTask

__all__ = ["LoadedTask", "TaskIndex", "build_index", "load_tasks"]
