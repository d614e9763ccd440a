"""T2IAT: everything that is known about this family."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.t2iat.checks import check
from t2ibench.methods.t2iat.describe import describe
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.methods.t2iat.score import needs, score, variants

METHOD = Family(
    name="t2iat",
    title="T2IAT",
    Task=T2iatTask,
    check=check,
    needs=needs,
    score=score,
    describe=describe,
    main_score=MainScore("d", "d"),
    estimand=(
        "Cliff's delta between the associations of X's and of Y's images with A rather than B."
    ),
    variants=variants,
)
