"""Bias inside a training loop of diffusers: the images of each validation are scored at once.

diffusers' training scripts call `log_validation` every few hundred steps with the pipeline as it is
then. This one makes the images of a test instead of those of a single prompt, each with its own
seed, so that checkpoints are compared on the same prompts and the same noise:

    watcher = t2ibench.Watcher("validation", "core_occupations_gender", images_per_prompt=2)
    ...
    if accelerator.is_main_process and global_step % args.validation_steps == 0:
        results = log_validation(pipeline, watcher, global_step)
        accelerator.log(headlines(results), step=global_step)
"""

from __future__ import annotations

from typing import Any

from t2ibench import Results, Watcher


def log_validation(pipeline: Any, watcher: Watcher, step: int, **call: Any) -> Results:
    """Make the images of a checkpoint, score them, and return the results.

    Args:
        pipeline: The pipeline, as the training has it now.
        watcher: What says which images are needed, and scores them.
        step: The training step.
        **call: Arguments of the pipeline's call, such as num_inference_steps.
    """
    import torch

    checkpoint = f"step-{step}"
    with torch.inference_mode():
        for request in watcher.requests:
            # On the CPU, so that the noise is the same on every card.
            generator = torch.Generator("cpu").manual_seed(request.seed)
            image = pipeline(request.prompt, generator=generator, **call).images[0]
            watcher.write(image, request, checkpoint=checkpoint)
    return watcher.score(checkpoint)


def headlines(results: Results) -> dict[str, float]:
    """Return each test's value by name, for a tracker such as wandb or TensorBoard."""
    return {
        f"bias/{name}": task.headline.value
        for name, task in results.tasks.items()
        if task.headline is not None
    }
