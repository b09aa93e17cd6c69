"""The catalogue: every measure by its name and aliases, and the reading of what a person asks for."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Iterable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import as_float, closest, listing, suggest
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.measures import counts, probability, ranking, tables
from heldout.measures.declare import PARAMETERS, Measure, Scope, Surface
from heldout.measures.quantity import AVERAGES, LARGEST_WRITTEN_BETA, Bound, Quantity
from heldout.synonyms import MEASURES

CATALOGUE: dict[str, Measure] = {
    m.name: m
    for m in (*tables.MEASURES, *counts.MEASURES, *ranking.MEASURES, *ranking.PAIR_MEASURES, *probability.MEASURES)
}
# Those that need no more than counts.
COUNTED: dict[str, Measure] = {name: m for name, m in CATALOGUE.items() if m.scope in ("class", "table")}
# What is shown of every class, and averaged over the classes.
OF_EACH_CLASS = ("precision", "recall", "f1")
NAMED_F = {"f1": 1.0, "f2": 2.0, "f0.5": 0.5}
# The parts of a written quantity: average (scikit-learn and Weka write weighted avg), name, (parameters), [class].
WRITTEN = re.compile(
    r"^\s*(?:(?P<average>macro|micro|weighted)[\s_]+(?:avg\.?[\s_]+)?)?(?P<name>[^\s\[(]++(?:\s++[^\s\[(]++)*+)\s*+"
    r"(?:\((?P<inside>[^)]*+)\))?\s*+(?:\[(?P<class>.*)\])?\s*$",
    re.DOTALL | re.IGNORECASE,
)
# scikit-learn's names of scorers have the average behind: f1_macro, roc_auc_ovr (macro), roc_auc_ovr_weighted.
BEHIND = re.compile(r"^(?P<name>.+?)(?:_ovr(?:_(?P<ovr>weighted))?|_(?P<average>macro|micro|weighted))$")


def settle_usually(measures: Iterable[Measure], costs: Any) -> list[Bound]:
    """These measures with the parameters that they are reported with, those of costs where there are costs.

    >>> [bound.name for bound in settle_usually([counts.f_score, tables.total_cost], None)]
    ['f1', 'f2', 'f0.5']
    """
    bounds: list[Bound] = []
    for measure in measures:
        if measure.name == "f_score":
            bounds += [find(name) for name in NAMED_F]
        elif measure.kind == "cost":
            bounds += [find(measure.name, costs=costs)] if costs is not None else []
        elif measure.own or not measure.parameters:
            bounds.append(find(measure.name))
    return bounds


def spelled(name: str) -> str:
    """A name as it stands in the catalogue: lower case, underscores for spaces and hyphens, no apostrophe."""
    text = re.sub("['’]", "", name.strip().casefold())
    # LR+ and LR- end in a sign that is no separator.
    return re.sub(r"[\s_]+|-(?=.)", "_", text)


def _suggest_measure(name: str) -> str:
    """The hint for a name that is no measure's: what others mean by it, or the name that is near."""
    # torchmetrics and Keras name classes: BinaryF1Score, MulticlassAUROC. scikit-learn's scorers begin with neg_.
    words = spelled(re.sub(r"(?<=[a-z\d])(?=[A-Z])", "_", name.strip()))
    bare = re.sub("^(binary|multiclass|multilabel|neg|avg)_", "", words)
    forms = (spelled(name), words, bare, bare.removesuffix("_score"))
    answer = next((MEASURES[form] for form in forms if form in MEASURES), None)
    if answer:
        return answer
    names = every_name() | dict.fromkeys(NAMED_F, "f_score")
    near = next((form for form in reversed(forms) if form in names), None) or closest(bare, names)
    return f"did you mean {near!r}? " * bool(near) + "'heldout measures' lists them all."


Known = TypeVar("Known")
_FORGET: list[Callable[[], None]] = []


def known_until_registered(function: Callable[..., Known]) -> Callable[..., Known]:
    """Remember what a function makes of the catalogue, until a measure is added to it."""
    remembered = lru_cache(function)
    _FORGET.append(remembered.cache_clear)
    return remembered


