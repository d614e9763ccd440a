"""The TIBET method, as the benchmark registers it."""

from typing import TYPE_CHECKING

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.tibet.publications import PUBLICATIONS
from t2ibench.methods.tibet.schema import TibetTask, check
from t2ibench.registry import LazyModule

if TYPE_CHECKING:
    from t2ibench.methods.tibet import combination
    from t2ibench.methods.tibet import describe as describing
    from t2ibench.methods.tibet import needs as requirements
    from t2ibench.methods.tibet import present as presenting
    from t2ibench.methods.tibet import score as scoring
else:  # what scores is imported when it is first called
    combination = LazyModule("t2ibench.methods.tibet.combination")
    describing = LazyModule("t2ibench.methods.tibet.describe")
    requirements = LazyModule("t2ibench.methods.tibet.needs")
    presenting = LazyModule("t2ibench.methods.tibet.present")
    scoring = LazyModule("t2ibench.methods.tibet.score")

METHOD = Method(
    title="TIBET",
    Task=TibetTask,
    check=check,
    needs=requirements.needs,
    score=scoring.score,
    describe=describing.describe,
    present=presenting.present,
    main_score=MainScore("mean_absolute_deviation", "MAD"),
    row_scores=("lean",),
    estimand=(
        "The mean over prompts and axes of the squared lean of the shares in which the "
        "counterfactuals' images make up the prompt's, |share - 1/K|² / (1 - 1/K)."
    ),
    combine=combination.combine,
    proposes="t2ibench.methods.tibet.propose:PROPOSAL",
    publications=PUBLICATIONS,
)
