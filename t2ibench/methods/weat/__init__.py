"""WEAT: the method, put together from its parts."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.weat.checks import check
from t2ibench.methods.weat.schema import WeatTask
from t2ibench.registry import lazy

METHOD = Family(
    name="weat",
    title="WEAT",
    Task=WeatTask,
    check=check,
    needs=lazy("t2ibench.methods.weat.score:needs"),
    score=lazy("t2ibench.methods.weat.score:score"),
    describe=lazy("t2ibench.methods.weat.describe:describe"),
    main_score=MainScore("d", "d"),
    estimand=(
        "Cliff's delta between the associations of the two target sets with A rather than B, "
        "over words like these."
    ),
)