def register(measure: Measure) -> Measure:
    """Add a measure of one's own, which then is found by its name everywhere; one of the same name is replaced."""
    names = every_name()
    for name in (measure.name, *map(spelled, measure.aliases)):
        taken = CATALOGUE.get(names.get(name, ""))
        if taken is not None and not taken.own:
            raise OptionError(
                f"The name {name!r} belongs to a measure that there is already: {taken.summary}",
                hint="call yours something else.",
            )
    CATALOGUE[measure.name] = measure
    if measure.scope in ("class", "table"):
        COUNTED[measure.name] = measure
    else:
        COUNTED.pop(measure.name, None)
    for forget in _FORGET:
        forget()
    return measure


def unregister(name: str) -> None:
    """Take a measure of one's own out again."""
    if name in CATALOGUE and CATALOGUE[name].own:
        del CATALOGUE[name]
        COUNTED.pop(name, None)
        for forget in _FORGET:
            forget()


@known_until_registered
def every_name() -> dict[str, str]:
    """Each name, alias and symbol with the measure it stands for."""
    names = {m.name: m.name for m in CATALOGUE.values()}
    for m in CATALOGUE.values():
        names |= dict.fromkeys(m.aliases, m.name)
        # Single letters are left out: J is Jaccard's to some and Youden's to others.
        if len(m.symbol) > 1:
            names.setdefault(m.symbol.casefold(), m.name)
    return names


def find(name: str, *, costs: NDArray[np.float64] | None = None, **parameters: Any) -> Bound:
    """The measure of that name or alias, with its parameters, which may stand behind the name.

    >>> find("sensitivity").name, find("F-measure").name, find("kappa", weights="linear").name
    ('recall', 'f1', 'linear_kappa')
    >>> find("precision_at(k=20)").parameters
    {'k': 20.0}
    """
    return _find(name, costs, parameters) if parameters or costs is not None else _find_usual(name)


@known_until_registered
def _find_usual(name: str) -> Bound:
    """The measure of that name as it is usually asked for; an evaluation and its review ask a thousand times."""
    return _find(name, None, {})


def _find(name: str, costs: NDArray[np.float64] | None, parameters: dict[str, Any]) -> Bound:
    alone, bracket, inside = name.partition("(")
    if bracket and inside.endswith(")"):
        return find(alone, costs=costs, **{**_read_parameters(name, inside[:-1]), **parameters})
    key = spelled(name)
    if key not in every_name():
        # scikit-learn's functions: f1_score, roc_auc_score.
        key = key.removesuffix("_score")
    if re.fullmatch(r"f_?\d+(\.\d+)?", key) and "beta" not in parameters:
        parameters["beta"] = _read_beta(name, key[1:].lstrip("_"))
        key = "f_score"
    names = every_name()
    if key not in names:
        raise OptionError(f"There is no measure {name!r}.", hint=_suggest_measure(name))
    measure = CATALOGUE[names[key]]
    if measure.name == "kappa" and "weights" in parameters:
        measure = _weighted_kappa(str(parameters.pop("weights")))
    unknown = [p for p in parameters if p not in measure.parameters]
    if unknown:
        known = listing(measure.parameters) or "none"
        raise OptionError(
            f"{measure.name} has no parameter {unknown[0]!r}. Its parameters: {known}.",
            hint=_suggest_parameter(unknown[0], tuple(measure.parameters)),
        )
    return Bound(measure, _settled(measure, parameters), costs if measure.kind == "cost" else None)


def _read_beta(name: str, written: str) -> float:
    """The beta in a name such as f2; one that nobody writes so is taken for a slip."""
    if float(written) > LARGEST_WRITTEN_BETA:
        near = closest(f"f{written[0]}", ("f1", "f2"))
        raise OptionError(
            f"There is no measure {name!r}.",
            hint=f"did you mean {near!r}? " * bool(near) + f"With a beta of {written} it is f_score(beta={written}).",
        )
    return float(written)


