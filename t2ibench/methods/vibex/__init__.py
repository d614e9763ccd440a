"""ViBEx: everything about this family."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.vibex.checks import check
from t2ibench.methods.vibex.schema import VibexTask
from t2ibench.registry import lazy

METHOD = Family(
    name="vibex",
    title="ViBEx",
    Task=VibexTask,
    check=check,
    needs=lazy("t2ibench.methods.vibex.score:needs"),
    score=lazy("t2ibench.methods.vibex.score:score"),
    describe=lazy("t2ibench.methods.vibex.describe:describe"),
    main_score=MainScore("tendencies_reproduced", "as published"),
    row_scores=("D",),
    estimand=(
        "The mean over test concepts of the largest Kolmogorov-Smirnov distance between two "
        "anchors' similarities to the concept."
    ),
    explores="t2ibench.methods.vibex.explore:EXPLORATION",
)
