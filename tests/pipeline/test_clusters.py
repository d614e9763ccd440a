"""A real Ray cluster of several nodes, one of which is killed, and a real Slurm of one node."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.engines import WAIT, Runs, alive, end, environment
from tests.system import programs

pytestmark = pytest.mark.nightly

_CONFIGURATION = """
ClusterName=t2ibench
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    found = Runs(tmp_path / "several")
    yield found
    found.kill()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """What one process gives."""
    one = Runs(tmp_path_factory.mktemp("one"))
    one.end(one.start())
    return one


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without room for workers; nodes are added by the test."""
    import ray  # an import of seconds, as below: not while tests are collected
    from ray.cluster_utils import Cluster

    for name, value in environment(T2I_MEET=1, T2I_PAUSE=0.5).items():
        monkeypatch.setenv(name, value)  # what the processes of a node inherit
    found = Cluster()
    found.add_node(num_cpus=0, include_dashboard=False)
    yield found
    ray.shutdown()
    found.shutdown()


def test_a_ray_cluster_that_gains_and_loses_nodes(runs: Runs, alone: Runs, cluster: Any) -> None:
    nodes = [cluster.add_node(num_cpus=1)]
    address = f"address={cluster.address},num_cpus=1"
    process = runs.start("--engine", "ray", "--workers", "3", "--engine-args", address)
    runs.until(lambda: len(runs.attempts()) >= 8)
    (first,) = runs.marked("here")
    nodes.append(cluster.add_node(num_cpus=1))  # for which a worker has waited
    runs.until(lambda: len(runs.marked("here")) == 2)
    cluster.remove_node(nodes[0], allow_graceful=False)
    runs.until(lambda: not alive(first))
    left = 172 - len(runs.attempts())
    said = runs.end(process)
    runs.equals(alone)
    assert left > 0 and "3 workers on Ray, each 1 CPU." in said
    assert "is gone" in said and "others do its work" in said and "Traceback" not in said


def test_a_folder_that_a_node_does_not_see(runs: Runs, cluster: Any) -> None:
    """The leader and its workers see other file systems: here, one that is removed between."""
    cluster.add_node(num_cpus=1)
    address = f"address={cluster.address}"
    process = runs.start("--engine", "ray", "--engine-args", address)
    runs.until(lambda: list(runs.run.glob(".locks/leader-*")))
    for token in runs.run.glob(".locks/leader-*"):
        token.unlink()
    said = runs.end(process, 1).splitlines()[-1]
    assert said.startswith("t2ibench: The worker on ") and "--output-dir" in said


@pytest.fixture
def slurm() -> Iterator[dict[str, str]]:
    """The environment that reaches a Slurm of this machine alone, which ends with the test."""
    programs("slurm-wlm munge", "munged", "slurmctld", "slurmd")
    if os.geteuid() != 0:
        pytest.skip("needs root, as which Slurm's own processes run here")
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="slurm"))  # sockets have short names
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        for name in ("state", "spool", "private"):
            (folder / name).mkdir(mode=0o700)
        key = folder / "private" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        ports = [one.getsockname()[1] for one in sockets]
        for one in sockets:
            one.close()
        host = socket.gethostname()
        text = _CONFIGURATION.format(folder=folder, host=host, ports=ports)
        (folder / "slurm.conf").write_text(text)
        env = environment(SLURM_CONF=folder / "slurm.conf", T2I_PAUSE=0.2, T2I_MEET=2)
        private = folder / "private"
        munge = ["--key-file", key, "--socket", folder / "munge", "--pid-file", folder / "pid"]
        munge += ["--log-file", private / "log", "--seed-file", private / "seed", "--force"]
        daemons = [
            ["munged", "--foreground", *munge],
            ["slurmctld", "-D", "-c"],
            ["slurmd", "-D", "-N", host],
        ]
        for words in daemons:
            quiet = subprocess.DEVNULL
            process = subprocess.Popen(list(map(str, words)), env=env, stdout=quiet, stderr=quiet)
            stack.callback(process.wait, 30)
            stack.callback(process.terminate)
            if words[0] == "munged":
                wait_for((folder / "munge").exists)
        wait_for(lambda: "idle" in asked(env, "sinfo", "-h"))
        yield env


def asked(env: dict[str, str], *words: str) -> str:
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    return done.stdout


def wait_for(happens: Any) -> None:
    until = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < until, "Slurm does not start"
        time.sleep(0.1)


def test_a_slurm_array_with_a_requeued_and_a_killed_task(
    runs: Runs, alone: Runs, slurm: dict[str, str]
) -> None:
    words = ("--engine", "slurm", "--workers", "2", "--engine-args", "submit=yes,cpus=1")
    said = runs.end(runs.start(*words, **slurm))
    (array,) = [line.split()[-1].rstrip(".") for line in said.splitlines() if "array job" in line]
    runs.until(lambda: len(runs.attempts()) > 8)
    # The time of the first task is nearly over: it stops after its batch, and comes again.
    asked(slurm, "scancel", "--batch", "--signal=USR1", f"{array}_1")
    runs.until(lambda: "Restarts=1" in asked(slurm, "scontrol", "show", "job", f"{array}_1"))
    assert len(runs.attempts()) < 172 and not (runs.run / "results.json").exists()
    # The second one dies.
    for pid in runs.marked("here"):
        if alive(pid):
            end(pid)

    # A node takes a job that starts again within the second it ended in for the one that ended.
    time.sleep(3)

    def scored() -> bool:
        # Slurm would wait two minutes before it starts the first again.
        asked(slurm, "scontrol", "update", f"jobid={array}_1", "StartTime=now")
        time.sleep(0.5)
        return "COMPLETED" in asked(slurm, "scontrol", "show", "job", str(int(array) + 1))

    runs.until(scored, 3 * WAIT)
    runs.equals(alone)
    assert "interrupted" in next(runs.run.glob("slurm/*/*_1.log")).read_text()
