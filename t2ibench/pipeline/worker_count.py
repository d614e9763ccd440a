"""How many worker processes a run has, and why.

The user may give their number. Otherwise each GPU has a worker; and so has each core, where all
models of the run are small, run on the CPU, and have so many images to generate that processes are
worth their start. A process for each core generates more than one process whose threads share an
image: small networks leave threads waiting for each other most of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from t2ibench.machine import available_memory, cores
from t2ibench.models.encoders import ENCODERS
from t2ibench.models.generators import cpu_weights
from t2ibench.models.generators import imports_of as imports_of_generator
from t2ibench.models.judges import JUDGES
from t2ibench.models.resolution import cpu_weights_of, imports_of
from t2ibench.pipeline.executors.fork_server import can_fork
from t2ibench.pipeline.executors.processes import visible_gpus
from t2ibench.pipeline.run_context import Models, RunContext
from t2ibench.settings import RunSettings
from t2ibench.worker_pool import may_start_processes

# A worker that imports its libraries itself does so for 7 s of a core, in which `toy` generates as
# many images.
IMAGES_PER_SPAWNED_WORKER = 500
# A worker that is forked costs .5 to .7 s of a core until it is as fast as the others, in which
# `toy` generates 25 to 36 images.
IMAGES_PER_FORKED_WORKER = 100
_SMALL = 100_000_000  # bytes of weights of all models of a run
# A worker's libraries take 570 MB that no other process shares, unless it is forked, and batches
# come on top.
_BYTES_OF_WORKER = 800_000_000
# Weights are in memory once in their file's form and once in use; activations come on top.
_BYTES_A_WEIGHT_BYTE = 4
_SHARE_OF_MEMORY = 0.75


@dataclass(frozen=True, slots=True)
class WorkerCount:
    """The number of worker processes of a run.

    Attributes:
        count: How many there are; 1 where the process that leads the run does the work itself.
        gpus: Names of the GPUs that they share.
        reason: Why there are so many; empty where the user says so.
        single_threaded: Whether each computes in one thread, which small models do best.
        on_cpu: Whether it is certain that no model of the run uses a GPU.
    """

    count: int
    gpus: Sequence[str]
    reason: str
    single_threaded: bool = False
    on_cpu: bool = False

    @property
    def threads(self) -> int:
        """The number of threads of each."""
        return 1 if self.single_threaded else max(1, cores() // self.count)

    def sentence(self) -> str:
        """Return how many workers start and why, as the first lines of a run say it."""
        return f"{self.count} workers {self._share()}."

    def forecast(self) -> str:
        """Return how many workers would start and why, as a dry run says it."""
        if self.count == 1:
            return f"Workers: none, {self.reason or 'as --workers says'}"
        return f"Workers: {self.count} {self._share()}"

    def _share(self) -> str:
        """Return what each worker has of the machine, and why there are so many."""
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        share = f"on {len(self.gpus)} GPUs" if self.gpus else f"with {threads} each"
        return f"{share}, {self.reason}" if self.reason else share


def worker_count(context: RunContext, models: Models) -> WorkerCount:
    """Return how many workers a run has on this machine."""
    settings = context.settings
    if settings.workers is not None:
        gpus = gpus_of_workers(settings)
        on_cpu = _certain_device(settings) == "cpu"
        return WorkerCount(settings.workers, gpus, "", on_cpu=on_cpu)
    weights = _small_weights(context, models)
    if weights is not None:
        n_images = images_to_generate(context)
        return _for_small_models(weights, n_images, images_per_worker(settings))
    gpus = gpus_of_workers(settings)
    if len(gpus) > 1:
        return WorkerCount(len(gpus), gpus, "one for each")
    reason = (
        "because only small models on a CPU have some unless --workers asks for them"
    )
    return WorkerCount(1, [], reason)


def images_per_worker(settings: RunSettings) -> int:
    """Return how many images are worth a worker of small models."""
    imports = shared_imports(settings, observing=True)
    # Where this process has imported them (in a notebook, say), it would generate at once.
    are_loaded = all(name in sys.modules for name in imports)
    if can_fork() and not are_loaded:
        return IMAGES_PER_FORKED_WORKER
    return IMAGES_PER_SPAWNED_WORKER


def gpus_of_workers(settings: RunSettings) -> list[str]:
    """Return the names of this machine's GPUs that workers may use, one for each worker."""
    if settings.engine == "local" and settings.device in {None, "auto", "cuda"}:
        return visible_gpus()
    return []


