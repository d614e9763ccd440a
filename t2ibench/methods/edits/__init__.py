"""Whom a model changes when it edits images of people, as a method of the benchmark."""

from typing import TYPE_CHECKING

from t2ibench.methods.core.method import Method
from t2ibench.methods.edits.checks import check
from t2ibench.methods.edits.publications import PUBLICATIONS
from t2ibench.methods.edits.schema import EditsTask
from t2ibench.registry import LazyModule

if TYPE_CHECKING:
    from t2ibench.methods.edits import combine as combining
    from t2ibench.methods.edits import describe as describing
    from t2ibench.methods.edits import larger_runs as redrawing
    from t2ibench.methods.edits import needs as requirements
    from t2ibench.methods.edits import present as presenting
    from t2ibench.methods.edits import score as scoring
else:  # what scores is imported when it is first called
    combining = LazyModule("t2ibench.methods.edits.combine")
    describing = LazyModule("t2ibench.methods.edits.describe")
    requirements = LazyModule("t2ibench.methods.edits.needs")
    presenting = LazyModule("t2ibench.methods.edits.present")
    redrawing = LazyModule("t2ibench.methods.edits.larger_runs")
    scoring = LazyModule("t2ibench.methods.edits.score")

METHOD = Method(
    title="edits",
    Task=EditsTask,
    check=check,
    needs=requirements.needs,
    score=scoring.score,
    describe=describing.describe,
    present=presenting.present,
    combine=combining.combine,
    redraws=redrawing.redraws,
    row_scores=("lean",),
    estimand=(
        "The mean over edits of the change of a share in one group less that in another: of "
        "endlessly many source images of a group, the share whose edit the judge would answer "
        "with the class, less the share of the source images. Of the attribute that defines the "
        "groups it is the share that is no longer shown as the group."
    ),
    publications=PUBLICATIONS,
)
