"""MCAS, the multimodal composite association score, as a method of the benchmark."""

from typing import TYPE_CHECKING

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.mcas.publications import PUBLICATIONS
from t2ibench.methods.mcas.schema import McasTask, check
from t2ibench.registry import LazyModule

if TYPE_CHECKING:
    from t2ibench.methods.mcas import composites
    from t2ibench.methods.mcas import describe as describing
    from t2ibench.methods.mcas import needs as requirements
    from t2ibench.methods.mcas import present as presenting
    from t2ibench.methods.mcas import score as scoring
else:  # what scores is imported when it is first called
    composites = LazyModule("t2ibench.methods.mcas.composites")
    describing = LazyModule("t2ibench.methods.mcas.describe")
    requirements = LazyModule("t2ibench.methods.mcas.needs")
    presenting = LazyModule("t2ibench.methods.mcas.present")
    scoring = LazyModule("t2ibench.methods.mcas.score")

METHOD = Method(
    title="MCAS",
    Task=McasTask,
    check=check,
    needs=requirements.needs,
    score=scoring.score,
    describe=describing.describe,
    present=presenting.present,
    main_score=MainScore("composite_association_score_mean", "MCAS"),
    row_scores=("lean",),
    estimand=(
        "Half the difference of the mean leans of targets stereotyped as A and as B, within "
        "categories: 1 if all images of the former are like the images of A and all of the latter "
        "like those of B, 0 if they do not differ, -1 if it is the other way round."
    ),
    combine=composites.combine,
    publications=PUBLICATIONS,
)
