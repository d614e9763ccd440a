"""Settings of a run beside its measurement that can change scores, as results.json says them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from t2ibench.identity import sha256_of_json
from t2ibench.methods.core.judge_check import JudgeCheck
from t2ibench.results.json_record import Record

if TYPE_CHECKING:
    from typing_extensions import Self

    from t2ibench.settings import RunSettings


class FurtherSettings(Record):
    """Settings of a run beside its measurement, encoders and judges that can change its scores.

    Attributes:
        control_encoder: Whether an untrained encoder is compared with: 'random', or 'none'.
        judge_args: Arguments of the judges.
        judge_checks: SHA-256 of each check by people that shares are corrected by, sorted.
        columns: Headings of the user's tables, by role.
        sources: The model that makes the images that are edited; null for the model itself.
        sources_args: Its arguments.
    """

    control_encoder: Literal["random", "none"] = "random"
    judge_args: dict[str, str] = Field(default_factory=dict)
    judge_checks: list[str] = Field(default_factory=list)
    columns: dict[str, str] = Field(default_factory=dict)
    sources: str | None = None
    sources_args: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(cls, settings: RunSettings, checks: Iterable[JudgeCheck]) -> Self:
        """Return those of a run.

        Args:
            settings: All settings of the run.
            checks: The checks of judges that its settings name, as they were read.
        """
        return cls(
            control_encoder=settings.control_encoder,
            judge_args=settings.judge_args,
            judge_checks=sorted(sha256_of_check(check) for check in checks),
            columns=settings.columns,
            sources=settings.sources,
            sources_args=settings.sources_args,
        )


def sha256_of_check(check: JudgeCheck) -> str:
    """Return the SHA-256 over everything in a check of a judge, whatever its layout in a file."""
    return sha256_of_json(check.model_dump(mode="json"))
