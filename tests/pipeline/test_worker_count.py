"""How many workers a run starts by itself, and what it says about them."""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from pathlib import Path

import pytest

from t2ibench.errors import T2IBenchError
from t2ibench.models.bundled import bundled_model
from t2ibench.pipeline import worker_count as module
from t2ibench.pipeline.executors.processes import Processes
from t2ibench.pipeline.preparation import prepare
from t2ibench.pipeline.worker import WorkerSpec
from t2ibench.pipeline.worker_count import images_per_worker, worker_count
from t2ibench.settings import RunSettings
from t2ibench.worker_pool import each_of
from tests.conftest import Cli
from tests.processes import forked_worker

MANY = ("core_flowers_insects", "core_occupations_age")  # 1,120 images
GIB = 2**30


def machine_of(
    monkeypatch: pytest.MonkeyPatch,
    cores: int = 16,
    memory: int | None = 64 * GIB,
    gpus: Sequence[str] = (),
) -> None:
    monkeypatch.setattr(module, "cores", lambda: cores)
    monkeypatch.setattr(module, "available_memory", lambda: memory)
    monkeypatch.setattr(module, "visible_gpus", lambda: list(gpus))


def forecast(folder: Path, **settings: object) -> str:
    given = {"model": "toy", "tasks": MANY, "output_dir": str(folder), **settings}
    return worker_count(*prepare(RunSettings.model_validate(given))).forecast()


BECAUSE = "because the models are small (--workers 1 starts none)"


@pytest.mark.parametrize(
    ("cores", "memory", "n_images", "expected"),
    [
        (2, 64 * GIB, 500, f"2 with 1 thread each, one for each core, {BECAUSE}"),
        (16, 64 * GIB, 500, f"2 with 1 thread each, one for every 500 images, {BECAUSE}"),
        (16, 64 * GIB, 20, f"16 with 1 thread each, one for each core, {BECAUSE}"),
        (16, 4 * GIB, 20, f"3 with 1 thread each, as many as memory has room for, {BECAUSE}"),
        (1, 64 * GIB, 500, "none, because there is one core"),
        (16, 2 * GIB, 500, "none, because memory has no room for two"),
        (16, None, 500, "none, because it is not known how much memory is free"),
        (16, 64 * GIB, 561, "none, because fewer than 1,122 images have to be generated"),
    ],
)  # fmt: skip
def test_cores_images_and_memory_limit_the_workers_of_a_small_model(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    memory: int | None,
    n_images: int,
    expected: str,
) -> None:
    machine_of(monkeypatch, cores, memory)
    monkeypatch.setattr(module, "images_per_worker", lambda _: n_images)
    assert forecast(tmp_path) == f"Workers: {expected}"


def test_a_gpu_changes_nothing_for_models_that_stay_on_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_of(monkeypatch, cores=2, gpus=["0"])
    assert forecast(tmp_path).startswith("Workers: 2 with 1 thread each")
    # A folder of the user's would go to the GPU.
    folder = str(bundled_model("toy"))
    assert forecast(tmp_path, model=folder, encoder=("toy-clip",)).startswith(
        "Workers: none, because only small models"
    )
    on_cpu = forecast(tmp_path, model=folder, encoder=("toy-clip",), device="cpu")
    assert on_cpu.startswith("Workers: 2 with 1 thread each")


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "toyland"},  # draws faster than a worker starts
        {"model": "openai:gpt-image-1-mini", "tasks": ("core_occupations_age",)},
        {"encoder": ("open_clip:ViT-B-32/openai",)},
        {"judge": ("openai:my-vlm",), "judge_args": {"base_url": "http://127.0.0.1:9"}},
        {"model_args": {"steps": "4", "lora": str(bundled_model("toy"))}},
    ],
)
def test_models_that_are_not_known_to_be_small_stay_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    machine_of(monkeypatch)
    monkeypatch.setattr(module, "images_per_worker", lambda _: 1)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    assert forecast(tmp_path, **settings).startswith(
        "Workers: none, because only small models"
    )


def test_large_folders_stay_in_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_of(monkeypatch)
    monkeypatch.setattr(module, "_SMALL", 1_000_000)
    assert "only small models" in forecast(tmp_path)


def test_a_process_that_may_start_no_others_does_the_work_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_of(monkeypatch)
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    line = "Workers: none, because a daemonic process cannot start others"
    assert forecast(tmp_path) == line
    assert each_of([1, 2, 3], str, 2, at_once=True) == ["1", "2", "3"]
    with pytest.raises(T2IBenchError, match="cannot start workers"):
        Processes(WorkerSpec.__new__(WorkerSpec), 2, [], 1)


def test_the_user_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_of(monkeypatch)
    assert forecast(tmp_path, workers=1) == "Workers: none, as --workers says"
    assert forecast(tmp_path, workers=4) == "Workers: 4 with 4 threads each"


def test_forked_workers_are_worth_fewer_images(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = RunSettings(model="toy", tasks=("all",), encoder=("toy-clip",))

    def least(*, can_fork: bool, imports: tuple[str, ...]) -> int:
        monkeypatch.setattr(module, "can_fork", lambda: can_fork)
        monkeypatch.setattr(module, "shared_imports", lambda *_, **__: imports)
        return images_per_worker(settings)

    assert least(can_fork=True, imports=("json", "no_such_module")) == 100
    # A process that has imported them would generate at once.
    assert least(can_fork=True, imports=("json",)) == 500
    assert least(can_fork=False, imports=("no_such_module",)) == 500


def test_tiny_runs_start_no_process(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "shared_imports", lambda *_, **__: ("no_such_module",))
    monkeypatch.setattr(module, "can_fork", lambda: True)
    words = ("--model", "toy", "--tasks", *MANY[:1], "--limit", "2", "--dry-run")
    status, output, _ = cli(*words, "--output-dir", tmp_path)
    assert status == 0
    assert "Workers: none, because fewer than 200 images have to be generated" in output


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", ["toyland", pytest.param("toy", marks=pytest.mark.nightly)]
)
def test_workers_that_nobody_asked_for_change_no_byte(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    if model == "toyland":  # taken for a small network: it needs no import of torch
        monkeypatch.setattr(module, "cpu_weights", lambda *_: 1)
        monkeypatch.setattr(module, "cpu_weights_of", lambda *_: 1)
        monkeypatch.setattr(Processes, "_spawned", forked_worker)
    monkeypatch.setattr(module, "cores", lambda: 2)
    monkeypatch.setattr(module, "images_per_worker", lambda _: 20)
    words = ("--model", model, "--tasks", "core_occupations_age", "--limit", "3")
    files: list[dict[str, bytes]] = []
    for name, more in (("alone", ("--workers", "1")), ("shared", ())):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)  # results contain the command
        status, _, errors = cli(*words, *more)
        assert status == 0
        assert ("2 workers with 1 thread each, one for each core" in errors) == (
            name == "shared"
        )
        run = tmp_path / name / "runs" / model
        images = sorted(run.glob("images/*/*.png"))
        assert len(images) >= 40
        files.append(
            {
                str(file.relative_to(run)): file.read_bytes()
                for file in (run / "results.json", *images)
            }
        )
    assert files[0] == files[1]
