"""Statistics: numpy and scipy only, every draw from a generator that is passed in."""

from t2ibench.stats.agreement import Agreement, kendall_tau
from t2ibench.stats.bootstrap import (
    magnitude_interval,
    one_sample_bootstrap,
    percentile_interval,
    resample_weights,
    two_sample_bootstrap,
)
from t2ibench.stats.categorical import (
    concept_association,
    expected_severity,
    kl_divergence,
    macro_f1,
    mad,
    mean_and_error,
    miller_madow,
    multinomial_test,
    severity,
)
from t2ibench.stats.effects import (
    auc,
    cliffs_delta,
    cohens_d,
    glass_delta,
    hedges_g,
    ks_distance,
    t2iat_code_effect_size,
    two_p_minus_one,
    weat_effect_size,
)
from t2ibench.stats.ks import group_distance, shuffled_labels
from t2ibench.stats.multiple import benjamini_hochberg, holm
from t2ibench.stats.permutation import (
    PermutationResult,
    correlation_permutation,
    null_abs_two_p_minus_one,
    p_value,
    share_positive_test,
    sign_flip_permutation,
    two_sample_permutation,
)

__all__ = [
    "Agreement",
    "PermutationResult",
    "auc",
    "benjamini_hochberg",
    "cliffs_delta",
    "cohens_d",
    "concept_association",
    "correlation_permutation",
    "expected_severity",
    "glass_delta",
    "group_distance",
    "hedges_g",
    "holm",
    "kendall_tau",
    "kl_divergence",
    "ks_distance",
    "macro_f1",
    "mad",
    "magnitude_interval",
    "mean_and_error",
    "miller_madow",
    "multinomial_test",
    "null_abs_two_p_minus_one",
    "one_sample_bootstrap",
    "p_value",
    "percentile_interval",
    "resample_weights",
    "severity",
    "share_positive_test",
    "shuffled_labels",
    "sign_flip_permutation",
    "t2iat_code_effect_size",
    "two_p_minus_one",
    "two_sample_bootstrap",
    "two_sample_permutation",
    "weat_effect_size",
]
