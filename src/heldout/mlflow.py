"""MLflow: an evaluation logged into a run, and the evaluator that `mlflow.models.evaluate` finds by its name."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from heldout.api.evaluate import evaluate
from heldout.errors import HeldoutError
from heldout.extras import require_extra
from heldout.result import Result
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation, Validations
from heldout.synonyms import takes_synonyms

__all__ = ["Evaluator", "log"]

FOLDER = "heldout"
CHARTS = ("roc", "precision_recall", "reliability")
# What an evaluator's configuration may hold; MLflow gives one for all evaluators to each of them.
SETTINGS = ("positive", "labels", "level", "measures", "threshold", "costs", "weight", "group", "seed")


@takes_synonyms
def log(
    result: Result,
    *,
    measures: str | Iterable[str] | None = None,
    prefix: str = "",
    step: int | None = None,
    run_id: str | None = None,
    folder: str = FOLDER,
) -> dict[str, float]:
    """Log a result into the active run of MLflow, or into another: figures with limits, page, JSON and charts.

    Parameters
    ----------
    result : result
        An evaluation or validations; of any other result the page and the JSON document are logged.
    measures : str or list of str, optional
        Which figures, as `evaluation.metrics()` takes them.
    prefix : str
        What stands before each name.
    step : int, optional
        The step of the training that the figures are of.
    run_id : str, optional
        The run; by default the active one, or a new one.
    folder : str
        The folder of the artifacts.

    Returns
    -------
    dict
        The figures that were logged; what is undefined is left out.

    """
    mlflow = _import_mlflow()
    judged = result.evaluation if isinstance(result, Validation) else result
    metrics: dict[str, float] = {}
    if isinstance(result, Evaluation | Validations):
        figures = result.metrics(measures, prefix)
        metrics = {name: value for name, value in figures.items() if math.isfinite(value)}
        mlflow.log_metrics(metrics, step=step, run_id=run_id)
    with tempfile.TemporaryDirectory() as made:
        target = Path(made)
        result.write(target / "report.html")
        result.write(target / "result.json")
        if isinstance(judged, Evaluation):
            _draw(judged, target)
        mlflow.log_artifacts(str(target), artifact_path=folder, run_id=run_id)
    return metrics


def _draw(evaluation: Evaluation, folder: Path) -> None:
    """The curves of the positive class as pictures, where there are scores of one."""
    if evaluation.scores is None or evaluation.positive is None:
        return
    for kind in CHARTS:
        try:
            evaluation.curve(kind).save(folder / f"{kind}.svg")
        except HeldoutError:
            # Such as a reliability diagram of scores that are no probabilities.
            continue


class Evaluator:
    """What `mlflow.models.evaluate(..., model_type="classifier", evaluators="heldout")` runs.

    Its configuration holds options of `heldout.evaluate`, such as `positive` or `pos_label`, and `prefix`.
    """

    name = "heldout"

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Any = None, **_more: Any) -> bool:  # noqa: ARG003
        """Whether this is a classifier."""
        return model_type == "classifier"

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        model: Any = None,
        evaluator_config: Mapping[str, Any] | None = None,
        predictions: str | None = None,
        **_more: Any,
    ) -> Any:
        """Evaluate the model, or predictions that are there, and log what was found into the run."""
        from mlflow.models.evaluation import EvaluationResult

        config = dict(evaluator_config or {})
        config.setdefault("positive", config.get("pos_label"))
        options = {name: config[name] for name in SETTINGS if config.get(name) is not None}
        evaluation = _judge(model, dataset, options, predictions)
        metrics = log(evaluation, prefix=str(config.get("prefix", "")), run_id=run_id)
        make: Any = EvaluationResult
        return make(metrics=metrics, artifacts={}, run_id=run_id)


def _judge(model: Any, dataset: Any, options: dict[str, Any], column: str | None) -> Evaluation:
    """The model evaluated, with its probabilities where the model behind MLflow's gives any; or predictions alone."""
    truth, features = dataset.labels_data, dataset.features_data
    if model is None:
        return evaluate(truth, **_read_predictions(dataset.predictions_data, column), **options)
    raw = getattr(model, "get_raw_model", lambda: None)()
    if hasattr(raw, "classes_") and hasattr(raw, "predict"):
        return evaluate(raw, features, truth, **options)
    return evaluate(truth, **_read_predictions(model.predict(features), column), **options)


def _read_predictions(found: Any, column: str | None) -> dict[str, Any]:
    """Predicted classes, or scores where the values are numbers that are no classes."""
    if hasattr(found, "columns"):
        names = list(found.columns)
        found = found[column if column in names else names[0]]
    values = np.asarray(found)
    is_score = values.dtype.kind == "f" and bool((values != np.floor(values)).any())
    return {"score" if is_score or values.ndim == 2 else "predicted": values}


def _import_mlflow() -> Any:
    require_extra("mlflow", "Logging into MLflow")
    import mlflow

    return mlflow
