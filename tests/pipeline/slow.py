"""Models for tests of engines: toyland's, slow enough that a test can come between.

Environment: T2I_PAUSE, seconds a batch; T2I_MEET, so many processes wait for each other before
their first batch; T2I_DIE, whoever is to draw dies.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from t2ibench.models.encoders.toyland import ToylandEncoder
from t2ibench.models.generators.toyland import ToylandGenerator
from t2ibench.models.judges.toyland import ToylandJudge
from t2ibench.models.protocols import Answer, GeneratedImage, ImageRequest, Query


def pause() -> None:
    time.sleep(float(os.environ.get("T2I_PAUSE", "0")))


class Generator(ToylandGenerator):
    def __init__(self) -> None:
        super().__init__({})
        self.batch_size = 4
        self.calls = 0

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        self.calls += 1
        if "T2I_DIE" in os.environ:
            os.kill(os.getpid(), signal.SIGKILL)
        meet = int(os.environ.get("T2I_MEET", "0"))
        if meet and self.calls == 1:
            Path(f"here-{os.getpid()}").touch()
            while len(list(Path().glob("here-*"))) < meet:
                time.sleep(0.01)
        pause()
        return super().generate(requests)


class Encoder(ToylandEncoder):
    def encode_images(self, prepared: Sequence[Any]) -> Any:
        Path(f"embeds-{os.getpid()}").touch()
        pause()
        return super().encode_images(prepared)


class Judge(ToylandJudge):
    def answer(self, queries: Sequence[Query]) -> list[Answer]:
        Path(f"asks-{os.getpid()}").touch()
        pause()
        return super().answer(queries)
