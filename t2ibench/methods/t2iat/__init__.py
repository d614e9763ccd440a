"""T2IAT: the method, put together from its parts."""

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.t2iat.schema import T2iatTask, check
from t2ibench.registry import lazy

METHOD = Method(
    title="T2IAT",
    Task=T2iatTask,
    check=check,
    needs=lazy("t2ibench.methods.t2iat.design:needs"),
    score=lazy("t2ibench.methods.t2iat.score:score"),
    describe=lazy("t2ibench.methods.t2iat.describe:describe"),
    present=lazy("t2ibench.methods.t2iat.describe:present"),
    main_score=MainScore("effect_size", "effect size"),
    row_scores=("lean",),
    estimand=(
        "Half the difference between the mean leans of X's and of Y's images towards A rather "
        "than B: 2 P - 1 of a mixture whose share of A-like images is P in X and 1 - P in Y."
    ),
)
