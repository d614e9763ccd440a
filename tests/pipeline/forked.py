"""What workers of a fork server do in tests; it imports little."""

from __future__ import annotations

import os
import random
import sys
from multiprocessing.connection import Connection

import numpy as np

# A module that nothing else imports.
MODULE = "wave"


def tell_and_wait(line: Connection) -> None:
    """Send who works here, what it has, and what it draws without a seed; wait for a word."""
    drawn = (random.random(), float(np.random.random()))  # noqa: NPY002
    has = MODULE in sys.modules, os.environ.get("T2I_FORKED")
    line.send((os.getpid(), os.getppid(), has, drawn))
    line.recv()
