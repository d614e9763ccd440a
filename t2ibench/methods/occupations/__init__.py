"""Occupations: the method, put together from its parts."""

from t2ibench.methods.core.method import MainScore, Method
from t2ibench.methods.occupations.schema import OccupationsTask, check
from t2ibench.registry import lazy

METHOD = Method(
    title="Occupations",
    Task=OccupationsTask,
    check=check,
    needs=lazy("t2ibench.methods.occupations.design:needs"),
    score=lazy("t2ibench.methods.occupations.score:score"),
    describe=lazy("t2ibench.methods.occupations.describe:describe"),
    present=lazy("t2ibench.methods.occupations.describe:present"),
    main_score=MainScore("lean_mean", "mean lean"),
    row_scores=("lean",),
    estimand=(
        "The mean over stimuli (and pairs of groups) of the squared lean: 0 where the images of "
        "every stimulus lie half way between those of the two groups, 1 where they all are like "
        "those of one; (2 P - 1) squared of a mixture with a share P of one group."
    ),
    combine=lazy("t2ibench.methods.occupations.combination:combine"),
)
