"""Experiments with known truth: how one is declared, and how its draws are made, alike by any number of processes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from heldout.arguments import closest, listing, method_key
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.lab.parameters import PARAMETERS, list_all
from heldout.resampling.workers import WORTHWHILE, Jobs, Progress, Ticker, check_jobs, run_by_processes
from heldout.synonyms import refuse_too_many, takes_synonyms, translate

if TYPE_CHECKING:
    from heldout.lab.demonstration import Demonstration, Observed

P = ParamSpec("P")
# Draws are made in at most this many parts, each with its own random numbers, so any worker can make any part.
PARTS = 64
# The modules that declare experiments, in the order of the list.
MODULES = ("intervals_and_tests", "error_estimates", "decisions")
# Parameters of how it is run, not of the experiment.
RUNNING = ("jobs", "progress")


@dataclass(frozen=True)
class Experiment:
    """One experiment as it was declared: what is asked, what the notes say, what is measured, and what one should see.

    `series` is what its lines are called by, `at` what runs along the axis, nothing where nothing does.

    >>> import heldout
    >>> heldout.lab.find_experiments()["coverage"].at
    'n'
    """

    name: str
    title: str
    question: str
    claim: str
    source: str
    see: str
    measured: str
    series: str
    at: str
    function: Callable[..., Demonstration]

    @property
    def parameters(self) -> Mapping[str, inspect.Parameter]:
        """What it can be told, with its usual values."""
        return inspect.signature(self.function).parameters

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of the command line that it takes."""
        return tuple(name for name in self.parameters if name != "progress")


EXPERIMENTS: dict[str, Experiment] = {}
"""Every experiment that was declared so far, by its name; `find_experiments` knows them all."""


@takes_synonyms
def find_experiments() -> dict[str, Experiment]:
    """Every experiment, by the name that the command line knows it by.

    >>> list(find_experiments())[:3]
    ['coverage', 'type-one-error', 'power']
    """
    places = {import_module(f"heldout.lab.{module}").__name__: place for place, module in enumerate(MODULES)}
    # One that was used by its name before was declared before the others.
    return dict(sorted(EXPERIMENTS.items(), key=lambda item: places.get(item[1].function.__module__, len(places))))


def find_experiment(name: str) -> Experiment:
    """The experiment of that name, with hyphens or underscores.

    >>> find_experiment("best_of_k").name
    'best-of-k'
    """
    known = find_experiments()
    key = method_key(name)
    if key not in known:
        near = closest(key, known)
        raise OptionError(
            f"There is no experiment {name!r}. There are: {listing(known, most=len(known))}.",
            hint=f"did you mean {near!r}?" if near else "'heldout lab' says what each of them asks.",
        )
    return known[key]


def experiment(
    *, title: str, question: str, claim: str, source: str, see: str, measured: str, series: str, at: str = ""
) -> Callable[[Callable[P, Observed]], Callable[P, Demonstration]]:
    """Declare a function as an experiment; its arguments are named among `PARAMETERS`, which check and explain them.

    An argument whose usual value is a tuple may have several values; of any other there is one.
    """

    def declare(function: Callable[P, Observed]) -> Callable[P, Demonstration]:
        signature = inspect.signature(function)
        name = function.__name__.replace("_", "-")

        @wraps(function)
        def run(*given: P.args, **options: P.kwargs) -> Demonstration:
            from heldout.lab.demonstration import Demonstration

            refuse_too_many(name, signature.parameters, given)
            bound = signature.bind(*given, **translate(name, signature.parameters, given, options))
            bound.apply_defaults()
            values = {key: _settle(name, signature.parameters[key], value) for key, value in bound.arguments.items()}
            observed = function(**values)  # type: ignore[call-arg]
            used = {key: value for key, value in values.items() if key not in observed.unused}
            return Demonstration(
                name, _describe(used), observed.figures, observed.sentence, observed.lines, observed.notes
            )

        vars(run)["__signature__"] = signature.replace(return_annotation="Demonstration")
        run.__annotations__ = {**function.__annotations__, "return": "Demonstration"}
        run.__doc__ = _document(function, signature)
        EXPERIMENTS[name] = Experiment(name, title, question, claim, source, see, measured, series, at, run)
        return run

    return declare


def _settle(experiment: str, parameter: inspect.Parameter, value: Any) -> Any:
    """The value of a parameter, checked; one where the experiment takes one."""
    name = parameter.name
    if name == "jobs":
        check_jobs(value)
        return value
    checked = PARAMETERS[name].check(name, value)
    if isinstance(parameter.default, tuple) or not isinstance(checked, tuple) or parameter.default is None:
        return checked
    if len(list_all(name, checked)) > 1:
        raise OptionError(
            f"{experiment} takes one {name}. Got {', '.join(map(str, checked))}.", hint=f"such as {parameter.default}."
        )
    return checked[0]


def _describe(values: Mapping[str, Any]) -> dict[str, object]:
    """The parameters as plain values, which a document can hold."""

    def plain(value: Any) -> object:
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        if isinstance(value, str | int | float):
            return value
        return getattr(value, "text", None) or type(value).__name__

    return {name: plain(value) for name, value in values.items() if name not in RUNNING and value is not None}


def _document(function: Callable[..., Any], signature: inspect.Signature) -> str:
    """The docstring with every parameter, as it was declared, before the examples."""
    head, examples, tail = inspect.cleandoc(function.__doc__ or "").partition("Examples\n")
    lines = ["Parameters", "----------"]
    for name in signature.parameters:
        declared = PARAMETERS[name]
        lines += [f"{name} : {declared.kind}", f"    {declared.help}"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join([head.rstrip(), "", *lines, "", examples + tail]))


def simulate(
    draw: Callable[[np.random.Generator, int], Floats], draws: int, *, seed: int, jobs: Jobs, progress: Progress
) -> Floats:
    """All draws, one below the other: `draw` makes so many of them with the random numbers that it is given.

    The draws are made in parts that depend on their number alone, and each part has its own random numbers, so that the
    figures do not depend on how many processes make them.

    >>> made = simulate(lambda rng, count: rng.random((count, 2)), 5, seed=0, jobs=1, progress=False)
    >>> made.shape
    (5, 2)
    """
    size = -(-draws // PARTS)
    parts = [(draw, seed, start, min(size, draws - start)) for start in range(0, draws, size)]
    results = []
    with Ticker(draws, progress, "Drawing") as ticker:
        for part in _make_parts(parts, jobs):
            results.append(part)
            ticker.tick(len(part))
    return np.concatenate(results)


def _make_parts(parts: list[tuple[Any, ...]], jobs: Jobs) -> Iterator[Floats]:
    left, began = list(parts), perf_counter()
    if jobs == "auto":
        yield _make_part(*left.pop(0))
        jobs = -1 if (perf_counter() - began) * len(left) > WORTHWHILE else 1
    if jobs in (None, 1) or len(left) < 2:
        yield from (_make_part(*part) for part in left)
        return
    yield from run_by_processes(_make_part, left, jobs)


def _make_part(draw: Callable[[np.random.Generator, int], Floats], seed: int, start: int, count: int) -> Floats:
    return np.asarray(draw(np.random.default_rng([seed, start]), count))
