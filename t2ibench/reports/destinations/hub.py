"""The destination `hf-dataset`, a data set repository on the Hugging Face hub."""

from __future__ import annotations

import re

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError, shown
from t2ibench.reports.destinations.payload import Payload
from t2ibench.results.samples import read_samples
from t2ibench.store.jsonl import dump_rows
from t2ibench.version import __version__

_ID = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
_PART = re.compile(r"[\w-][\w.-]{0,95}")
HEADLINES = "headlines.jsonl"

_CARD = """---
pretty_name: Social bias of text-to-image models, measured by t2ibench
tags:
- t2ibench
- text-to-image
- bias
configs:
- config_name: headlines
  data_files: "*/headlines.jsonl"
---
Results of t2ibench, a folder a run: `report.html` to read,
`results.json` with everything, `headlines.jsonl` with one line a test. A lean is 0 where images
are balanced and ±1 where all are on one side. A score describes the prompts, the model with its
settings, and the encoder or judge; it says nothing about real people.
"""


class DatasetArgs(Arguments):
    """Arguments of `hf-dataset`: the repository, a folder in it, and whether to send samples."""

    repo: str
    path: str | None = None
    private: bool = True
    pr: bool = False
    samples: bool = False


class HubDataset:
    """Sends results to a data set repository of the Hugging Face hub.

    Implements `t2ibench.reports.destinations.Destination`.
    """

    description = (
        "hf-dataset:OWNER/NAME, a dataset repository of the hub, a folder a run"
    )
    Args = DatasetArgs
    place = "repo"

    def check(self, args: DatasetArgs) -> None:
        """Raise an error if the repository or folder has an invalid name; the hub is not asked."""
        if not _ID.fullmatch(args.repo) or ".." in args.repo or "--" in args.repo:
            raise T2IBenchError(
                f"hf-dataset: '{shown(args.repo)}' is no repository of the hub.",
                "Write OWNER/NAME.",
            )
        if args.path is not None and not all(
            map(_PART.fullmatch, args.path.split("/"))
        ):
            raise T2IBenchError(
                f"hf-dataset: path={shown(args.path)} is no folder of a repository.",
                "Write letters, digits, '-', '_' and '.', with '/' between folders.",
            )

    def send(self, sent: Payload, args: DatasetArgs) -> str:
        """Commit a run's results to the repository, and return the web address of the commit."""
        from huggingface_hub import CommitOperationAdd, HfApi

        api = HfApi(library_name="t2ibench", library_version=__version__)
        api.create_repo(
            args.repo, repo_type="dataset", private=args.private, exist_ok=True
        )
        folder = args.path or (sent.name if _PART.fullmatch(sent.name) else "run")
        files = {path.name: path for path in sent.files()}
        model = sent.results.model
        about = {
            "model": model.name,
            "revision": model.revision,
            "fingerprint": model.fingerprint,
            "t2ibench": sent.results.t2ibench,
        }
        rows = [about | dict(zip(sent.columns, row, strict=True)) for row in sent.rows]
        operations = [
            CommitOperationAdd(f"{folder}/{HEADLINES}", dump_rows(rows)),
            *(
                CommitOperationAdd(f"{folder}/{name}", str(path))
                for name, path in files.items()
            ),
        ]
        for task in sent.results.tasks if args.samples else ():
            samples = dump_rows(read_samples(sent.folder, task))
            if samples:
                operations.append(
                    CommitOperationAdd(f"{folder}/samples/{task}.jsonl", samples)
                )
        if not api.file_exists(args.repo, "README.md", repo_type="dataset"):
            operations.append(CommitOperationAdd("README.md", _CARD.encode()))
        done = api.create_commit(
            args.repo,
            operations,
            commit_message=f"Results of {sent.name}",
            repo_type="dataset",
            create_pr=args.pr,
        )
        return str(done.pr_url or done.commit_url)


DESTINATION = HubDataset()
