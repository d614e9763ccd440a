"""The processor cores and the memory that this process may use, and whether there may be a GPU.

The limits of a container or of a batch system count: on Linux, those of control groups of
version 1 and 2.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")
_DEV = Path("/dev")
# Of cards of NVIDIA in computers, in boards such as Jetson, in Windows' Linux; and of AMD.
_FILES_OF_GPUS = ("nvidia*", "nvhost*", "nvgpu*", "dxg", "kfd")


def cores() -> int:
    """Return how many processor cores this process may use; a part of one counts as one."""
    if hasattr(os, "sched_getaffinity"):
        visible = len(os.sched_getaffinity(0))
    else:
        visible = os.cpu_count() or 1
    quotas = [_quota(folder) for folder in _control_groups("cpu")]
    limits = [math.ceil(quota) for quota in quotas if quota is not None]
    return max(1, min([visible, *limits]))


def available_memory() -> int | None:
    """Return how many bytes of memory may still be taken; None if that is not known.

    Where the system does not say how much is free, half of all is taken to be.
    """
    free = _free_memory()
    if free is None:
        return _half_of_all_memory()
    rooms = [_room(folder) for folder in _control_groups("memory")]
    return min([free, *(room for room in rooms if room is not None)])


def may_have_gpu() -> bool:
    """Return whether there may be a GPU; torch, which takes a second to import, knows for sure."""
    if sys.platform != "linux":
        return True
    has_file = any(any(_DEV.glob(name)) for name in _FILES_OF_GPUS)
    return has_file or shutil.which("nvidia-smi") is not None


def _free_memory() -> int | None:
    """Return the bytes that Linux could give to new processes without swapping."""
    with suppress(OSError, ValueError):
        for line in (_PROC / "meminfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name == "MemAvailable":
                kibibytes = value.split()[0]
                return int(kibibytes) * 1024
    return None


def _half_of_all_memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return None


def _control_groups(controller: str) -> list[Path]:
    """Return the folders of the control groups that limit this process, its own and all above.

    Args:
        controller: 'cpu' or 'memory'.
    """
    lines: list[str] = []
    with suppress(OSError, ValueError):
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    folders: list[Path] = []
    for line in lines:
        _, _, tree = line.partition(":")
        controllers, _, path = tree.partition(":")
        for root in _roots(controllers, controller):
            group = root / path.lstrip("/")
            folders += [group, *(above for above in group.parents if above >= root)]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def _roots(controllers: str, controller: str) -> list[Path]:
    """Return where the trees of a line of /proc/self/cgroup may be mounted.

    Args:
        controllers: Those of the line, such as 'cpu,cpuacct'; none for version 2.
        controller: The wanted one.
    """
    # Version 2 has one tree for all controllers, in a folder of its own beside version 1.
    if not controllers:
        return [_CGROUPS, _CGROUPS / "unified"]
    if controller not in controllers.split(","):
        return []
    return [_CGROUPS / controller, _CGROUPS / controllers]


def _quota(folder: Path) -> float | None:
    """Return how many cores a control group may use; None for any number."""
    with suppress(OSError, ValueError):  # version 2; 'max 100000' is no limit
        microseconds, period = map(int, (folder / "cpu.max").read_text().split())
        return microseconds / period
    quota = _number(folder / "cpu.cfs_quota_us")
    of_each = _number(folder / "cpu.cfs_period_us")
    if quota is None or not of_each or quota < 0:
        return None
    return quota / of_each


def _room(folder: Path) -> int | None:
    """Return the bytes that a control group may still take; None for any number.

    Files that are kept in memory count as free: the system drops them when it needs the memory.
    """
    # Above memory.high (systemd's MemoryHigh), a process is slowed down until it hardly moves.
    versions = (
        (("memory.max", "memory.high"), "memory.current", "inactive_file"),
        (
            ("memory.limit_in_bytes",),
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    )
    for limit_names, usage_name, cache_name in versions:
        limits = [_number(folder / name) for name in limit_names]
        least = min((limit for limit in limits if limit is not None), default=None)
        usage = _number(folder / usage_name)
        if least is not None and usage is not None:
            used = usage - _statistic(folder / "memory.stat", cache_name)
            return max(0, least - used)
    return None


def _statistic(file: Path, name: str) -> int:
    """Return a number of memory.stat; 0 where it has none of that name."""
    with suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0


def _number(file: Path) -> int | None:
    """Return the number that a file contains; None where it contains none, such as 'max'."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