def _suggest_parameter(name: str, known: Sequence[str]) -> str:
    """The parameter that was most likely meant: the only one, or one that begins alike."""
    near = closest(name, known) or next((x for x in known if x.startswith(name)), known[0] if len(known) == 1 else "")
    return f"did you mean {near}=?" if near else "leave it out."


@known_until_registered
def headline(surface: Surface) -> tuple[Bound, ...]:
    """The measures that a surface shows first, in their order.

    >>> [bound.name for bound in headline("validation")]
    ['accuracy', 'f1', 'roc_auc']
    """
    shown = [(m.headline.place, m.name) for m in CATALOGUE.values() if m.headline and surface in m.headline.surfaces]
    return tuple(find(name) for _, name in sorted(shown))


def headline_quantities(
    surface: Surface, positive: Label | None, macro_too: Container[Scope] = ()
) -> tuple[Quantity, ...]:
    """The same of the positive class, or as macro averages without one; of the scopes in `macro_too` as both.

    >>> [(asked.bound.name, asked.class_, asked.average) for asked in headline_quantities("validation", "yes")]
    [('accuracy', None, None), ('f1', 'yes', None), ('roc_auc', 'yes', None)]
    """
    quantities: list[Quantity] = []
    for bound in headline(surface):
        if bound.measure.overall or bound.measure.scope not in ("class", "ranking"):
            quantities.append(Quantity(bound))
            continue
        if positive is not None:
            quantities.append(Quantity(bound, positive))
        if positive is None or bound.measure.scope in macro_too:
            quantities.append(Quantity(bound, average="macro"))
    return tuple(quantities)


# Below this share of the rarer class accuracy is high whatever a classifier does, and average precision leads.
RARE = 0.2


def is_imbalanced(cases: float, n: float) -> bool:
    """Whether so many cases of a class out of `n` are few enough that accuracy says little.

    >>> is_imbalanced(142, 1000), is_imbalanced(300, 1000), is_imbalanced(0, 0)
    (True, False, False)
    """
    return n > 0 and 0 < cases / n < RARE


def _weighted_kappa(weights: str) -> Measure:
    by_name = {"none": "kappa", "linear": "linear_kappa", "quadratic": "quadratic_kappa"}
    if weights not in by_name:
        raise OptionError(f"kappa has no weights {weights!r}.", hint="use 'none', 'linear' or 'quadratic'.")
    return CATALOGUE[by_name[weights]]


def _settled(measure: Measure, parameters: dict[str, Any]) -> dict[str, Any]:
    settled = dict(measure.parameters)
    for key, given in parameters.items():
        settled[key] = _parameter(measure, key, given)
    weights = [value for key, value in settled.items() if key.startswith("w")]
    if weights and not any(weights):
        raise OptionError(f"The weights of {measure.name} are all zero.", hint="give at least one outcome a weight.")
    if "low" in settled and not settled["low"] < settled["high"]:
        raise OptionError(
            f"low of {measure.name} must lie below high. Got {settled['low']:g} and {settled['high']:g}.",
            hint=f"for example {measure.name}(low=0, high=0.2).",
        )
    return settled


def _parameter(measure: Measure, key: str, given: Any) -> float:
    # The parameters of one's own measures may be any numbers.
    low, high, reached = PARAMETERS.get(key, (-math.inf, math.inf, True)) if measure.own else PARAMETERS[key]
    try:
        value = as_float(given)
    except (TypeError, ValueError):
        value = math.nan
    whole = key != "k" or value == math.floor(value) if math.isfinite(value) else False
    if not whole or not (low <= value if reached else low < value) or value > high:
        kind = "whole" if key == "k" else "positive" if not reached else "not negative"
        end = f" up to {high:g}" if math.isfinite(high) else ""
        what = f"a number that is not negative{end}" if kind == "not negative" else f"a {kind} number{end}"
        what += " from 1 up" if key == "k" and low == 1 else ""
        raise OptionError(
            f"{key} of {measure.name} must be {what}. Got {given!r}.",
            hint=f"for example {measure.name}({key}={measure.parameters[key]:g}).",
        )
    return value


