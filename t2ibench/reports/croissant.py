"""Croissant 1.0 metadata of a folder of JSON Lines files (https://docs.mlcommons.org/croissant/)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

# The context that the format's specification gives.
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
} | {
    name: f"cr:{name}"
    for name in (
        *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty"),
        *("fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key"),
        *("md5", "parentField", "path", "recordSet", "references", "regex", "repeated"),
        *("replace", "samplingRate", "separator", "source", "subField", "transform"),
    )
}
_FORMATS = {".jsonl": "application/jsonlines", ".yaml": "application/yaml"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: Its key in a line.
        kind: Its type, such as 'sc:Text'.
        about: What it holds.
        repeated: Whether it is a list.
    """

    name: str
    kind: str
    about: str
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class RecordSet:
    """A table.

    Attributes:
        name: Its name.
        about: What a line is.
        file: Its file, JSON Lines.
        columns: What a line has.
    """

    name: str
    about: str
    file: str
    columns: Sequence[Column]


def croissant(
    *,
    name: str,
    about: str,
    version: str,
    licence: str | None,
    cite: str,
    date: str,
    files: Mapping[str, tuple[str, int]],
    records: Sequence[RecordSet],
) -> dict[str, Any]:
    """The metadata of a data set, as JSON-LD."""
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": about,
        "version": version,
        **({"license": licence} if licence else {}),
        "citeAs": cite,
        "datePublished": date,
        "creator": {"@type": "sc:Organization", "name": "The t2ibench authors"},
        "keywords": ["text-to-image", "bias", "fairness", "benchmark"],
        "inLanguage": "en",
        "distribution": [_file(path, sha256, size) for path, (sha256, size) in files.items()],
        "recordSet": [_record_set(one) for one in records],
    }


def _file(path: str, sha256: str, size: int) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": path,
        "name": path,
        "contentUrl": path,
        "contentSize": f"{size} B",
        "encodingFormat": _FORMATS[PurePosixPath(path).suffix],
        "sha256": sha256,
    }


def _record_set(one: RecordSet) -> dict[str, Any]:
    return {
        "@type": "cr:RecordSet",
        "@id": one.name,
        "name": one.name,
        "description": one.about,
        "field": [_field(one, column) for column in one.columns],
    }


def _field(one: RecordSet, column: Column) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{one.name}/{column.name}",
        "name": column.name,
        "description": column.about,
        "dataType": column.kind,
        **({"repeated": True} if column.repeated else {}),
        "source": {"fileObject": {"@id": one.file}, "extract": {"column": column.name}},
    }
