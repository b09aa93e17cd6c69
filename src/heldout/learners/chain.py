"""An encoder before a learner that knows nothing of scikit-learn, whose pipelines would refuse it."""

from __future__ import annotations

from typing import Any, Self

ENCODED = ("predict", "predict_proba", "decision_function")


class Chain:
    """What the encoder learned from the training rows is applied to all rows that the learner sees.

    It has predict_proba and decision_function where the learner has them.
    """

    def __init__(self, encoder: Any, learner: Any) -> None:
        self.encoder = encoder
        self.learner = learner

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the encoder and then the learner."""
        self.learner.fit(self.encoder.fit_transform(X, y), y)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "learner" not in self.__dict__:
            # While a copy is being made there is nothing to ask yet.
            raise AttributeError(name)
        found = getattr(self.learner, name)
        if name not in ENCODED:
            return found
        return lambda X: found(self.encoder.transform(X))
