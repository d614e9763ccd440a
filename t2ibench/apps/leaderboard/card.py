"""What a submission states of its model and of where its evidence lies."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


def _day(text: str) -> str:
    """A date, or the first part of one."""
    if not _DATE.fullmatch(text):
        raise ValueError("expected a date such as 2026-05-01, 2026-05 or 2026")
    date.fromisoformat((text + "-01-01")[:10])
    return text


def _web(text: str) -> str:
    """An address that a page may link to."""
    parts = urlsplit(text)
    plain = text.isascii() and text.isprintable() and not set(" <>\"'`\\") & set(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or "@" in parts.netloc:
        raise ValueError("expected an address such as https://example.org/model")
    if not plain:
        raise ValueError("expected an address of ASCII letters, digits and simple signs")
    return text


Short = Annotated[str, Field(min_length=1, max_length=120)]


class Card(BaseModel):
    """What the submitter says of the model; shown as stated.

    Attributes:
        licence: Of the weights, or of what the server gives.
        parameters: Their number, such as '0.9B'.
        released: When the model came out.
        weights: 'open', or 'hosted' where only a server has them.
        submitter: Who submits.
        submitted: When.
        url: A page about the model.
    """

    model_config = ConfigDict(extra="forbid")

    licence: Short | None = None
    parameters: Annotated[str, Field(pattern=r"^\d{1,6}(\.\d{1,3})? ?[KMBT]?$")] | None = None
    released: Annotated[str, AfterValidator(_day)] | None = None
    weights: Literal["open", "hosted"] | None = None
    submitter: Short | None = None
    submitted: Annotated[str, AfterValidator(_day)] | None = None
    url: Annotated[str, Field(max_length=300), AfterValidator(_web)] | None = None

    def facts(self) -> list[tuple[str, str, str | None]]:
        """The card as its page shows it."""
        said = [
            ("Licence", self.licence),
            ("Parameters", self.parameters),
            ("Released", self.released),
            ("Weights", self.weights),
            ("Submitter", self.submitter),
            ("Submitted", self.submitted),
        ]
        facts = [(name, text or "not stated", None) for name, text in said]
        return [*facts, ("Page", self.url or "not stated", self.url)]


class Evidence(BaseModel):
    """Where a submission's evidence lies, if not in its folder.

    Attributes:
        url: Address or path of a .tar; a path is taken from the submission's folder.
        sha256: Of the file.
        bytes: Its size.
    """

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, Field(min_length=1, max_length=1000)]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(gt=0)]
