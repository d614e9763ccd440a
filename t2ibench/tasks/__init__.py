"""Task definitions: schema, loader, registry."""

from t2ibench.tasks.loader import LoadedTask
from t2ibench.tasks.registry import Registry, build_registry, load_tasks

__all__ = ["LoadedTask", "Registry", "build_registry", "load_tasks"]
