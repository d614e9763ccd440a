"""Occupations: the method, put together from its parts."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.occupations.checks import check
from t2ibench.methods.occupations.schema import OccupationsTask
from t2ibench.registry import lazy

METHOD = Family(
    name="occupations",
    title="Occupations",
    Task=OccupationsTask,
    check=check,
    needs=lazy("t2ibench.methods.occupations.design:needs"),
    score=lazy("t2ibench.methods.occupations.score:score"),
    describe=lazy("t2ibench.methods.occupations.describe:describe"),
    main_score=MainScore("mean_asc", "mean Asc"),
    estimand=(
        "The mean over stimuli of |2 P(Asc > 0) - 1|: how one-sidedly the images of a "
        "stimulus lean to one of two groups."
    ),
    calibrates="t2ibench.methods.occupations.calibrate:cells",
)
