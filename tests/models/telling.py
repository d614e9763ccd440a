"""An encoder of which a library warns while it is loaded, named by tests on the command line."""

from __future__ import annotations

import logging

from t2ibench.models.encoders.toyland import ToylandEncoder
from t2ibench.models.library_messages import collect_messages

# As transformers writes it of a file that holds a weight too many.
REPORT = (
    "CLIPModel LOAD REPORT from: ./x\n"
    "Key                | Status     | | \n"
    "-------------------+------------+-+-\n"
    "vision_model.extra | UNEXPECTED | | \n"
)


class Encoder(ToylandEncoder):
    """Toyland's, with a warning."""

    def __init__(self) -> None:
        super().__init__()
        with collect_messages("a telling encoder"):
            logging.getLogger("transformers").warning(REPORT)
