"""Numbers into bins that hold equally many training cases each, one column of zeros and ones for every bin."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats


class QuantileBins:
    """A transformer for pipelines: the bins are those of the rows it was fitted on, and gaps are a bin of their own.

    scikit-learn's KBinsDiscretizer refuses gaps, and warns in every fold about columns of few distinct values, where
    having fewer bins is right.

    >>> QuantileBins(2).fit(np.array([[1.0], [2.0], [3.0], [4.0]])).transform(np.array([[1.5], [9.0]]))
    array([[1., 0.],
           [0., 1.]])
    """

    def __init__(self, bins: int = 10) -> None:
        self.bins = bins

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - what scikit-learn's clone calls
        """The settings, for scikit-learn's clone."""
        return {"bins": self.bins}

    def set_params(self, **params: Any) -> Self:
        """Change the settings."""
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type="transformer",
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(),
            input_tags=InputTags(allow_nan=True),
        )

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - pipelines pass the classes too
        """Find the inner edges of the bins of each column."""
        table = np.asarray(X, dtype=np.float64)
        inner = np.linspace(0, 1, self.bins + 1)[1:-1]
        self.edges_: list[Floats] = []
        self.gaps_: list[bool] = []
        for column in table.T:
            held = column[~np.isnan(column)]
            edges = np.unique(np.quantile(held, inner)) if len(held) else np.empty(0)
            # Of several edges between two values that follow each other one is enough: no bin stays empty.
            occupied = np.unique(np.searchsorted(edges, held, side="right"))
            self.edges_.append(edges[occupied[1:] - 1])
            self.gaps_.append(len(held) < len(column))
        return self

    def transform(self, X: Any) -> Floats:
        """One column for each bin, 1 in the rows whose value lies in it; a value on an edge belongs above it."""
        table = np.asarray(X, dtype=np.float64)
        parts: list[Floats] = []
        for column, edges, gaps in zip(table.T, self.edges_, self.gaps_, strict=True):
            missing = np.isnan(column)
            bins = np.where(missing, len(edges) + 1, np.searchsorted(edges, column, side="right"))
            width = len(edges) + 1 + gaps
            # Gaps that the training rows did not have lie in no bin.
            parts.append((bins[:, None] == np.arange(width)).astype(np.float64))
        return np.hstack(parts) if parts else np.empty((len(table), 0))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The name of each column of zeros and ones, for those who look into a fitted pipeline."""
        given = input_features if input_features is not None else [f"x{i}" for i in range(len(self.edges_))]
        return np.array(
            [
                f"{name}_{i}"
                for name, edges, gaps in zip(given, self.edges_, self.gaps_, strict=True)
                for i in range(len(edges) + 1 + gaps)
            ],
            dtype=object,
        )
