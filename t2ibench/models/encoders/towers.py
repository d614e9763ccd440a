"""Code that encoders based on torch share: batches, normalisation and random weights."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any, TypeVar

import numpy as np

from t2ibench.arrays import Float32Array, Float64Array
from t2ibench.errors import T2IBenchError
from t2ibench.machine import cores
from t2ibench.models.adapter import Request
from t2ibench.models.devices import choose_device, dtype_name, torch_dtype
from t2ibench.models.fingerprint import fingerprint
from t2ibench.models.library_messages import collect_messages

_E = TypeVar("_E")
_Item = TypeVar("_Item")
_SEED = 1  # of random weights
_RANDOM = ("No pretrained weights loaded",)  # a message that is expected here
# On a GPU several batches are handed over at once, so that it computes one while the next is put
# together; their size is fixed, because it decides the last bit of an embedding.
_CPU_BATCH, _GPU_BATCH, _GPU_BATCHES = 16, 64, 4
# Of a small network: all images that are stored together are computed at once.
_MOST_BATCHES_AT_ONCE = 16
# torch's number of threads is one for the whole process.
_THREAD_LOCK = threading.Lock()


def encode(
    items: Sequence[_Item],
    batch_size: int,
    call: Callable[[Sequence[_Item]], Any],
    n_threads: int = 1,
) -> Float32Array:
    """Return the embeddings of images or texts, computed in batches of `batch_size`.

    The last batch is filled up with its own last item: matrix products round differently with
    the number of rows, and an embedding must not depend on how many others were missing.

    Args:
        items: The images or texts.
        batch_size: Number of items that the network gets at a time.
        call: Returns the features of a batch, shape (batch_size, d).
        n_threads: Number of batches that are computed at the same time.
    """
    import torch

    def features(start: int) -> Any:
        batch = list(items[start : start + batch_size])
        count = len(batch)
        batch += [batch[-1]] * (batch_size - count)
        # Each thread has an inference mode of its own.
        with torch.inference_mode():
            return call(batch)[:count].float()

    starts = range(0, len(items), batch_size)
    if min(n_threads, len(starts)) > 1:
        with ThreadPoolExecutor(min(n_threads, len(starts))) as pool:
            rows = list(pool.map(features, starts))
    else:
        rows = [features(start) for start in starts]
    with torch.inference_mode():
        # One copy of all rows, so that the GPU is waited for only once.
        embeddings: Float32Array = torch.cat(rows).cpu().numpy()
    return embeddings


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Have torch compute in one thread: how many there are decides the last bit of an embedding."""
    import torch

    with _THREAD_LOCK:
        before = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def unit_rows(rows: Float32Array | Float64Array) -> Float32Array:
    """Return embeddings scaled to unit length; a row of zeros becomes NaN."""
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rounded: Float32Array = unit.astype(np.float32)
    return rounded


def untrained_copy(
    encoder: _E, build: Callable[[], Any], identity: Mapping[str, Any], library: str
) -> _E:
    """Return a copy of an encoder with random weights in place of its own."""
    from importlib.metadata import version

    untrained: Any = copy.copy(encoder)
    trained = untrained.towers

    def towers() -> Any:
        import torch

        parameter = next(trained().parameters())
        with (
            torch.random.fork_rng(devices=[]),
            collect_messages(untrained.name, expected=_RANDOM),
        ):
            torch.manual_seed(_SEED)
            model = build()
        return model.to(parameter.device, parameter.dtype).eval()

    untrained.prepares_like = untrained.name
    untrained.name = f"random:{untrained.name}"
    untrained.towers = cache(towers)
    untrained.fingerprint = fingerprint(
        adapter="untrained 1",
        seed=_SEED,
        versions={name: version(name).partition("+")[0] for name in ("torch", library)},
        **identity,
    )
    result: _E = untrained
    return result


def architecture(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's configuration without its name, its dtype and the library's version."""
    return {
        key: architecture(value) if isinstance(value, Mapping) else str(value)
        for key, value in config.items()
        if key not in {"_name_or_path", "transformers_version", "dtype"}
    }


class TowerEncoder:
    """Base class of encoders based on torch (see models.protocols.Encoder); float32 by default.

    `towers()` returns the network, and loads it if necessary.
    """

    embeds_images = True
    fingerprint: str
    towers: Callable[[], Any]

    def __init__(self, request: Request[Any]) -> None:
        self.name = request.spec
        self._device = choose_device(request.device)
        self._precision = dtype_name(request.dtype) or "float32"
        on_cpu = self._device == "cpu"
        self._batch = _CPU_BATCH if on_cpu else _GPU_BATCH
        self.batch_size = self._batch if on_cpu else _GPU_BATCH * _GPU_BATCHES
        # Beside a GPU, torch only puts batches together, and its threads would keep the cores from
        # those that decode images. Torch knows one number of threads for the whole process: while
        # this encodes, other work of the process on the CPU has one thread, too.
        self._has_one_thread = not on_cpu
        self._batches_at_once = 1

    def compute_each_batch_in_one_thread(self) -> None:
        """Compute a batch in one thread, and as many batches at the same time as there are cores.

        An embedding is then the same to the last bit on any number of cores. It is faster, too,
        where a network is so small that threads mostly wait for each other.
        """
        self._has_one_thread = True
        self._batches_at_once = min(cores(), _MOST_BATCHES_AT_ONCE)
        self.batch_size = self._batch * self._batches_at_once

    @property
    def _dtype(self) -> Any:
        return torch_dtype(self._precision)

    def _rows(
        self,
        items: Sequence[Any],
        call: Callable[[Sequence[Any]], Any],
        n_threads: int = 1,
    ) -> Float32Array:
        threads = in_one_thread() if self._has_one_thread else nullcontext()
        with threads:
            return unit_rows(encode(items, self._batch, call, n_threads))

    def encode_images(self, prepared: Sequence[Any]) -> Float32Array:
        """Return the embeddings of prepared images, shape (n, d)."""
        import torch

        def on_device(tensors: Sequence[Any]) -> Any:
            batch = torch.stack(list(tensors))
            if self._device.startswith("cuda"):
                batch = batch.pin_memory().to(self._device, non_blocking=True)
            dtype = self._dtype if batch.is_floating_point() else batch.dtype
            return batch.to(self._device, dtype)

        def features(images: Sequence[Any]) -> Any:
            if not isinstance(images[0], Mapping):
                return self._read(on_device(images))
            names = images[0].keys()
            return self._read(
                {name: on_device([image[name] for image in images]) for name in names}
            )

        return self._rows(prepared, features, self._batches_at_once)

    def _read(self, pixels: Any) -> Any:
        """Return the network's features of a batch of images, shape (n, d)."""
        raise NotImplementedError


class TextsOnly:
    """Base class of encoders that embed texts alone."""

    name: str
    embeds_images = False

    def prepare(self, image: Any) -> Any:
        """Raise an error, because this encoder embeds texts alone."""
        raise T2IBenchError(
            f"'{self.name}' cannot embed images.", "Add an --encoder that can."
        )

    encode_images = prepare