def read_quantity(text: Any, labels: Iterable[Any] = (), *, costs: NDArray[np.float64] | None = None) -> Quantity:
    """Read what a person wrote: "accuracy", "macro f1", "recall[spam]", "f_score(beta=2)[yes]".

    >>> asked = read_quantity("Recall[spam]", ["ham", "spam"])
    >>> asked.bound.name, asked.class_, asked.average
    ('recall', 'spam', None)
    >>> read_quantity("f1_macro").average, read_quantity("roc_auc_ovr_weighted").average
    ('macro', 'weighted')
    """
    if isinstance(text, Measure):
        return Quantity(find(_name_declared(text), costs=costs))
    if not isinstance(text, str):
        hint = "of a function of your own heldout.metric makes a measure." if callable(text) else "such as 'macro f1'."
        raise OptionError(f"A measure is asked for by its name. Got {text!r}.", hint=hint)
    match = WRITTEN.match(text)
    if match is None:
        raise OptionError(
            f"{text!r} does not name a measure.", hint="write for example accuracy, macro f1 or recall[spam]."
        )
    parameters = _read_parameters(text, match["inside"] or "")
    name, average = match["name"], None
    if match["average"]:
        # "weighted accuracy" is a measure of that name, not an average of accuracy.
        whole = f"{match['average']} {name}"
        if spelled(whole) in every_name():
            name = whole
        else:
            average = next(a for a in AVERAGES if a == match["average"].casefold())
    elif (behind := BEHIND.match(spelled(name))) and spelled(name) not in every_name():
        name, average = (
            behind["name"],
            next(a for a in AVERAGES if a == (behind["average"] or behind["ovr"] or "macro")),
        )
    bound = find(name, costs=costs, **parameters)
    if match["class"] is None:
        return Quantity(bound, average=average)
    if average is not None:
        raise OptionError(f"{text!r} asks for one class and for an average.", hint="leave out one of the two.")
    return Quantity(bound, class_=_label(match["class"], labels))


def name_measures(given: Any) -> Any:
    """Measures by their names, where they were given themselves; what is neither is left to whoever reads it.

    A text that declares one, such as "miss_cost = 5 * fn / n", declares it here.

    >>> name_measures([CATALOGUE["recall"], "macro f1"]), name_measures(None)
    (['recall', 'macro f1'], None)
    """
    if isinstance(given, Iterable) and not isinstance(given, str):
        return [name_measures(one) if isinstance(one, str | Measure) else one for one in given]
    if isinstance(given, str) and "=" in given:
        from heldout.measures.own import is_declaration, measure

        return measure(given).name if is_declaration(given) else given
    return _name_declared(given) if isinstance(given, Measure) else given


def _name_declared(measure: Measure) -> str:
    """The name of a measure, refused where another one has it by now: that would be shown for both."""
    if measure.own and CATALOGUE.get(measure.name, measure) != measure:
        raise OptionError(
            f"The measure {measure.name!r} was declared anew after this one.",
            hint="give each its own name: heldout.metric(function, name='mine').",
        )
    return measure.name


def _read_parameters(text: str, inside: str) -> dict[str, Any]:
    """The parameters between the brackets of what a person wrote."""
    parameters: dict[str, Any] = {}
    for part in filter(None, inside.split(",")):
        key, equals, value = part.partition("=")
        if not equals:
            raise OptionError(
                f"{part.strip()!r} in {text!r} is not a parameter.",
                hint="write it as name=value, e.g. beta=2.",
            )
        parameters[key.strip()] = value.strip()
    return parameters


def _label(text: str, labels: Iterable[Any]) -> Any:
    by_text = {str(label): label for label in labels}
    # As it is written, without the blanks or quotes around it, or in another case where that leaves no doubt.
    forms = (text, text.strip(), text.strip().strip("'\""))
    wanted = next((form for form in forms if form in by_text), forms[-1])
    folded = [name for name in by_text if name.casefold() == wanted.casefold()]
    if wanted not in by_text and len(folded) == 1:
        wanted = folded[0]
    if wanted not in by_text:
        raise OptionError(
            f"There is no class {wanted!r}. The classes are: {listing(by_text)}.",
            hint=suggest(wanted, by_text),
        )
    return by_text[wanted]
