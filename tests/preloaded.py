"""What `tests.processes` imports once: all that a run of toyland imports."""

import importlib
import pkgutil

from PIL import Image

import t2ibench
from t2ibench.tasks.index import build_index

_ROOMS = {
    "cli",
    "methods",
    "models",
    "pipeline",
    "reports",
    "results",
    "stats",
    "store",
    "toyland",
}
_ELSEWHERE = (
    "filelock",
    "jinja2",
    "jsonlines",
    "rich.progress",
    "safetensors.numpy",
    "scipy.stats",
)

for found in pkgutil.walk_packages(t2ibench.__path__, "t2ibench."):
    if found.name.split(".")[1] in _ROOMS and not found.name.endswith("__main__"):
        importlib.import_module(found.name)
for name in _ELSEWHERE:
    importlib.import_module(name)
Image.init()
build_index()
