"""T2IAT, the text-to-image association test, as a method of the benchmark."""

from typing import TYPE_CHECKING

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.t2iat.publications import PUBLICATIONS
from t2ibench.methods.t2iat.schema import T2iatTask, check
from t2ibench.registry import LazyModule

if TYPE_CHECKING:
    from t2ibench.methods.t2iat import describe as describing
    from t2ibench.methods.t2iat import design as designing
    from t2ibench.methods.t2iat import score as scoring
else:  # what scores is imported when it is first called
    describing = LazyModule("t2ibench.methods.t2iat.describe")
    designing = LazyModule("t2ibench.methods.t2iat.design")
    scoring = LazyModule("t2ibench.methods.t2iat.score")

METHOD = Method(
    title="T2IAT",
    Task=T2iatTask,
    check=check,
    needs=designing.needs,
    score=scoring.score,
    describe=describing.describe,
    present=describing.present,
    main_score=MainScore("effect_size", "effect size"),
    row_scores=("lean",),
    estimand=(
        "Half the difference between the mean leans of X's and of Y's images towards A rather "
        "than B: 2 P - 1 of a mixture whose share of A-like images is P in X and 1 - P in Y."
    ),
    publications=PUBLICATIONS,
)
