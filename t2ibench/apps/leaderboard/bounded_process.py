"""Reading of a stranger's files in another process, with bounds on its memory and time."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from t2ibench.errors import T2IBenchError

_MEMORY, _SECONDS = 4 * 2**30, 120
_READER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from t2ibench.apps.leaderboard.bounded_process import answer; "
    "print(json.dumps(answer(*sys.argv[2:])))"
)


def answer_of(function: str, folder: Path, names: Sequence[str] = ()) -> Any:
    """Return what a function says about files of a folder, called in a limited process.

    What ends that process ends nothing here.

    Args:
        function: The function, as 'package.module:name'. It takes the folder and the names, and
            returns what JSON can hold.
        folder: The folder of a stranger's files.
        names: The files to read, where the function takes some.

    Raises:
        T2IBenchError: the process came to no answer. The message is a clause about the files.
    """
    # Isolated: nothing is imported from the folder that it runs in, which may be a stranger's.
    command = [sys.executable, "-I", "-X", "utf8", "-c", _READER]
    arguments = [json.dumps(sys.path), function, str(folder), *names]
    threads = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [*command, *arguments],
            env=threads,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise T2IBenchError(f"takes more than {_SECONDS} seconds to read") from None
    except ValueError:
        last_line = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        reason = last_line or f"it ended the reader: {done.returncode}"
        raise T2IBenchError(f"cannot be read ({reason})") from None


def answer(function: str, folder: str, *names: str) -> Any:
    """Return what a function says about files of a folder, within bounds on this process."""
    _bound()
    module, _, name = function.partition(":")
    arguments = [names] if names else []
    return getattr(importlib.import_module(module), name)(Path(folder), *arguments)


def _bound() -> None:
    """Limit the memory and processor time of this process, where the operating system can."""
    # Windows; lower bounds that are set already
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
