"""What a prepared run is to its workers."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import replace

from t2ibench.errors import T2IBenchError, first_line
from t2ibench.pipeline.executors.messages import Order
from t2ibench.pipeline.opening import gives_up
from t2ibench.pipeline.prepare import Objects, Prepared
from t2ibench.pipeline.rewriting import info_of


def order_of(prepared: Prepared, observing: bool, token: str = "") -> Order:
    """All that a worker has to know of a run."""
    _sendable(prepared.objects)
    here = os.getcwd()  # noqa: PTH109
    return Order(
        prepared.settings,
        prepared.plan,
        str(prepared.folder.path.resolve()),
        here,
        tuple(item or here for item in sys.path),
        # Prompts are rewritten before workers begin, by this process alone.
        replace(prepared.objects, rewriter=None),
        observing,
        gives_up(prepared),
        token,
        info_of(prepared.generator),
    )


def _sendable(objects: Objects) -> None:
    named: list[tuple[str, object]] = []
    if objects.generator is not None:
        named.append(("generator", objects.generator))
    named += [("encoder", one) for one in objects.encoders.values()]
    named += [("judge", one) for one in objects.judges.values()]
    for kind, one in named:
        name = getattr(one, "name", type(one).__name__)
        try:
            if type(one).__module__ == "__main__":
                raise TypeError("its class is defined in the script itself, not in a module")
            pickle.loads(pickle.dumps(one))
        except Exception as error:  # whatever an object's own code does when it is copied
            raise T2IBenchError(
                f"The {kind} '{name}' is a Python object that cannot be sent to another process: "
                f"{first_line(error).rstrip('.')}.",
                "Name it as package.module:factory, or leave workers and engine out.",
            ) from error
