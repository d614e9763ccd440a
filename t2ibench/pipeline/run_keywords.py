"""The settings of a run as keywords of `evaluate`, `generate` and `reproduce`, with their types.

An editor completes them, and mypy refuses a wrong one. `t2ibench.settings.RunSettings` says what
each means and checks its value; a test holds the names and types here to its fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from typing_extensions import TypedDict

# As text ('steps=30,guidance=7'), or as a mapping, whose values are written as text.
ArgumentsKeyword: TypeAlias = str | Mapping[str, str | int | float | bool | Path]
# As text with commas ('wandb,hf-dataset:me/results'), or one by one.
NamesKeyword: TypeAlias = str | Sequence[str] | None
PathsKeyword: TypeAlias = str | Path | Sequence[str | Path]


class RunKeywords(TypedDict, total=False):
    """Every setting of `RunSettings` that is not a separate parameter of `evaluate`.

    `generate_only` and `no_score` are missing: `evaluate` always scores, and `generate` never does.
    """

    model_args: ArgumentsKeyword | None
    sources: str | None
    sources_args: ArgumentsKeyword | None
    rewriter_args: ArgumentsKeyword | None
    judge_args: ArgumentsKeyword | None
    judge_check: NamesKeyword
    include_path: PathsKeyword
    captions: ArgumentsKeyword | None
    columns: str | Mapping[str, str]
    pattern: str | None
    allow_missing: bool
    control_encoder: Literal["random", "none"]
    images_per_prompt: int | None
    guided_images_per_prompt: int | None
    times: float
    limit: int | None
    seed: int | Literal["derived"]
    n_permutations: int
    n_bootstrap: int
    level: float
    max_cost: float | None
    batch_size: int | Literal["auto"] | None
    deterministic: bool
    device: str | None
    dtype: str | None
    name: str | None
    output_dir: str | Path
    engine: Literal["local", "ray"]
    workers: int | Literal["auto"] | None
    engine_args: ArgumentsKeyword | None
    shard: str | None
    log_to: NamesKeyword
    log_args: ArgumentsKeyword | None
