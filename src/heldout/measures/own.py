"""Measures of one's own: a formula over counts, or any function of the cases, found by its name once it is declared."""

from __future__ import annotations

import ast
import copy
import inspect
import math
import operator
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args, overload

import numpy as np

from heldout.arguments import closest, listing
from heldout.errors import HeldoutError, OptionError, first_line
from heldout.measures.catalogue import register, spelled
from heldout.measures.cells import AGGREGATES, CORNERS, SUMS, WHOLE_TABLE, class_cells
from heldout.measures.declare import Direction, Headline, Measure, Scope, write_formula
from heldout.synonyms import takes_synonyms

Needs = Literal["predicted", "score"]
# What functions call a column of weights, and the scores of the cases.
WEIGHTS = ("sample_weight", "weight", "weights")
SCORES = ("score", "scores", "y_score", "y_prob", "y_proba", "proba", "probability", "probabilities", "y_scores")
# How measures are called of which less is better, as scikit-learn names them.
LOSSES = ("_loss", "_error", "_cost", "_errors")
LOSS_NAMES = tuple(ending[1:] for ending in LOSSES)
FIRST = Headline(15, ("screen", "page", "comparison"))
UNDEFINED = "its formula has no value for these counts"
NO_VALUE = "the function gave no number for these cases"
ARITHMETIC = (
    "use + - * / ** and NumPy's functions, not if, max or math: it is run on arrays of tables; or declare it with "
    "heldout.metric."
)


# What a person writes for a formula without a function: its name, and arithmetic over counts.
DECLARATION = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*=(?!=)(?P<formula>[^=]+)")
LONGEST_FORMULA, HIGHEST_POWER = 500, 16


@overload
def measure(
    formula: Callable[..., Any] | str,
    *,
    symbol: str = ...,
    aliases: Sequence[str] = ...,
    low: float | None = ...,
    high: float | None = ...,
    direction: Direction | None = ...,
    undefined: str = ...,
    reference: str = ...,
) -> Measure: ...
@overload
def measure(
    formula: None = None,
    *,
    symbol: str = ...,
    aliases: Sequence[str] = ...,
    low: float | None = ...,
    high: float | None = ...,
    direction: Direction | None = ...,
    undefined: str = ...,
    reference: str = ...,
) -> Callable[[Callable[..., Any]], Measure]: ...
@takes_synonyms
def measure(
    formula: Callable[..., Any] | str | None = None,
    *,
    symbol: str = "",
    aliases: Sequence[str] = (),
    low: float | None = None,
    high: float | None = None,
    direction: Direction | None = None,
    undefined: str = "",
    reference: str = "",
) -> Measure | Callable[[Callable[..., Any]], Measure]:
    """Declare your own measure by its formula; from then on every function and report knows it by its name.

    The formula names the counts that it needs: tp, fp, fn and tn of one class against the rest, or of all cases
    `table`, the confusion matrix with a row for each true class, or sums over it such as `correct`, `wrong` and `n`. It
    returns a numerator and a denominator, or a value, in plain arithmetic. A share of the cases gets Wilson's interval,
    anything else the quantiles of the posterior of the counts. Keyword-only arguments are parameters. A formula of one
    line can be written as text, name and arithmetic, here and among the `measures` of any function or command.

    Parameters
    ----------
    formula : function or str, optional
        The function that is decorated; its name is that of the measure, its first line of documentation what it is. Or
        a text such as "alarm_cost = (fp + 5 * fn) / (tp + fp)".
    symbol : str
        A short sign for tables.
    aliases : list of str
        Other names that it is known by.
    low : float, optional
        The least value that it can have; 0 for a share, otherwise unlimited by default.
    high : float, optional
        The largest value that it can have; 1 for a share, otherwise unlimited by default.
    direction : {'higher', 'lower', 'zero', 'none'}, optional
        "higher" or "lower" is better, "zero" or "none"; lower where the name ends in _loss, _error or _cost.
    undefined : str
        When it has no value, in words that follow "because".
    reference : str
        Where it comes from.

    >>> import heldout
    >>> @heldout.measure(direction="lower", low=0)
    ... def alarms_per_find(tp, fp):
    ...     '''How many alarms it takes to find one.'''
    ...     return tp + fp, tp
    >>> print(heldout.evaluate([1] * 40 + [0] * 60, [1] * 30 + [0] * 50 + [1] * 20)["alarms_per_find"])
    alarms_per_find[1] 1.67 [1.38 – 2.16] (0.95 dirichlet, n = 100)
    >>> print(heldout.evaluate([1, 1, 0, 0], [1, 0, 1, 0])[heldout.measure("misses_per_case = fn / n")].value)
    0.25
    >>> from heldout.measures.catalogue import unregister
    >>> unregister("alarms_per_find"), unregister("misses_per_case")
    (None, None)

    """

    def declare(function: Callable[..., Any]) -> Measure:
        name = _check_name(function, None)
        arguments = inspect.signature(function).parameters.values()
        cells = tuple(a.name.casefold() for a in arguments if a.kind is a.POSITIONAL_OR_KEYWORD)
        parameters = {a.name: a.default for a in arguments if a.kind is a.KEYWORD_ONLY}
        scope = _find_scope(name, cells)
        guarded = (OwnTableFormula if cells == (WHOLE_TABLE,) else OwnFormula)(function, name)
        is_share = scope == "class" and _try_out(guarded, name, cells, parameters)
        ends = (0.0, 1.0) if is_share else (-math.inf, math.inf)
        return register(
            _make(
                function,
                guarded,
                name=name,
                symbol=symbol,
                aliases=tuple(aliases),
                kind="proportion" if is_share else "agreement",
                scope=scope,
                low=ends[0] if low is None else float(low),
                high=ends[1] if high is None else float(high),
                direction=_find_direction(name, direction),
                undefined=undefined or UNDEFINED,
                reference=reference or "your own",
                averages=scope == "class",
                formula_text=_read_formula(function, cells),
                cells=cells,
                parameters=parameters,
            )
        )

    if isinstance(formula, str):
        formula = WrittenFormula.read(formula)
    return declare if formula is None else declare(formula)


