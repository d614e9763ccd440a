"""Choose a device and a dtype, and free the memory of models."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.machine import may_have_gpu

if TYPE_CHECKING:
    import torch

DEVICES = ("cpu", "cuda", "mps")
_DIGITS = 4  # of a device's number
DTYPES = ("float32", "float16", "bfloat16")
_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "half": "float16"}


def dtype_name(name: str | None) -> str | None:
    """Return the full name of a dtype that may be abbreviated; None for None or 'auto'.

    Examples:
        >>> dtype_name("bf16")
        'bfloat16'
    """
    if name is None or name == "auto":
        return None
    full = _SHORT.get(name, name)
    if full not in DTYPES:
        raise T2IBenchError(
            f"--dtype {shown(name)}: expected one of {', '.join(DTYPES)}."
            f"{did_you_mean(name, DTYPES)}"
        )
    return full


def model_dtype(name: str | None, device: str) -> str:
    """Return the given dtype, or the default: bfloat16 on CUDA, float32 elsewhere."""
    return dtype_name(name) or ("bfloat16" if device.startswith("cuda") else "float32")


def check_device(device: str | None) -> None:
    """Raise an error unless a device is None, 'auto', cpu, cuda, mps or one with a number."""
    if device is None or device == "auto":
        return
    kind, colon, number = device.partition(":")
    numbered = not colon or (
        number.isascii() and number.isdecimal() and len(number) <= _DIGITS
    )
    if kind not in DEVICES or not numbered:
        raise T2IBenchError(
            f"--device {shown(device)}: expected cpu, cuda, cuda:N or mps."
            f"{did_you_mean(kind, DEVICES)}"
        )


def choose_device(device: str | None) -> str:
    """Return the given device if torch can use it; for None or 'auto', the best available one."""
    check_device(device)
    if device == "cpu":
        return device  # without loading torch
    if device in {None, "auto"} and not may_have_gpu():
        return "cpu"
    import torch

    if device in {None, "auto"}:
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    assert device is not None
    kind, _, number = device.partition(":")
    count = (
        torch.cuda.device_count()
        if kind == "cuda"
        else int(torch.backends.mps.is_available())
    )
    if int(number or 0) >= count:
        which = (
            f"no {device}; it has {count}, from {kind}:0"
            if count
            else f"no {kind} device"
        )
        raise T2IBenchError(
            f"--device {device}: this machine has {which} that torch can use.",
            "Omit --device to use the best available one.",
        )
    return device


def torch_dtype(name: str) -> torch.dtype:
    """Return the torch dtype that has a full name, such as 'bfloat16'."""
    import torch

    dtype: torch.dtype = getattr(torch, name)
    return dtype


def card_memory(device: str) -> int:
    """Return the bytes of a CUDA device's memory, whatever is in use."""
    import torch

    return int(torch.cuda.get_device_properties(device).total_memory)


def use_deterministic_kernels() -> None:
    """Have torch use kernels that give the same bits again, where it has them, in this process."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    import torch

    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.backends.cudnn.benchmark = False


def free_memory() -> None:
    """Free the memory of models that nothing refers to any more."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
