"""The destination `mlflow`: an MLflow tracking server, or a folder or database of MLflow."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

from t2ibench.arguments import Arguments
from t2ibench.errors import check_installed
from t2ibench.reports.destinations.payload import PROJECT, Payload

# What MLflow's servers take of one parameter, and at once.
_LONGEST_PARAMETER = 500
_LONGEST_NAME = 240  # of 250, with room for a number
_PARAMETERS_AT_ONCE = 100
_METRICS_AT_ONCE = 500
_TABLE = "tests.json"


class MlflowArgs(Arguments):
    """Arguments of `mlflow`; without `uri`, MLflow's environment variables decide."""

    experiment: str = PROJECT
    uri: str | None = None
    name: str | None = None


class Mlflow:
    """Logs results to MLflow (see `t2ibench.reports.destinations.Destination`)."""

    description = "MLflow (pip install 't2ibench[mlflow]')"
    Args = MlflowArgs
    place = "experiment"

    def check(self, args: MlflowArgs) -> None:
        """Raise an error if MLflow is not installed."""
        check_installed("mlflow", "mlflow")

    def send(self, sent: Payload, args: MlflowArgs) -> str:
        """Log the results of a run as a run of an experiment."""
        mlflow = import_module("mlflow")
        client = mlflow.MlflowClient(tracking_uri=args.uri)
        experiment = client.get_experiment_by_name(args.experiment)
        experiment_id = (
            client.create_experiment(args.experiment)
            if experiment is None
            else experiment.experiment_id
        )
        run = client.create_run(experiment_id, run_name=args.name or sent.name)
        run_id = run.info.run_id
        try:
            _log(client, run_id, sent)
        except BaseException:
            client.set_terminated(run_id, status="FAILED")
            raise
        client.set_terminated(run_id, status="FINISHED")
        place = args.uri or str(mlflow.get_tracking_uri())
        if place.startswith(("http://", "https://")):
            return f"{place}/#/experiments/{experiment_id}/runs/{run_id}"
        return f"run {run_id} of experiment '{args.experiment}' in {place}"


def _log(client: Any, run_id: str, sent: Payload) -> None:
    """Log configuration, metrics, the table of tests and the files of a run."""
    entities = import_module("mlflow.entities")
    parameters = [
        entities.Param(name, text[:_LONGEST_PARAMETER])
        for name, text in distinct_names(flat(sent.config))
        if text
    ]
    for start in range(0, len(parameters), _PARAMETERS_AT_ONCE):
        batch = parameters[start : start + _PARAMETERS_AT_ONCE]
        client.log_batch(run_id, params=batch)
    now = int(1000 * time.time())
    metrics = [
        entities.Metric(name, value, timestamp=now, step=0)
        for name, value in sent.metrics.items()
    ]
    for start in range(0, len(metrics), _METRICS_AT_ONCE):
        batch_of_metrics = metrics[start : start + _METRICS_AT_ONCE]
        client.log_batch(run_id, metrics=batch_of_metrics)
    table = {
        column: [row[place] for row in sent.rows]
        for place, column in enumerate(sent.columns)
    }
    client.log_table(run_id, data=table, artifact_file=_TABLE)
    for path in sent.files():
        client.log_artifact(run_id, str(path))


def flat(config: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield every value of nested mappings as text, its name a path with dots.

    Examples:
        >>> list(flat({"model": {"name": "toy"}, "limited": False}))
        [('model.name', 'toy'), ('limited', 'False')]
    """
    for key, value in config.items():
        name = f"{above}{_named(str(key))}"
        if isinstance(value, Mapping):
            yield from flat(value, f"{name}.")
        else:
            yield name, "" if value is None else str(value)


def distinct_names(values: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield values with names as short as MLflow takes them, a number after names in use.

    Examples:
        >>> list(distinct_names([("a-b", "1"), ("a-b", "2")]))
        [('a-b', '1'), ('a-b.2', '2')]
    """
    used: set[str] = set()
    for name, text in values:
        short = name[:_LONGEST_NAME]
        distinct = short
        number = 1
        while distinct in used:
            number += 1
            distinct = f"{short}.{number}"
        used.add(distinct)
        yield distinct, text


def _named(key: str) -> str:
    """Return a key of the letters that MLflow takes in a name; others become hyphens."""
    return "".join(
        letter if (letter.isalnum() and letter.isascii()) or letter in "_-." else "-"
        for letter in key
    )


DESTINATION = Mlflow()
