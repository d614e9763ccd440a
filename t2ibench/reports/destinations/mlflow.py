"""MLflow."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from t2ibench.arguments import Arguments
from t2ibench.errors import T2IBenchError, check_installed
from t2ibench.reports.destinations.payload import PROJECT, Payload, flat

_LONGEST = 500  # characters of a parameter that every version of MLflow's servers takes
_BATCH = 90  # a server takes 100 parameters, and 1,000 metrics, at once
# MLflow tries a server that does not answer for many minutes.
_PATIENCE = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2", "MLFLOW_HTTP_REQUEST_TIMEOUT": "30"}


class MlflowArgs(Arguments):
    """Arguments of `mlflow`; None leaves a choice to MLflow and its environment variables.

    Attributes:
        experiment: Name of the experiment, which is made if it does not exist.
        project: The same, as other trackers call it.
        uri: Tracking server or database, such as http://127.0.0.1:5000 or sqlite:///mlflow.db.
        name: Of the run; by default that of its folder.
    """

    experiment: str | None = None
    project: str | None = None
    uri: str | None = None
    name: str | None = None


class Mlflow:
    """See `t2ibench.reports.destinations.Destination`."""

    description = "an MLflow server or database (pip install 't2ibench[mlflow]')"
    Args = MlflowArgs
    place = "experiment"

    def check(self, args: MlflowArgs) -> None:
        """Check that MLflow is installed, and that the address holds no password."""
        if args.experiment and args.project:
            raise T2IBenchError(
                "mlflow: experiment and project are the same here.", "Keep one of them."
            )
        check_installed("mlflow", "mlflow")

    def send(self, sent: Payload, args: MlflowArgs) -> str:
        """Log a run."""
        from mlflow import MlflowClient
        from mlflow.entities import Metric, Param

        experiment = args.experiment or args.project or PROJECT
        with _patient():
            client = MlflowClient(tracking_uri=args.uri)
            found = client.get_experiment_by_name(experiment)
            number = found.experiment_id if found else client.create_experiment(experiment)
            run = client.create_run(number, run_name=args.name or sent.name).info.run_id
            try:
                now = int(1000 * time.time())
                params = [Param(k, v[:_LONGEST]) for k, v in flat(sent.config).items()]
                metrics = [Metric(name, value, now, 0) for name, value in sent.metrics.items()]
                for start in range(0, max(len(params), len(metrics)), _BATCH):
                    part = slice(start, start + _BATCH)
                    client.log_batch(run, metrics=metrics[part], params=params[part])
                client.log_dict(run, {"columns": sent.columns, "data": sent.rows}, "tasks.json")
                for path in sent.files():
                    client.log_artifact(run, str(path))
            except BaseException:
                client.set_terminated(run, status="FAILED")
                raise
            client.set_terminated(run)
        return f"experiment {number} ({experiment}), run {run}"


@contextlib.contextmanager
def _patient() -> Iterator[None]:
    """Wait for seconds where MLflow would for minutes, unless the user has said how long."""
    ours = {name: value for name, value in _PATIENCE.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


DESTINATION = Mlflow()
