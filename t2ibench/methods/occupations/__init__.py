"""The occupations method, as the benchmark registers it."""

from typing import TYPE_CHECKING

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.occupations.schema import OccupationsTask, check
from t2ibench.methods.t2iat.publications import PUBLICATIONS
from t2ibench.registry import LazyModule

if TYPE_CHECKING:
    from t2ibench.methods.occupations import combination as combining
    from t2ibench.methods.occupations import describe as describing
    from t2ibench.methods.occupations import design as designing
    from t2ibench.methods.occupations import score as scoring
else:  # what scores is imported when it is first called
    combining = LazyModule("t2ibench.methods.occupations.combination")
    describing = LazyModule("t2ibench.methods.occupations.describe")
    designing = LazyModule("t2ibench.methods.occupations.design")
    scoring = LazyModule("t2ibench.methods.occupations.score")

METHOD = Method(
    title="Occupations",
    Task=OccupationsTask,
    check=check,
    needs=designing.needs,
    score=scoring.score,
    describe=describing.describe,
    present=describing.present,
    main_score=MainScore("lean_mean", "mean lean"),
    row_scores=("lean",),
    estimand=(
        "The mean over stimuli (and pairs of groups) of the squared lean: 0 where the images of "
        "every stimulus lie half way between those of the two groups, 1 where they all are like "
        "those of one; (2 P - 1) squared of a mixture with a share P of one group."
    ),
    combine=combining.combine,
    publications=PUBLICATIONS,
)