def shared_imports(settings: RunSettings, *, observing: bool) -> tuple[str, ...]:
    """Return the modules that the workers of a run import to load its models.

    With `observing`, encoders are among these.
    """
    modules: list[str] = []
    if settings.model is not None:
        modules += imports_of_generator(settings.model)
    for name in settings.encoder if observing else ():
        modules += imports_of(ENCODERS, name)
    return tuple(dict.fromkeys(modules))


def needs_workers(settings: RunSettings) -> bool:
    """Return whether processes other than the leading one have to create the models."""
    count = settings.workers or max(len(gpus_of_workers(settings)), 1)
    return settings.engine != "local" or count != 1


def images_to_generate(context: RunContext) -> int:
    """Return how many images of the plan are missing."""
    images = context.images
    if images is None or context.stored_images_only:
        return 0
    return sum(not images.is_done(request.key) for request in context.plan.requests)


def _small_weights(context: RunContext, models: Models) -> int | None:
    """Return the bytes of all weights of a run; None unless they are small and on the CPU."""
    settings = context.settings
    if settings.model is None or models.adapters:
        return None
    device = _certain_device(settings)
    sizes = [cpu_weights(settings.model, settings.model_args, device)]
    if not settings.generate_only and context.plan.needs_encoder:
        for name in settings.encoder:
            of_encoder = cpu_weights_of(ENCODERS, name, device)
            # Its control has as many.
            sizes.append(None if of_encoder is None else 2 * of_encoder)
    if not settings.generate_only and context.plan.asks_judges:
        sizes += [cpu_weights_of(JUDGES, name, device) for name in settings.judge]
    total = 0
    for size in sizes:
        if size is None:
            return None
        total += size
    return total if total <= _SMALL else None


def _certain_device(settings: RunSettings) -> str | None:
    """Return 'cpu' where a model that may choose has nothing else; no library is imported."""
    may_choose = settings.device in {None, "auto"}
    if may_choose and not visible_gpus() and sys.platform != "darwin":
        return "cpu"
    return settings.device


def _for_small_models(weights: int, n_images: int, n_worth_one: int) -> WorkerCount:
    """Return how many workers small models have for a number of images.

    Args:
        weights: Bytes of the weights of all models.
        n_images: Images to generate.
        n_worth_one: Images that are worth a worker.
    """
    fewest = 2 * n_worth_one
    if n_images < fewest:
        reason = f"because fewer than {fewest:,} images have to be generated"
        return WorkerCount(1, [], reason)
    if not may_start_processes():
        return WorkerCount(1, [], "because a daemonic process cannot start others")
    n_cores = cores()
    if n_cores == 1:
        return WorkerCount(1, [], "because there is one core")
    available = available_memory()
    if available is None:
        return WorkerCount(1, [], "because it is not known how much memory is free")
    n_fitting = _number_that_fits(weights, available)
    if n_fitting < 2:
        return WorkerCount(1, [], "because memory has no room for two")
    n_worthwhile = n_images // n_worth_one
    limits = [
        (n_cores, "one for each core"),
        (n_worthwhile, f"one for every {n_worth_one} images"),
        (n_fitting, "as many as memory has room for"),
    ]
    count, limit = min(limits, key=lambda each: each[0])
    reason = f"{limit}, because the models are small (--workers 1 starts none)"
    return WorkerCount(count, [], reason, single_threaded=True, on_cpu=True)


def _number_that_fits(weights: int, available: int) -> int:
    """Return how many workers the available bytes of memory have room for."""
    need = _BYTES_OF_WORKER + _BYTES_A_WEIGHT_BYTE * weights
    return int(_SHARE_OF_MEMORY * available / need)
