"""ViBEx: everything that is known about this family."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.vibex.checks import check
from t2ibench.methods.vibex.describe import describe
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.methods.vibex.score import needs, score

METHOD = Family(
    name="vibex",
    title="ViBEx",
    Task=VibexTask,
    check=check,
    needs=needs,
    score=score,
    describe=describe,
    main_score=MainScore("tendencies_reproduced", "as published"),
    row_scores=("D",),
    estimand=(
        "The mean over test concepts of the largest Kolmogorov-Smirnov distance between two "
        "anchors' similarities to the concept."
    ),
    explores="t2ibench.methods.vibex.explore:EXPLORATION",
)
