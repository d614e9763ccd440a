"""A real Ray cluster of several nodes, one of which is killed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.pipeline.engines import IMAGES, Runs, alive, environment

pytestmark = pytest.mark.nightly


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


def test_a_ray_cluster_that_gains_and_loses_nodes(
    runs: Runs, alone: Runs, cluster: Any
) -> None:
    nodes = [cluster.add_node(num_cpus=1)]
    address = f"address={cluster.address},num_cpus=1"
    process = runs.start("--engine", "ray", "--workers", "3", "--engine-args", address)
    runs.until(lambda: len(runs.attempts()) >= 8)
    (first,) = runs.marked("here")
    nodes.append(cluster.add_node(num_cpus=1))  # for which a worker has waited
    runs.until(lambda: len(runs.marked("here")) == 2)
    cluster.remove_node(nodes[0], allow_graceful=False)
    runs.until(lambda: not alive(first))
    left = IMAGES - len(runs.attempts())
    said = runs.end(process)
    runs.equals(alone)
    assert left > 0 and "3 workers on Ray, each 1 CPU." in said
    assert (
        "is gone" in said and "others do its work" in said and "Traceback" not in said
    )
