"""Cores and memory, as a container or a batch system limits them, and whether there is a GPU."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from t2ibench import machine
from t2ibench.models import devices

GIB = 2**30
Write = Callable[[str, str], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """A machine of 16 cores and 64 GiB of free memory, whose files a test writes."""
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path / "groups")
    monkeypatch.setattr(machine, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(
        os, "sched_getaffinity", lambda _: set(range(16)), raising=False
    )

    def write_file(name: str, text: str) -> None:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    write_file("proc/meminfo", f"MemTotal: 9 kB\nMemAvailable: {64 * 2**20} kB\n")
    return write_file


def test_a_machine_without_control_groups_has_all_it_has(write: Write) -> None:
    assert machine.cores() == 16
    assert machine.available_memory() == 64 * GIB


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("max 100000", 16),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("1000 100000", 1),
        ("nonsense", 16),
    ],
)
def test_the_quota_of_a_group_above_counts(
    write: Write, quota: str, expected: int
) -> None:
    write("proc/self/cgroup", "0::/pod/container\n")
    write("groups/pod/cpu.max", quota)
    write("groups/pod/container/cpu.max", "max 100000")
    assert machine.cores() == expected


def test_version_1_has_a_tree_for_each_controller(write: Write) -> None:
    write("proc/self/cgroup", "4:memory:/job\n2:cpu,cpuacct:/job\n0::/\n")
    write("groups/cpu/job/cpu.cfs_quota_us", "300000")
    write("groups/cpu/job/cpu.cfs_period_us", "100000")
    write("groups/cpu/cpu.cfs_quota_us", "-1")
    write("groups/cpu/cpu.cfs_period_us", "100000")
    write("groups/memory/job/memory.limit_in_bytes", str(8 * GIB))
    write("groups/memory/job/memory.usage_in_bytes", str(5 * GIB))
    write("groups/memory/job/memory.stat", f"cache 1\ntotal_inactive_file {2 * GIB}\n")
    assert machine.cores() == 3
    assert machine.available_memory() == 5 * GIB


def test_memory_is_the_least_that_any_group_leaves(write: Write) -> None:
    write("proc/self/cgroup", "0::/pod/container\n")
    write("groups/pod/memory.max", str(4 * GIB))
    write("groups/pod/memory.current", str(3 * GIB))
    write("groups/pod/container/memory.max", "max")
    write("groups/pod/container/memory.current", str(3 * GIB))
    assert machine.available_memory() == GIB
    write("groups/pod/memory.current", str(5 * GIB))
    assert machine.available_memory() == 0


@pytest.mark.parametrize("name", ["memory.max", "memory.high"])
def test_a_group_that_is_slowed_down_counts_as_full(write: Write, name: str) -> None:
    """Of a container that sees its own group as the root, and of one below another."""
    for path, folder in (("/", "groups"), ("/a.slice/b.scope", "groups/a.slice")):
        write("proc/self/cgroup", f"0::{path}\n")
        write(f"{folder}/memory.max", "max")
        write(f"{folder}/memory.high", "max")
        write(f"{folder}/{name}", str(6 * GIB))
        write(f"{folder}/memory.current", str(5 * GIB))
        assert machine.available_memory() == GIB


@pytest.mark.parametrize("path", ["/docker/0a1b", "/../../job", "/"])
def test_a_container_whose_group_is_mounted_as_the_root(
    write: Write, path: str
) -> None:
    write("proc/self/cgroup", f"4:memory:{path}\n2:cpu,cpuacct:{path}\nno line\n")
    write("groups/memory/memory.limit_in_bytes", str(3 * GIB))
    write("groups/memory/memory.usage_in_bytes", str(GIB))
    write("groups/cpu,cpuacct/cpu.cfs_quota_us", "400000")
    write("groups/cpu,cpuacct/cpu.cfs_period_us", "100000")
    assert machine.available_memory() == 2 * GIB
    assert machine.cores() == 4


def test_no_limit_of_version_1_is_a_large_number(write: Write) -> None:
    write("proc/self/cgroup", "4:memory:/\n")
    write("groups/memory/memory.limit_in_bytes", "9223372036854771712")
    write("groups/memory/memory.usage_in_bytes", str(GIB))
    assert machine.available_memory() == 64 * GIB


def test_other_systems_have_half_of_their_memory(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("proc/meminfo", "MemTotal: 9 kB\n")
    sizes = {"SC_PHYS_PAGES": 4 * 2**20, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert machine.available_memory() == 8 * GIB
    monkeypatch.delattr(os, "sysconf")
    assert machine.available_memory() is None


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("null", False),
        ("nvidia3", True),  # the only card that a container has
        ("nvhost-gpu", True),
        ("kfd", True),
        ("dxg", True),
    ],
)
def test_a_file_of_the_system_says_that_there_may_be_a_gpu(
    file: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / file).touch()
    monkeypatch.setattr(machine, "_DEV", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "platform", "linux")
    assert machine.may_have_gpu() is expected


def test_elsewhere_and_with_its_command_there_may_be_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_DEV", tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    assert machine.may_have_gpu()
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(sys, "platform", "win32")
    assert machine.may_have_gpu()


def test_without_a_gpu_the_device_is_chosen_without_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(devices, "may_have_gpu", lambda: False)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert devices.choose_device(None) == devices.choose_device("auto") == "cpu"
    with pytest.raises(ImportError):
        devices.choose_device("cuda")