def is_declaration(text: object) -> bool:
    """Whether a text declares a measure, as "alarm_cost = (fp + 5 * fn) / (tp + fp)" does.

    >>> is_declaration("miss_cost = 5 * fn / n"), is_declaration("f_score(beta=2)"), is_declaration("recall[sex=f]")
    (True, False, False)
    """
    return isinstance(text, str) and DECLARATION.fullmatch(text) is not None


class WrittenFormula:
    """A formula that was written as text: called like the function that it stands for."""

    def __init__(self, name: str, tree: ast.expr) -> None:
        self.__name__ = name
        self.__doc__ = f"{name} = {ast.unparse(tree)}"
        # In the order in which they stand there, each once.
        names = sorted((n for n in ast.walk(tree) if isinstance(n, ast.Name)), key=lambda n: (n.lineno, n.col_offset))
        self.cells = tuple(dict.fromkeys(node.id for node in names))
        by_place = inspect.Parameter.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature([inspect.Parameter(cell, by_place) for cell in self.cells])
        # A quotient is undefined where what it is divided by is 0, so its parts are kept apart.
        whole = isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Div)
        self.parts = (tree.left, tree.right) if whole and isinstance(tree, ast.BinOp) else (tree,)

    @classmethod
    def read(cls, text: str) -> WrittenFormula:
        """The formula of a text, refused where it is more than arithmetic over counts."""
        match = DECLARATION.fullmatch(text) if len(text) <= LONGEST_FORMULA else None
        hint = "write its name and + - * / ** over tp, fp, fn, tn and n: 'alarm_cost = (fp + 5 * fn) / (tp + fp)'."
        try:
            tree = None if match is None else ast.parse(match["formula"].strip().casefold(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = None
        if match is None or tree is None:
            raise OptionError(f"{text[:80]!r} is no formula of a measure.", hint=hint)
        for node in ast.walk(tree):
            if isinstance(node, ast.expr) and not _is_arithmetic(node):
                raise OptionError(
                    f"{ast.unparse(node)[:60]!r} in the formula of {match['name']} is no arithmetic.", hint=hint
                )
        return cls(match["name"], tree)

    def __call__(self, *cells: Any) -> Any:
        """The value for these counts, of a quotient its two parts."""
        named = dict(zip(self.cells, cells, strict=True))
        values = tuple(_calculate(part, named) for part in self.parts)
        return values if len(values) == 2 else values[0]

    def source(self) -> ast.AST:
        """What the function that it stands for returns; a copy, since whoever writes it down changes its letters."""
        parts = copy.deepcopy(self.parts)
        return ast.Return(parts[0] if len(parts) == 1 else ast.Tuple(list(parts), ast.Load()))


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def _is_arithmetic(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        # A tower of powers of whole numbers would be reckoned for ever.
        power = node.right.value if isinstance(node.right, ast.Constant) else None
        return isinstance(power, int | float) and abs(power) <= HIGHEST_POWER
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        return type(node.op) in _OPERATORS
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and type(node.value) in (int, float))


def _calculate(node: ast.expr, named: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_calculate(node.left, named), _calculate(node.right, named))
    if isinstance(node, ast.UnaryOp):
        return _OPERATORS[type(node.op)](_calculate(node.operand, named))
    return named[node.id] if isinstance(node, ast.Name) else float(node.value)  # type: ignore[attr-defined]


@takes_synonyms
def metric(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    needs: Needs | None = None,
    direction: Direction | None = None,
    low: float = -math.inf,
    high: float = math.inf,
    undefined: str = "",
    reference: str = "",
) -> Any:
    """Declare any function of the true and the predicted classes, or of the scores, as a measure with an interval.

    Its interval is that of the bootstrap over the cases, over whole groups where there are groups; two classifiers are
    compared by drawing the same cases for both. It is called with arrays: the true classes, then the predicted ones or
    the scores (one for each case, or a column for each class), and the weights by name where there are weights and it
    takes `sample_weight` or `weight`.

    Parameters
    ----------
    function : function, optional
        Such as one of scikit-learn's metrics; it returns one number. Also used as a decorator.
    name : str, optional
        What it is called; by default the name of the function.
    needs : {'predicted', 'score'}, optional
        "predicted" or "score"; by default told by the name of the second argument.
    direction : {'higher', 'lower', 'zero', 'none'}, optional
        "higher" or "lower" is better, "zero" or "none"; lower where the name ends in _loss, _error or _cost.
    low : float
        The least value that it can have.
    high : float
        The largest value that it can have.
    undefined : str
        When it has no value, in words that follow "because".
    reference : str
        Where it comes from.

    >>> import heldout
    >>> def share_of_near_misses(truth, predicted):
    ...     '''Share of the cases that are off by one grade.'''
    ...     return (abs(truth - predicted) == 1).mean()
    >>> near = heldout.metric(share_of_near_misses, direction="lower", low=0, high=1)
    >>> print(heldout.evaluate([1, 2, 3, 4] * 25, [1, 2, 3, 3] * 25)[near])
    share_of_near_misses .250 [.170 – .340] (0.95 bootstrap, n = 100)
    >>> from heldout.measures.catalogue import unregister
    >>> unregister("share_of_near_misses")

    """

    def declare(given: Callable[..., Any]) -> Measure:
        called = _check_name(given, name)
        asked = _read_signature(given, called, needs)
        return register(
            _make(
                given,
                OwnFunction(given, called, _find_weights(given)),
                name=called,
                symbol="",
                kind="agreement",
                scope="cases",
                low=float(low),
                high=float(high),
                direction=_find_direction(called, direction),
                undefined=undefined or NO_VALUE,
                reference=reference or "your own",
                formula_text=f"{called}(truth, {asked})",
                cells=("truth", asked),
            )
        )

    return declare if function is None else declare(function)


def declare_any(target: Any, text: str) -> Measure:
    """What a name such as module:name leads to as a measure: one that is declared, or a function, by its arguments."""
    if isinstance(target, Measure):
        return register(target) if target.own else target
    if not callable(target):
        raise OptionError(
            f"{text!r} is of type {type(target).__name__}, and no measure.",
            hint="name a function of tp, fp, fn, tn, or of the true and the predicted classes.",
        )
    names = {name.casefold() for name in inspect.signature(target).parameters}
    declared: Measure = measure(target) if names & {*CORNERS, WHOLE_TABLE} else metric(target)
    return declared


def _make(
    function: Callable[..., Any],
    guarded: Callable[..., Any],
    *,
    scope: Scope,
    **facts: Any,
) -> Measure:
    summary = next(iter((function.__doc__ or "").strip().splitlines()), "") or "A measure of your own."
    return Measure(
        summary=summary, scope=scope, per_class=scope == "class", function=guarded, headline=FIRST, own=True, **facts
    )


def _check_name(function: Any, given: str | None) -> str:
    name = str(given if given is not None else getattr(function, "__name__", ""))
    if not name or name == "<lambda>" or any(sign in name for sign in "[](),=<>:"):
        raise OptionError(
            f"A measure needs a name that can be written in a requirement. Got {name!r}.",
            hint="give the function a name, or pass name='cost_per_alarm'.",
        )
    return spelled(name)


def _find_direction(name: str, given: Direction | None) -> Direction:
    if given is None:
        return "lower" if name.endswith(LOSSES) or name in LOSS_NAMES else "higher"
    known = get_args(Direction)
    if given not in known:
        *some, last = map(repr, known)
        raise OptionError(
            f"The direction of {name} must be {', '.join(some)} or {last}. Got {given!r}.",
            hint="say which is better: direction='lower'.",
        )
    return given


def _find_scope(name: str, cells: tuple[str, ...]) -> Scope:
    """Whether a formula is about one class or about all cases, by the counts that it names."""
    if cells == (WHOLE_TABLE,):
        return "table"
    scope: Scope = "class" if set(cells) & set(CORNERS) else "table"
    known = [*CORNERS, *SUMS] if scope == "class" else list(AGGREGATES)
    unknown = [cell for cell in cells if cell not in known]
    if unknown or not cells:
        what = f"names {unknown[0]!r}, which is no count" if unknown else "names no counts"
        hint = f"there are: {listing([*CORNERS, 'n', 'correct', 'wrong', WHOLE_TABLE])}."
        near = closest(unknown[0], known) if unknown else None
        raise OptionError(f"The formula of {name} {what}.", hint=f"did you mean {near!r}?" if near else hint)
    return scope


@dataclass(frozen=True)
class OwnFormula:
    """A formula as a numerator and a denominator, without warnings, and with words where it fails."""

    function: Callable[..., Any]
    name: str

    def __call__(self, *cells: Any, **parameters: Any) -> tuple[Any, Any]:
        """The numerator and the denominator for these counts."""
        # NumPy's numbers give no value where Python's would fail, as in a division by 0.
        numbers = [np.asarray(cell)[()] if isinstance(cell, int | float | complex) else cell for cell in cells]
        try:
            with np.errstate(all="ignore"):
                result = self.function(*numbers, **parameters)
        except HeldoutError:
            raise
        except Exception as error:
            raise _failed(self.name, error, "check it with the counts of a small table.") from error
        return _as_pair(result, self.name)


@dataclass(frozen=True)
class OwnTableFormula(OwnFormula):
    """A formula of one table as one of many: called for each."""

    def __call__(self, *cells: Any, **parameters: Any) -> tuple[Any, Any]:
        """The numerators and the denominators for one table, or for many of them."""
        tables = np.asarray(cells[0])
        if tables.ndim <= 2:
            return super().__call__(cells[0], **parameters)
        flat = tables.reshape(-1, *tables.shape[-2:])
        tops, bottoms = zip(*(super(OwnTableFormula, self).__call__(each, **parameters) for each in flat), strict=True)
        return np.reshape(tops, tables.shape[:-2]), np.reshape(bottoms, tables.shape[:-2])


@dataclass(frozen=True)
class OwnFunction:
    """A function of the cases with its weights by one name, refused where it takes none; it must give one number."""

    function: Callable[..., Any]
    name: str
    weighted_by: str

    def __call__(self, *values: Any, weight: Any = None, positive: Any = None) -> tuple[Any, Any]:
        """The value for these cases, and 1 as its denominator; of two classes one is `positive`."""
        if weight is not None and not self.weighted_by:
            raise OptionError(
                f"The cases have weights, and {self.name} takes none.",
                hint="give it an argument sample_weight, or leave out weight.",
            )
        more = {} if weight is None else {self.weighted_by: weight}
        if positive is not None:
            values, more = self._say_positive(values, more, positive)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = self.function(*values, **more)
        except HeldoutError:
            raise
        except Exception as error:
            hint = "it is called with two arrays: the true classes, then the predicted ones or the scores."
            raise _failed(self.name, error, hint) from error
        value = np.asarray(result)
        if value.size != 1 or value.dtype.kind == "c":
            raise _no_number(self.name, result)
        return float(_as_pair(value.reshape(-1)[0], self.name)[0]), 1.0

    def _say_positive(self, values: Any, more: dict[str, Any], positive: Any) -> tuple[Any, dict[str, Any]]:
        """The same with the positive class in scikit-learn's words, which otherwise takes the last one for it.

        By its argument pos_label, unless that was settled before; or, of scores, by 0 and 1 for the classes.
        """
        function = self.function.func if isinstance(self.function, partial) else self.function
        settled = self.function.keywords if isinstance(self.function, partial) else {}
        if _takes(function, "pos_label"):
            return values, {"pos_label": positive, **settled, **more}
        of_scikit_learn = str(getattr(function, "__module__", "")).partition(".")[0] == "sklearn"
        truth, other = values
        if of_scikit_learn and other.ndim == 1 and other.dtype.kind == "f":
            return ((truth == positive).astype(np.int64), other), more
        return values, more


def _no_number(name: str, result: Any) -> OptionError:
    return OptionError(
        f"The measure {name} returned {str(result)[:60]!r} ({type(result).__name__}), and no number.",
        hint="return a number, or a numerator and a denominator.",
    )


def _as_pair(result: Any, name: str) -> tuple[Any, Any]:
    pair: tuple[Any, ...] = result if isinstance(result, tuple) else (result, 1.0)
    if len(pair) != 2 or any(not _is_number(part) for part in pair):
        raise _no_number(name, result)
    if isinstance(result, tuple) or hasattr(result, "expression"):
        return pair[0], pair[1]
    values = np.asarray(result)
    return np.where(np.isfinite(values), values, np.nan)[()], 1.0


def _is_number(part: Any) -> bool:
    # A symbol stands for a number where a report writes the formula down.
    return hasattr(part, "expression") or np.asarray(part).dtype.kind in "biufc"


def _try_out(formula: Callable[..., Any], name: str, cells: tuple[str, ...], parameters: dict[str, Any]) -> bool:
    """Whether the formula is a share of the cases; refused where it cannot be run on arrays or complex numbers."""
    corners = np.array([[31.0, 7.0, 11.0, 53.0], [5.0, 17.0, 3.0, 29.0], [2.0, 3.0, 5.0, 7.0]])

    def run(tables: Any) -> tuple[Any, Any]:
        named = class_cells(*np.moveaxis(tables, -1, 0))
        top, bottom = formula(*(named[cell] for cell in cells), **parameters)
        return top, bottom

    try:
        together = [np.broadcast_to(part, 3) for part in run(corners)]
        alone = [[np.asarray(part) for part in run(table)] for table in corners]
        run(corners + 1e-20j)
    except (HeldoutError, ValueError) as error:
        reason = first_line(error.__cause__ or error)
        raise OptionError(f"The formula of {name} cannot be run on arrays: {reason}.", hint=ARITHMETIC) from error
    if not all(np.allclose(part, [one[at] for one in alone], equal_nan=True) for at, part in enumerate(together)):
        raise OptionError(f"The formula of {name} gives other values for arrays than for numbers.", hint=ARITHMETIC)
    try:
        top, bottom = (np.broadcast_to(part, 4) for part in run(np.eye(4)))
    except ValueError:
        top = bottom = np.array(1j)
    if np.iscomplexobj(top) or np.iscomplexobj(bottom):
        raise OptionError(f"The formula of {name} does not give one number for each table.", hint=ARITHMETIC)
    linear = all(np.allclose(part, corners @ weights) for part, weights in zip(together, (top, bottom), strict=True))
    parts = (set(top.tolist()) | set(bottom.tolist())) <= {0.0, 1.0}
    return bool(linear and parts and (top <= bottom).all() and bottom.any())


def _read_formula(function: Callable[..., Any], cells: tuple[str, ...]) -> str:
    """The formula in the letters of a textbook where its source can be read, otherwise its name and counts."""
    written = f"{getattr(function, '__name__', 'formula')}({', '.join(cells)})"
    if isinstance(function, WrittenFormula):
        return write_formula(function.source())
    try:
        return write_formula(ast.parse(textwrap.dedent(inspect.getsource(function))))
    except (OSError, TypeError, SyntaxError, StopIteration):
        return written


def _read_signature(function: Callable[..., Any], name: str, needs: Needs | None) -> Needs:
    """Whether a function takes the predicted classes or the scores after the truth."""
    if needs not in (None, "predicted", "score"):
        raise OptionError(
            f"{name} can need 'predicted' or 'score'. Got {needs!r}.", hint="leave it out, or say needs='score'."
        )
    if needs is not None:
        return needs
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return "predicted"
    return "score" if len(names) > 1 and names[1].casefold() in SCORES else "predicted"


def _takes(function: Callable[..., Any], name: str) -> bool:
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def _find_weights(function: Callable[..., Any]) -> str:
    """What a function calls the weights of the cases; empty where it takes none."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return WEIGHTS[0]
    return next((word for word in WEIGHTS if word in known), "")


def _failed(name: str, error: Exception, hint: str) -> OptionError:
    return OptionError(f"The measure {name} failed: {first_line(error)}.", hint=hint)
