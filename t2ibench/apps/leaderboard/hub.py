"""Submissions on the Hugging Face hub, and results in the form that its model pages show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from t2ibench.apps.leaderboard.remote import materialised
from t2ibench.apps.leaderboard.submission import read_manifest
from t2ibench.apps.leaderboard.verify import verify
from t2ibench.errors import T2IBenchError, first_line
from t2ibench.reports.hub_metadata import eval_results
from t2ibench.results.files import read_results


def push(folder: Path, repo: str, api: Any = None, *, direct: bool = False) -> str:
    """Upload a submission to a dataset repository, by default as a pull request."""
    verdict = verify(folder)
    if verdict.problems:
        raise T2IBenchError(
            f"{folder} would be refused: {verdict.problems[0]}",
            f"`t2ibench leaderboard verify {folder}` lists every problem.",
        )
    manifest = read_manifest(folder)
    try:
        if api is None:
            from huggingface_hub import HfApi

            api = HfApi()
        done = api.upload_folder(
            repo_id=repo,
            repo_type="dataset",
            folder_path=str(folder),
            path_in_repo=f"submissions/{folder.name}",
            commit_message=f"Add {manifest.name} ({verdict.tasks} tasks)",
            create_pr=not direct,
        )
    except Exception as error:
        raise T2IBenchError(
            f"The hub declined: {first_line(error)}",
            "Is the dataset repository there, and are you logged in (`hf auth login`)?",
        ) from error
    return str(getattr(done, "pr_url", None) or getattr(done, "commit_url", None) or repo)


def metadata(folder: Path, dataset: str, source: str | None = None) -> str:
    """Headlines as `.eval_results/*.yaml`, which the hub shows on a model's page."""
    with materialised(folder) as whole:
        return eval_results(read_results(whole), dataset, source)
