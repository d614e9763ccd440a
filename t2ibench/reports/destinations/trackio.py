"""Trackio, Hugging Face's tracker: a file on this machine, or a Space."""

from __future__ import annotations

from t2ibench.arguments import Arguments
from t2ibench.errors import check_installed
from t2ibench.reports.destinations.payload import PROJECT, Payload


class TrackioArgs(Arguments):
    """Arguments of `trackio`.

    Attributes:
        project: Name of the project.
        name: Of the run; by default that of its folder, or one that is free.
        group: Runs of one group are shown together.
        space_id: The Space of the hub that shows the project; None keeps it on this machine.
        private: Whether a Space that has to be made is private.
    """

    project: str = PROJECT
    name: str | None = None
    group: str | None = None
    space_id: str | None = None
    private: bool = True


class Trackio:
    """See `t2ibench.reports.destinations.Destination`."""

    description = "Trackio, here or on a Space (pip install 't2ibench[trackio]')"
    Args = TrackioArgs
    place = "project"

    def check(self, args: TrackioArgs) -> None:
        """Check that trackio is installed."""
        check_installed("trackio", "trackio")

    def send(self, sent: Payload, args: TrackioArgs) -> str:
        """Log a run."""
        import trackio

        run = trackio.init(
            args.project, name=args.name or sent.name, group=args.group, space_id=args.space_id,
            private=args.private if args.space_id else None, config=sent.config, embed=False,
            auto_log_cpu=False, auto_log_gpu=False,
        )  # fmt: skip
        try:
            table = trackio.Table(columns=sent.columns, data=sent.rows)
            run.log({**sent.metrics, "tasks": table})
            artifact = trackio.Artifact(f"{sent.name}-results", type="t2ibench-results")
            for path in sent.files():
                artifact.add_file(str(path), name=path.name)
            run.log_artifact(artifact)
        finally:
            trackio.finish()
        if args.space_id:
            return f"https://huggingface.co/spaces/{args.space_id}"
        return f'`trackio show --project "{args.project}"` shows it'


DESTINATION = Trackio()
