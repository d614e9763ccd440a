"""Create proposers by name: language models and word lists that propose biases."""

from __future__ import annotations

from functools import partial

from t2ibench.models.adapter import Adapter
from t2ibench.models.language import Proposer
from t2ibench.models.resolution import create
from t2ibench.registry import Registry

PROPOSERS: Registry[Adapter[Proposer]] = Registry(
    "proposer",
    {
        "hf": "t2ibench.models.proposers.chat:HF",
        "openai": "t2ibench.models.proposers.chat:OPENAI",
        "litellm": "t2ibench.models.proposers.chat:LITELLM",
        "word-lists": "t2ibench.models.proposers.word_lists:ADAPTER",
    },
)
# Creates a proposer from its name (see `create`).
create_proposer = partial(create, PROPOSERS, Proposer)
