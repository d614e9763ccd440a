"""MCAS: the method, put together from its parts."""

from t2ibench.methods.core.method import Family, MainScore
from t2ibench.methods.mcas.checks import check
from t2ibench.methods.mcas.schema import McasTask
from t2ibench.registry import lazy

METHOD = Family(
    name="mcas",
    title="MCAS",
    Task=McasTask,
    check=check,
    needs=lazy("t2ibench.methods.mcas.score:needs"),
    score=lazy("t2ibench.methods.mcas.score:score"),
    describe=lazy("t2ibench.methods.mcas.describe:describe"),
    main_score=MainScore("mcas_mean", "MCAS"),
    estimand="Cliff's delta between the image associations of targets stereotyped as A and as B.",
    combine=lazy("t2ibench.methods.mcas.composites:combine"),
    calibrates="t2ibench.methods.mcas.calibrate:cells",
)
