"""The destination `wandb`, which is the tracker Weights & Biases."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from t2ibench.arguments import Arguments, one_of
from t2ibench.errors import check_installed
from t2ibench.reports.destinations.payload import PROJECT, Payload

_WAIT = 30  # seconds for a server that does not answer; wandb's own is 90


class WandbArgs(Arguments):
    """Arguments of `wandb`; None leaves the choice to wandb and its environment variables."""

    project: str = PROJECT
    entity: str | None = None
    group: str | None = None
    name: str | None = None
    mode: Annotated[
        Literal["online", "offline"] | None, one_of("online", "offline")
    ] = None
    folder: str | None = None


class Wandb:
    """Sends results to the tracker Weights & Biases.

    Implements `t2ibench.reports.destinations.Destination`.
    """

    description = "Weights & Biases (pip install 't2ibench[wandb]')"
    Args = WandbArgs
    place = "project"

    def check(self, args: WandbArgs) -> None:
        """Raise an error if wandb is not installed."""
        check_installed("wandb", "wandb")

    def send(self, sent: Payload, args: WandbArgs) -> str:
        """Log a run's results, and return its web address, or how to upload an offline log."""
        import wandb

        settings = wandb.Settings(
            silent=True,
            console="off",
            disable_git=True,
            disable_code=True,
            x_disable_stats=True,
            init_timeout=_WAIT,
            login_timeout=_WAIT,
            # An upload in the background would wait without end for an unreachable server.
            finish_timeout=10 * _WAIT,
            finish_timeout_raises=True,
        )
        run = wandb.init(
            project=args.project,
            entity=args.entity,
            group=args.group,
            mode=args.mode,
            name=args.name or sent.name,
            dir=args.folder,
            config=sent.config,
            job_type="evaluation",
            settings=settings,
            reinit="create_new",
        )
        try:
            _log(wandb, run, sent)
        except BaseException:
            run.finish(exit_code=1)
            raise
        run.finish()
        if run.settings._offline:
            return f"kept offline; `wandb sync {run.settings.sync_dir}` sends it"
        return str(run.url)


def _log(wandb: Any, run: Any, sent: Payload) -> None:
    run.log({"tasks": wandb.Table(columns=sent.columns, data=sent.rows)})
    run.summary.update(sent.metrics)
    artifact = wandb.Artifact(f"t2ibench-{run.id}", type="t2ibench-results")
    for path in sent.files():
        artifact.add_file(str(path), name=path.name)
    run.log_artifact(artifact)


DESTINATION = Wandb()
