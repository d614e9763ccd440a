"""Which process of pytest-xdist runs which module."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

# What a module says that needs torch, diffusers, transformers or open_clip.
_MARK = "mark.networks"


class NetworksTogether(LoadFileScheduling):
    """Have the first process run the modules that are marked `networks`, and the others the rest.

    A process imports torch, diffusers and transformers in 15 s, so as few as possible do. Who has
    done their share helps the others.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        is_first = node is self.nodes[0]
        preferred = (
            name for name in self.workqueue if (name in self._networks) == is_first
        )
        module = next(preferred, None)
        if module is not None:
            self.workqueue.move_to_end(module, last=False)
        super()._assign_work_unit(node)

    @cached_property
    def _networks(self) -> frozenset[str]:
        """The marked modules, as names of their tests begin."""
        root = self.config.rootpath
        modules = set(map(self._split_scope, self.collection or ()))
        return frozenset(name for name in modules if _is_marked(root / name))


def _is_marked(module: Path) -> bool:
    return module.suffix == ".py" and _MARK in module.read_text(encoding="utf-8")
