"""The Python API: evaluate a model, load tasks, score a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from t2ibench.pipeline.progress import ConsoleReporter, SilentReporter
from t2ibench.pipeline.rescore import rescore
from t2ibench.pipeline.run import RunOptions, execute, prepare
from t2ibench.results.schema import Results
from t2ibench.settings import Settings
from t2ibench.tasks.index import load_tasks

__all__ = ["evaluate", "load_tasks", "score"]


def evaluate(
    model: str | None = None,
    tasks: str | Sequence[str] = "all",
    *,
    model_args: Mapping[str, Any] | None = None,
    encoder: str | Sequence[str] = (),
    judge: str | Sequence[str] = (),
    judge_args: Mapping[str, Any] | None = None,
    images_per_prompt: int | None = None,
    guided_images_per_prompt: int | None = None,
    limit: int | None = None,
    seed: int = 0,
    n_permutations: int = 100_000,
    n_bootstrap: int = 10_000,
    batch_size: int | None = None,
    device: str | None = None,
    dtype: str | None = None,
    output_dir: str | Path = "runs",
    include_paths: Sequence[str | Path] = (),
    progress: bool = False,
) -> Results:
    """Run tasks on a model, as `t2ibench run` does, and return what results.json holds.

    Args:
        model: As for --model; None to score text encoders alone.
        tasks: Task ids, globs, groups, 'tag:NAME' or 'all'.
        model_args: Arguments of the generator.
        encoder: One or more encoders; empty for the model's default.
        judge: One or more judges, for tasks that ask questions; empty for the model's default.
        judge_args: Arguments of the judges.
        images_per_prompt: Images of every prompt; None leaves it to the tasks.
        guided_images_per_prompt: Images of guided prompts; None is as many as of the others.
        limit: First so many stimuli of each concept, for a try.
        seed: Seed of images and statistics.
        n_permutations: Draws of permutation tests.
        n_bootstrap: Draws of the bootstrap.
        batch_size: Images at once; None to choose.
        device: Where models run; None to choose.
        dtype: 'float32', 'float16' or 'bfloat16'; None to choose.
        output_dir: Folder of all runs.
        include_paths: Folders of further tasks.
        progress: Show progress on standard error.

    Raises:
        T2IBenchError: something about the request cannot work; the message says what to do.
    """
    paths = [Path(path) for path in include_paths]
    options = RunOptions(
        model=model,
        tasks=load_tasks(tasks, paths),
        model_args={key: str(value) for key, value in (model_args or {}).items()},
        encoders=[encoder] if isinstance(encoder, str) else list(encoder),
        judges=[judge] if isinstance(judge, str) else list(judge),
        judge_args={key: str(value) for key, value in (judge_args or {}).items()},
        settings=Settings(
            images_per_prompt=images_per_prompt,
            guided_images_per_prompt=guided_images_per_prompt,
            limit=limit,
            seed=seed,
            n_permutations=n_permutations,
            n_bootstrap=n_bootstrap,
        ),
        batch_size=batch_size,
        device=device,
        dtype=dtype,
        output_dir=Path(output_dir),
        include_paths=paths,
        argv=("t2ibench.evaluate",),
    )
    reporter = ConsoleReporter() if progress else SilentReporter()
    outcome = execute(prepare(options), reporter)
    assert outcome.results is not None  # only --generate-only has none
    return outcome.results


def score(run: str | Path) -> Results:
    """Score a run folder again from its stored evidence, without loading a model.

    Raises:
        T2IBenchError: it is no run folder, or it holds no evidence.
    """
    return rescore(Path(run), SilentReporter())
