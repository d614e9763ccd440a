"""T2IAT: the method, put together from its parts."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.t2iat.checks import check
from t2ibench.methods.t2iat.schema import T2iatTask
from t2ibench.registry import lazy

METHOD = Family(
    name="t2iat",
    title="T2IAT",
    Task=T2iatTask,
    check=check,
    needs=lazy("t2ibench.methods.t2iat.design:needs"),
    score=lazy("t2ibench.methods.t2iat.score:score"),
    describe=lazy("t2ibench.methods.t2iat.describe:describe"),
    main_score=MainScore("d", "d"),
    estimand=(
        "Cliff's delta between the associations of X's and of Y's images with A rather than B."
    ),
    variants=lazy("t2ibench.methods.t2iat.design:variants"),
    calibrates="t2ibench.methods.t2iat.calibrate:cells",
)
