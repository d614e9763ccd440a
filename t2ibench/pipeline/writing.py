"""Writing results.json, results.md and the samples."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from t2ibench.pipeline.plan import Plan
from t2ibench.pipeline.scoring import Stores, assemble
from t2ibench.results.schema import Model, Results, read_results
from t2ibench.settings import Settings
from t2ibench.store.files import write_text
from t2ibench.store.run import RunFolder


def command_for(
    folder: RunFolder, settings: Settings, stores: Stores, tasks: Sequence[str]
) -> list[str]:
    """A command that gives the same results: what decides them, and nothing else."""
    command = ["t2ibench", "run"]
    if folder.generator:
        command += ["--model", folder.generator["model"]]
        command += _pairs("--model-args", folder.generator["model_args"])
    command += ["--tasks", ",".join(sorted(tasks))]
    if stores.encoders:
        command += ["--encoder", ",".join(stores.encoders)]
    if stores.judges:
        command += ["--judge", ",".join(stores.judges)]
        command += _pairs("--judge-args", folder.judge_args)
    if settings.images_per_prompt is not None:
        command += ["--images-per-prompt", str(settings.images_per_prompt)]
    if settings.guided_images_per_prompt is not None:
        command += ["--guided-images-per-prompt", str(settings.guided_images_per_prompt)]
    if settings.limit is not None:
        command += ["--limit", str(settings.limit)]
    defaults = Settings()
    for flag, name in (
        ("--seed", "seed"),
        ("--permutations", "n_permutations"),
        ("--bootstrap", "n_bootstrap"),
    ):
        if getattr(settings, name) != getattr(defaults, name):
            command += [flag, str(getattr(settings, name))]
    return command


def _pairs(flag: str, args: Mapping[str, str]) -> list[str]:
    if not args:
        return []
    return [flag, ",".join(f"{key}={_quoted(value)}" for key, value in sorted(args.items()))]


def _quoted(value: str) -> str:
    return f'"{value}"' if "," in value else value


def write_results(
    folder: RunFolder,
    plan: Plan,
    stores: Stores,
    new: Mapping[str, Any],
    samples: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Results:
    """Write results.json, results.md and the samples."""
    from t2ibench.reports.markdown import results_markdown

    old = read_results(folder.results) if folder.results.is_file() else None
    generator = folder.generator or {"name": None}
    model = Model(
        name=generator["name"],
        revision=generator.get("revision"),
        fingerprint=generator.get("fingerprint"),
        settings=generator.get("settings", {}),
    )
    together = set(new)
    if old and old.model.fingerprint == model.fingerprint:
        settings = next(iter(new.values())).settings
        together |= {name for name, task in old.tasks.items() if task.settings == settings}
    command = command_for(folder, plan.settings, stores, sorted(together))
    results = assemble(model, new, old, command)
    write_text(folder.results, results.to_json())
    write_text(folder.path / "results.md", results_markdown(results))
    for task, rows in samples.items():
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        if lines:
            write_text(folder.path / "samples" / f"{task}.jsonl", lines)
    return results
