"""Bias inside the evaluations of TRL's trainers, as a callback.

TRL's trainers are `transformers.Trainer`s and take its callbacks, so this one works with both. How
an image is made is up to the model that is trained, such as one that writes image tokens:

    def make_image(model, request):
        ...  # the image of request.prompt, from a generator with request.seed
        return image

    watcher = t2ibench.Watcher("validation", "core_occupations_gender", images_per_prompt=2)
    trainer = GRPOTrainer(..., callbacks=[BiasCallback(watcher, make_image)])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState

from t2ibench import ImageRequest, Watcher


class BiasCallback(TrainerCallback):
    """Scores the images of a model at each evaluation, in the main process alone.

    Args:
        watcher: What says which images are needed, and scores them.
        make_image: Returns the image of a request, given the model and the request.
    """

    def __init__(
        self, watcher: Watcher, make_image: Callable[[Any, ImageRequest], Any]
    ) -> None:
        self._watcher = watcher
        self._make_image = make_image

    def on_evaluate(
        self,
        args: Any,
        state: TrainerState,
        control: TrainerControl,
        model: Any = None,
        **others: Any,
    ) -> None:
        """Make and score the images of this step, and add the values to the trainer's log."""
        if not state.is_world_process_zero:
            return
        checkpoint = f"step-{state.global_step}"
        for request in self._watcher.requests:
            image = self._make_image(model, request)
            self._watcher.write(image, request, checkpoint=checkpoint)
        results = self._watcher.score(checkpoint)
        values = {
            f"bias/{name}": task.headline.value
            for name, task in results.tasks.items()
            if task.headline is not None
        }
        state.log_history.append({**values, "step": state.global_step})
