"""Scores of a task for which some encoders or judges lack evidence.

One that was stopped, or that fails at every image, leaves no evidence, and a mean that includes
it would be no score at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from t2ibench.methods.core.describe import listed
from t2ibench.methods.core.estimate import MethodResult
from t2ibench.pipeline.stored_evidence import StoredEvidence


@dataclass(frozen=True, slots=True)
class Readers:
    """The results of one task, keyed by encoder or judge, and who has no evidence about it.

    Attributes:
        results: Name to result; one that lacks evidence gives that as the reason.
        missing: The names of those that lack evidence where others have a score.
    """

    results: Mapping[str, MethodResult]
    missing: tuple[str, ...]

    @classmethod
    def of(
        cls,
        results: Mapping[str, MethodResult],
        evidence: Mapping[str, StoredEvidence],
        *,
        judges: bool,
    ) -> Readers:
        """Return the results, with the reason for each encoder or judge that lacks evidence.

        Args:
            results: Name to result, as a method gave it.
            evidence: Name to what it was scored from.
            judges: Whether these are judges; else they are encoders.
        """
        clause = "has no answers about" if judges else "lacks embeddings of"
        named = dict(results)
        # Where none has a score, the method's own reasons are more specific.
        some_scored = any(not result.reason for result in results.values())
        for name, result in results.items():
            lacks = (
                evidence[name].lacks_answers
                if judges
                else evidence[name].lacks_embeddings
            )
            if result.reason and lacks and some_scored:
                named[name] = replace(result, reason=f"{name} {clause} this task")
        missing = [
            name for name, result in named.items() if result is not results[name]
        ]
        return cls(named, tuple(missing))

    @property
    def present(self) -> dict[str, MethodResult]:
        """The results of the encoders or judges that have evidence, which enter the mean."""
        return {
            name: result
            for name, result in self.results.items()
            if name not in self.missing
        }

    def annotated(self, combined: MethodResult) -> MethodResult:
        """Return a task's mean result, with a note on encoders or judges that lack evidence.

        What they lack counts as excluded, so that the task is not complete.
        """
        if not self.missing:
            return combined
        reasons = [self.results[name].reason or "" for name in self.missing]
        if combined.reason:
            return replace(combined, reason="; ".join(dict.fromkeys(reasons)))
        excluded = Counter(combined.excluded)
        for name in self.missing:
            excluded |= self.results[name].excluded
        scored = listed(list(self.present))
        warning = f"{'; '.join(reasons)}: this is the score by {scored} alone"
        return replace(
            combined, excluded=excluded, warnings=[warning, *combined.warnings]
        )
