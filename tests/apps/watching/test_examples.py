"""The examples in examples/watch, with a pipeline of diffusers and a trainer's callback."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

import t2ibench

pytestmark = pytest.mark.networks

ROOT = Path(t2ibench.__file__).parents[1]
SMALL: dict[str, Any] = {
    "limit": 2,
    "images_per_prompt": 1,
    "guided_images_per_prompt": 1,
    "n_permutations": 99,
    "n_bootstrap": 99,
    "control_encoder": "none",
}


def watcher(tmp_path: Path) -> t2ibench.Watcher:
    return t2ibench.Watcher(
        tmp_path / "val",
        "t2iat_flowers_insects",
        encoder="toyland",
        output_dir=tmp_path / "runs",
        **SMALL,
    )


@pytest.mark.slow
def test_validation_inside_a_training_loop_of_diffusers(tmp_path: Path) -> None:
    import torch
    from diffusers import DiffusionPipeline

    from examples.watch.diffusers_validation import headlines, log_validation
    from t2ibench.models.generators.aliases import ALIASES

    source = str(ALIASES["toy"].source)
    pipeline = DiffusionPipeline.from_pretrained(source, dtype=torch.float32)
    pipeline.set_progress_bar_config(disable=True)
    watch = watcher(tmp_path)
    for step in (100, 200):
        results = log_validation(pipeline, watch, step, num_inference_steps=2)
        assert results.name == f"val-step-{step}"
        assert set(headlines(results)) == {"bias/t2iat_flowers_insects"}
    # Nothing was trained between the two, so every image is the same.
    first, second = watch.runs.values()
    alike = t2ibench.compare(first, second)
    assert alike.tasks[0].p_differ == 1.0
    assert watch.trend_page is not None


@pytest.mark.slow
def test_callback_scores_at_each_evaluation_of_the_main_process(tmp_path: Path) -> None:
    from transformers import TrainerControl, TrainerState

    from examples.watch.trl_callback import BiasCallback
    from t2ibench.models.generators import create_generator

    generator = create_generator("toyland", {})
    made: list[str] = []

    def make_image(model: Any, request: t2ibench.ImageRequest) -> Any:
        made.append(model)
        return generator.generate([request])[0].image

    callback = BiasCallback(watcher(tmp_path), make_image)
    state = TrainerState(global_step=500, is_world_process_zero=False)
    callback.on_evaluate(None, state, TrainerControl(), model="the model")
    assert not made
    state.is_world_process_zero = True
    callback.on_evaluate(None, state, TrainerControl(), model="the model")
    assert set(made) == {"the model"}
    (logged,) = state.log_history
    assert set(logged) == {"bias/t2iat_flowers_insects", "step"}
    assert (tmp_path / "runs/val-step-500/report.html").is_file()


def test_script_beside_a_training_is_one_that_bash_reads() -> None:
    script = ROOT / "examples/watch/beside_training.sh"
    subprocess.run(["bash", "-n", str(script)], check=True)
    from t2ibench.cli.parser import build_parser

    command = script.read_text(encoding="utf-8").partition("exec t2ibench ")[2]
    words = command.replace("\\\n", " ").replace('"', "").split()
    arguments = build_parser().parse_args(words)
    assert arguments.watch == 30
