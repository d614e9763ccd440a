"""Everything that is compared between two runs, read from their folders."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from t2ibench.errors import T2IBenchError
from t2ibench.results.compared_runs import distinct_names
from t2ibench.results.comparison import compare
from t2ibench.results.comparison_claims import OverallDifference, overall_difference
from t2ibench.results.comparison_remarks import rewriting_line, unread_lines
from t2ibench.results.files import read_results
from t2ibench.results.paired import read_paired
from t2ibench.results.prompt_changes import AttributeChange, compare_prompts
from t2ibench.results.schema import Results
from t2ibench.results.score_difference import Difference
from t2ibench.results.text_image_alignment import AgreementChange, compare_agreement


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One of two runs that are compared.

    Attributes:
        name: What the comparison calls it.
        results: Its results.
        file: Its results.json.
    """

    name: str
    results: Results
    file: Path

    @property
    def folder(self) -> Path:
        """Return the folder of its results, which has its images where they are kept."""
        return self.file.parent

    @property
    def sha256(self) -> str:
        """Return the SHA-256 of its results.json."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs and all that differs between them.

    Attributes:
        first: The older run, or the baseline of the other.
        second: The newer run.
        differences: The differences of headlines and of rows.
        prompts: Who is shown as what in both runs, question by question.
        agreement: How the agreement of images with their prompts differs.
        remarks: What differs besides the models, in sentences.
    """

    first: ComparedRun
    second: ComparedRun
    differences: tuple[Difference, ...]
    prompts: tuple[AttributeChange, ...]
    agreement: tuple[AgreementChange, ...]
    remarks: tuple[str, ...]

    @property
    def names(self) -> tuple[str, str]:
        """Return what both runs are called."""
        return self.first.name, self.second.name

    @property
    def tests(self) -> list[Difference]:
        """Return the differences of headlines."""
        return [difference for difference in self.differences if not difference.row]

    @property
    def overall(self) -> OverallDifference | None:
        """Return the test over all tests of whether the runs differ at all."""
        return overall_difference(self.differences)


def read_comparison(first: Path, second: Path) -> Comparison:
    """Return the comparison of two runs, given as folders or as results.json files.

    Raises:
        T2IBenchError: the runs have no task in common, or cannot be read.
    """
    paths = (first, second)
    runs = (read_results(first), read_results(second))
    if not runs[0].tasks.keys() & runs[1].tasks.keys():
        raise T2IBenchError(
            "The two runs have no task in common.", "Run both on the same tasks."
        )
    paired = [read_paired(path) for path in paths]
    names = distinct_names(
        [results.title for results in runs],
        [path.resolve().name for path in paths],
        [str(path) for path in paths],
    )
    compared = [
        ComparedRun(name, results, path / "results.json" if path.is_dir() else path)
        for name, results, path in zip(names, runs, paths, strict=True)
    ]
    rewriting = rewriting_line(*runs)
    remarks = [*unread_lines(*runs, names), *([rewriting] if rewriting else [])]
    return Comparison(
        first=compared[0],
        second=compared[1],
        differences=tuple(compare(*runs, *paired)),
        prompts=tuple(compare_prompts(*runs)),
        agreement=tuple(compare_agreement(*runs, *paired)),
        remarks=tuple(remarks),
    )
