"""Fifteen daily jobs in six libraries: every snippet runs, its answer holds the figures, and its lines are counted."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import warnings
from typing import Any

import numpy as np
import pytest
from docs import jobs_page
from docs.jobs_page import LIBRARIES, OURS, Job
from tests.jobs import data

from heldout.measures.catalogue import CATALOGUE, unregister

JOBS = {job.key: job for job in jobs_page.read_jobs()}
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?")
# The folds are not the same ones in every library.
ROUGH = {"cv_accuracy": 0.04, "cv_roc_auc": 0.03}
SHOWN = 0.00051


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The data, and for MLflow a store of its own with the models logged, without our evaluator among its own."""
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as settings, contextlib.chdir(folder), warnings.catch_warnings():
        settings.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        # What other libraries warn of is theirs.
        warnings.simplefilter("ignore")
        import matplotlib as mpl
        import mlflow
        from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry

        mpl.use("agg")
        # Nobody looks at these pictures, and most of the time goes into their ticks.
        ticks: Any = ("xtick.bottom", "xtick.labelbottom", "ytick.left", "ytick.labelleft")
        mpl.rcParams.update({"savefig.dpi": 10, **dict.fromkeys(ticks, False)})
        mlflow.set_tracking_uri((folder / "runs").as_uri())
        names = data.share_names()
        uris = {}
        for name, model in zip(("model_uri", "other_uri", "third_uri"), names["models"].values(), strict=True):
            logged = mlflow.sklearn.log_model(model, name="model", pip_requirements=[], serialization_format="pickle")
            uris[name] = logged.model_uri
        taken = _model_evaluation_registry._registry.pop("heldout", None)
        before = set(CATALOGUE)
        yield {**names, **uris}
        for name in set(CATALOGUE) - before:
            unregister(name)
        if taken is not None:
            _model_evaluation_registry._registry["heldout"] = taken
        mlflow.set_tracking_uri("")
        mpl.rcdefaults()


def run_snippet(code: str, names: dict[str, Any]) -> str:
    """What a notebook's cell would show: what was printed, and the value of the last expression."""
    shown = io.StringIO()

    def display(value: Any) -> None:
        html = getattr(value, "_repr_html_", lambda: None)()
        print(value, re.sub(r"<[^>]*>", " ", html or ""), file=shown)

        # What a search found is asked for after it is shown.
        print(getattr(value, "best_score_", ""), file=shown)

    tree = ast.parse(code)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.copy_location(ast.Assign([ast.Name("_", ast.Store())], last.value), last)
    scope = {**names, "display": display}
    with contextlib.redirect_stdout(shown):
        exec(compile(ast.fix_missing_locations(tree), "<snippet>", "exec"), scope)
        if isinstance(last, ast.Expr) and scope["_"] is not None:
            display(scope["_"])
    return shown.getvalue()


def run_job(job: Job, library: str, shared: dict[str, Any]) -> str:
    """What a library shows of a job, with what it logged into MLflow."""
    import matplotlib.pyplot as plt
    import mlflow

    names = data.share_tensors(shared) if library == "torchmetrics" else dict(shared)
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        with mlflow.start_run() as run:
            shown = run_snippet(job.snippets[library].code, names)
        plt.close("all")
        names["start_again"]()
        if job.key == "mlflow":
            shown += str(mlflow.get_run(run.info.run_id).data.metrics)
    return shown


def find_lacking(shown: str, figures: dict[str, list[float]], wanted: tuple[str, ...]) -> list[str]:
    """The figures that are not among the numbers that were shown, to three digits."""
    numbers = np.array([float(number) for number in NUMBER.findall(shown)] or [np.inf])
    return [
        f"{name} {value:.4f}"
        for name in wanted
        for value in figures[name]
        if np.abs(np.abs(numbers) - abs(value)).min() > ROUGH.get(name, SHOWN if abs(value) < 1 else 10 * SHOWN)
    ]


@pytest.fixture(scope="module")
def figures(shared):
    return data.find_figures(shared)


@pytest.mark.parametrize(
    ("key", "library"), [(job.key, name) for job in JOBS.values() for name, one in job.snippets.items() if one.code]
)
def test_a_snippet_runs_and_shows_what_it_is_said_to(key, library, shared, figures):
    job = JOBS[key]
    lacks = re.findall(r"\w+", job.snippets[library].said.partition("Lacks ")[2])
    wanted = tuple(name for name in job.figures if name not in lacks)
    assert find_lacking(run_job(job, library, shared), figures, wanted) == []
    assert library != OURS or wanted == job.figures


def test_a_gate_fails_a_model_that_is_not_good_enough(shared):
    worse = 1 - shared["proba"]
    flipped = {"predicted": 1 - shared["predicted"], "proba": worse, "score": worse[:, 1], "y_test": shared["y_test"]}
    poor = {**shared, **flipped, "model": shared["tree"], "y_test": 1 - shared["y_test"]}
    ours = JOBS["gate"].snippets[OURS].code
    with pytest.raises(Exception, match="recall"):
        run_snippet(ours, poor)
    with pytest.raises(AssertionError):
        run_snippet(JOBS["gate"].snippets["scikit-learn"].code, {**shared, **flipped})


def test_nobody_does_a_job_in_fewer_lines_and_every_library_is_asked():
    assert len(JOBS) == 15
    for job in JOBS.values():
        assert tuple(job.snippets) == LIBRARIES
        least = min(one.lines for one in job.snippets.values() if one.code)
        assert job.snippets[OURS].lines == least, f"{job.title}: {[one.cell for one in job.snippets.values()]}"
        # What a peer cannot do, or lacks, is said.
        assert all(one.said for one in job.snippets.values()), job.title


def test_lines_are_counted_as_they_are_formatted():
    long = f"f({', '.join(f'argument_{at}={at}' for at in range(12))})"
    counts = jobs_page.count_lines({"one": "x = f(\n    1,\n    2,\n)\n", "long": long, "split": "a = 1; b = 2"})
    assert counts["one"] == 1
    assert counts["long"] > 1
    assert counts["split"] == 2


def test_the_page_of_jobs_says_what_was_counted():
    assert jobs_page.PAGE.read_text(encoding="utf-8") == jobs_page.page(), "run `make docs`"
