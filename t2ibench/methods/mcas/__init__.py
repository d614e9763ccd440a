"""MCAS: the method, put together from its parts."""

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.mcas.schema import McasTask, check
from t2ibench.registry import lazy

METHOD = Method(
    title="MCAS",
    Task=McasTask,
    check=check,
    needs=lazy("t2ibench.methods.mcas.needs:needs"),
    score=lazy("t2ibench.methods.mcas.score:score"),
    describe=lazy("t2ibench.methods.mcas.describe:describe"),
    present=lazy("t2ibench.methods.mcas.present:present"),
    main_score=MainScore("composite_association_score_mean", "MCAS"),
    row_scores=("lean",),
    estimand=(
        "Half the difference of the mean leans of targets stereotyped as A and as B, within "
        "categories: 1 if all images of the former are like the images of A and all of the latter "
        "like those of B, 0 if they do not differ, -1 if it is the other way round."
    ),
    combine=lazy("t2ibench.methods.mcas.composites:combine"),
)
