"""Destinations that a run's results can be sent to, such as a tracker or a hub data set.

A destination is written NAME or NAME:PLACE. Nothing of one is imported before a user names it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from t2ibench.arguments import Arguments, format_args, read_args
from t2ibench.errors import T2IBenchError, did_you_mean, shown
from t2ibench.registry import Registry
from t2ibench.reports.destinations.payload import Payload
from t2ibench.settings import RunSettings


class Destination(Protocol):
    """A place that a run's results can be sent to; classes need these members, and no base class.

    Attributes:
        description: One line, for `t2ibench ls destinations`.
        Args: Its arguments (`--log-args`).
        place: The argument that the text after the colon stands for, as in wandb:PROJECT.
    """

    @property
    def description(self) -> str: ...  # noqa: D102
    @property
    def Args(self) -> type[Arguments]: ...  # noqa: D102
    @property
    def place(self) -> str: ...  # noqa: D102

    def check(self, args: Any) -> None:
        """Raise an error if the arguments are invalid; called before the run, and sends nothing."""
        ...

    def send(self, sent: Payload, args: Any) -> str:
        """Send a run's results, and return a line that says where to find them."""
        ...


_FLAG = "--log-args"
DESTINATIONS: Registry[Destination] = Registry(
    "destination",
    {
        "wandb": "t2ibench.reports.destinations.wandb:DESTINATION",
        "mlflow": "t2ibench.reports.destinations.mlflow:DESTINATION",
        "hf-dataset": "t2ibench.reports.destinations.hub:DESTINATION",
    },
    members=("description", "Args", "place", "check", "send"),
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """A destination that the user chose, with its arguments, as given and as validated."""

    name: str
    destination: Destination
    args: Arguments
    given: Mapping[str, str] = field(default_factory=dict)

    def command(self, folder: Path) -> str:
        """Return a shell command that sends the run in `folder` to this destination."""
        words = ["t2ibench", "export", str(folder), "--to", self.name]
        words += ["--log-args", format_args(self.given)] if self.given else []
        return shlex.join(words)


def choose(names: Iterable[str], args: Mapping[str, str]) -> list[Chosen]:
    """Return the destinations with these names, after validating their arguments."""
    destinations = {name: DESTINATIONS.get(name.partition(":")[0]) for name in names}
    fields_by_name = {
        name: destination.Args.model_fields
        for name, destination in destinations.items()
    }
    every = sorted({key for fields in fields_by_name.values() for key in fields})
    for key in args:
        if key not in every:
            raise T2IBenchError(
                f"{_FLAG}: {', '.join(destinations) or 'nothing'} has no argument '{shown(key)}'."
                f"{did_you_mean(key, every)}",
                f"There are: {', '.join(every)}." if every else "Name a destination.",
            )
    chosen = []
    for name, destination in destinations.items():
        arguments = {
            key: value for key, value in args.items() if key in fields_by_name[name]
        }
        place = name.partition(":")[2]
        if place and destination.place in arguments:
            raise T2IBenchError(
                f"'{shown(name)}' names the {destination.place}, and so does {_FLAG}.",
                "Keep one of them.",
            )
        given = {**arguments, **({destination.place: place} if place else {})}
        checked = read_args(destination.Args, given, name, _FLAG)
        destination.check(checked)
        chosen.append(Chosen(name, destination, checked, arguments))
    return chosen


def chosen_by(settings: RunSettings) -> list[Chosen]:
    """Return the destinations that --log-to names, after validating their arguments."""
    if settings.log_args and not settings.log_to:
        raise T2IBenchError(
            "--log-args needs --log-to.", "Name a destination: --log-to wandb"
        )
    if not settings.log_to:
        return []
    for flag, given in (
        ("--generate-only", settings.generate_only),
        ("--no-score", settings.no_score),
    ):
        if given:
            raise T2IBenchError(
                f"--log-to has to score; leave {flag} out.",
                "`t2ibench export RUN --to …` sends results later.",
            )
    return choose(settings.log_to, settings.log_args)
