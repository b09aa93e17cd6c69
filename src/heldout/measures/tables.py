"""Measures of the whole confusion matrix, from a few sums over it.

Like the measures of every other module, they are found through the catalogue.
"""

from __future__ import annotations

from typing import Any

from heldout.measures.declare import NO_CASES, UNBOUNDED, Headline, Measure, measure

COHEN = "Cohen (1960), A coefficient of agreement for nominal scales"
COHEN_WEIGHTED = "Cohen (1968), Weighted kappa"
MITCHELL = "Mitchell (1997), Machine Learning, ch. 5"
ELKAN = "Elkan (2001), The foundations of cost-sensitive learning"

ONE_CLASS = "truth and prediction hold one and the same class only"


@measure(
    symbol="ACC",
    aliases=("acc", "cci", "correctly_classified_instances", "overall_precision", "overall_acc", "exact_match"),
    scope="table",
    undefined=NO_CASES,
    reference=MITCHELL,
    headline=Headline(1),
)
def accuracy(correct: Any, n: Any) -> tuple[Any, Any]:
    """Share of the cases that were predicted right."""
    return correct, n


@measure(
    symbol="ERR",
    aliases=(
        "error",
        "err",
        "misclassification_rate",
        "sample_error",
        "zero_one_loss",
        "hamming_loss",
        "incorrectly_classified_instances",
    ),
    scope="table",
    direction="lower",
    undefined=NO_CASES,
    reference=MITCHELL,
    formula="(n - correct) / n",
)
def error_rate(wrong: Any, n: Any) -> tuple[Any, Any]:
    """Share of the cases that were predicted wrong."""
    return wrong, n


@measure(
    symbol="kappa",
    aliases=("cohen_kappa", "cohens_kappa", "kap", "kappa_statistic"),
    scope="table",
    kind="agreement",
    low=-1.0,
    undefined=ONE_CLASS,
    reference=COHEN,
    formula="(n · correct - sum of truth_c · predicted_c) / (n² - sum of truth_c · predicted_c)",
    headline=Headline(5, ("screen", "page")),
)
def kappa(covariance: Any, chance_errors: Any) -> tuple[Any, Any]:
    """Agreement beyond what the margins alone would give, nominal classes (Cohen)."""
    return covariance, chance_errors


@measure(
    symbol="kappa_lin",
    aliases=("kappa_linear", "weighted_kappa"),
    scope="table",
    kind="agreement",
    low=-1.0,
    undefined=ONE_CLASS,
    reference=COHEN_WEIGHTED,
    formula="1 - n · sum of n_ij |i - j| / sum of truth_i predicted_j |i - j|",
)
def linear_kappa(n: Any, linear_gap: Any, linear_chance: Any) -> tuple[Any, Any]:
    """Kappa for ordered classes: an error counts by the number of classes it is off."""
    return linear_chance - n * linear_gap, linear_chance


@measure(
    symbol="kappa_quad",
    aliases=("kappa_quadratic", "qwk"),
    scope="table",
    kind="agreement",
    low=-1.0,
    undefined=ONE_CLASS,
    reference=COHEN_WEIGHTED,
    formula="1 - n · sum of n_ij (i - j)² / sum of truth_i predicted_j (i - j)²",
)
def quadratic_kappa(n: Any, quadratic_gap: Any, quadratic_chance: Any) -> tuple[Any, Any]:
    """Kappa for ordered classes: an error counts by the square of the number of classes it is off."""
    return quadratic_chance - n * quadratic_gap, quadratic_chance


@measure(
    symbol="MCC",
    title="MCC",
    aliases=("mcc", "phi", "matthews_corrcoef", "matthews_correlation", "matthews_correlation_coefficient"),
    scope="table",
    kind="agreement",
    low=-1.0,
    per_class=True,
    undefined="truth or prediction holds one class only",
    reference="Gorodkin (2004), Comparing two K-category assignments by a K-category correlation coefficient",
    formula="(n · correct - sum of truth_c · predicted_c) / sqrt((n² - sum of truth_c²) · (n² - sum of predicted_c²))",
    headline=Headline(4, ("screen", "page")),
)
def matthews(covariance: Any, truth_spread: Any, predicted_spread: Any) -> tuple[Any, Any]:
    """Correlation between truth and prediction."""
    # One root of the product: it is exact where both factors are equal, so that a perfect table gives 1.
    return covariance, (truth_spread * predicted_spread) ** 0.5


@measure(
    symbol="NIR",
    aliases=("nir", "majority_share", "accuracy_null"),
    scope="table",
    direction="none",
    undefined=NO_CASES,
    reference="Kuhn (2008), Building predictive models in R using the caret package",
    formula="cases of the commonest class / n",
)
def no_information_rate(commonest: Any, n: Any) -> tuple[Any, Any]:
    """Accuracy of always predicting the commonest class."""
    return commonest, n


@measure(
    symbol="EC",
    aliases=("mean_cost", "average_cost", "cost_per_case"),
    scope="table",
    kind="cost",
    low=-UNBOUNDED,
    high=UNBOUNDED,
    direction="lower",
    undefined=NO_CASES,
    reference=ELKAN,
    formula="sum of n_ij · cost(predicted j | truth i) / n",
    headline=Headline(13, ("screen", "page", "comparison")),
)
def expected_cost(cost: Any, n: Any) -> tuple[Any, Any]:
    """Mean cost of a case under the cost matrix that was given."""
    return cost, n


@measure(
    symbol="TC",
    aliases=("cost",),
    scope="table",
    kind="cost",
    total="expected_cost",
    low=-UNBOUNDED,
    high=UNBOUNDED,
    direction="lower",
    undefined=NO_CASES,
    reference=ELKAN,
    formula="sum of n_ij · cost(predicted j | truth i)",
    headline=Headline(14, ("screen", "page")),
)
def total_cost(cost: Any) -> tuple[Any, Any]:
    """Cost of all these cases together under the cost matrix that was given."""
    return cost, 1.0


MEASURES: tuple[Measure, ...] = (
    accuracy,
    error_rate,
    kappa,
    matthews,
    linear_kappa,
    quadratic_kappa,
    no_information_rate,
    expected_cost,
    total_cost,
)
