"""Explanations: a measure or a rule of the catalogue in full, and how each number of a report was made."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from heldout.curves.decision import net_formula
from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.findings.review import RULE_CATALOGUE, find_rule
from heldout.findings.rule import Rule
from heldout.intervals.case_bootstrap import BOOTSTRAP, BY_GROUPS
from heldout.intervals.count_estimator import default_count_method
from heldout.intervals.estimate import Estimate
from heldout.intervals.fold_estimates import FOLD_METHODS, FoldEstimate
from heldout.intervals.methods import METHODS
from heldout.intervals.score_methods import default_score_method, explain_method
from heldout.measures.catalogue import CATALOGUE, COUNTED, find
from heldout.measures.cells import WHOLE_TABLE, class_cells, evidence_cells
from heldout.measures.declare import Measure
from heldout.measures.quantity import Bound, micro_cells
from heldout.measures.symbolic import COST_ALARM, COST_MISS, N, Symbol, cost_per_case, traced
from heldout.report.interval_chart import estimate_cells
from heldout.results.evaluation import Evaluation
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Facts,
    Note,
    Number,
    Prose,
    Section,
    Table,
    Title,
    head_columns,
    head_interval,
)
from heldout.show.escape import visible
from heldout.show.explorer import POSITION, Expression
from heldout.show.numbers import count
from heldout.show.text_width import shorten

DIRECTIONS = {
    "higher": "higher is better",
    "lower": "lower is better",
    "zero": "nearer to zero is better",
    "none": "describes the cases; neither is better",
}


def catalogue_blocks() -> list[Block]:
    """Every measure: name, symbol, summary."""
    rows = tuple((m.name, m.symbol, m.summary) for m in CATALOGUE.values())
    columns = (Column("measure"), Column("symbol"), Column("what it is", wrap=True))
    return [
        Title("The measures"),
        Table(columns, rows),
        Prose("heldout measures NAME prints one in full. F-scores are written f1, f2, f0.5, or f_score(beta=3)."),
    ]


def measure_blocks(name: str) -> list[Block]:
    """Everything about one measure."""
    measure = find(name).measure
    return [Title(measure.title, measure.symbol), Prose(measure.summary), Facts(entry(measure))]


def entry(measure: Measure) -> tuple[tuple[str, str], ...]:
    """The facts of a measure, in reading order."""
    facts = [
        ("formula", measure.formula),
        ("range", f"{_end(measure.low)} to {_end(measure.high)}, {DIRECTIONS[measure.direction]}"),
        ("undefined", f"when {measure.undefined}"),
        ("of", _made_from(measure)),
        ("interval", _default_method(measure)),
        ("also called", ", ".join(measure.aliases) or "-"),
        ("reference", measure.reference),
    ]
    if measure.parameters:
        settled = ", ".join(f"{key} = {value:g}" for key, value in measure.parameters.items())
        facts.insert(1, ("parameters", settled))
    return tuple(facts)


def _default_method(measure: Measure) -> str:
    if measure.scope == "cases":
        return f"{BOOTSTRAP}, or {BY_GROUPS} where there are groups"
    return default_count_method(measure) if measure.name in COUNTED else default_score_method(measure)


def _made_from(measure: Measure) -> str:
    if measure.scope == "cases":
        return f"the {'scores' if 'score' in measure.cells else 'predicted classes'} of all cases"
    if measure.scope == "ranking":
        return "the scores of the positive class, or of each class against the rest"
    if measure.scope in ("pairs", "probability"):
        return "one score per class" if measure.scope == "pairs" else "probabilities"
    parts = ["all cases"] if measure.scope == "table" or measure.overall else []
    if measure.per_class:
        parts.append("each class against the rest")
    if measure.averages:
        parts.append("macro, micro and weighted averages")
    return "; ".join(parts)


def _end(value: float) -> str:
    return ("-" if value < 0 else "") + "∞" if math.isinf(value) else f"{value:g}"


SEVERITIES = {"act": "to act on", "know": "to know"}


def rules_blocks() -> list[Block]:
    """Every rule: code, what it is about, severity, title."""
    rows = tuple((rule.code, rule.about, SEVERITIES[rule.severity], rule.title) for rule in RULE_CATALOGUE.values())
    columns = head_columns("code", "about", "severity", Column("what it finds", wrap=True))
    return [
        Title("The rules"),
        Table(columns, rows),
        Prose("heldout explain CODE prints one in full; --ignore CODE (in Python ignore=) leaves one out."),
        Prose(
            "heldout evaluate or check --limit CODE.NAME=VALUE (in Python limits=) changes a limit of a rule about "
            "evaluations."
        ),
    ]


def rule_blocks(code: str) -> list[Block]:
    """Everything about one rule."""
    rule = find_rule(code)
    summary = " ".join(filter(None, (rule.summary, rule.why)))
    return [Title(f"{rule.code}  {rule.title}"), Prose(summary), Facts(rule_entry(rule))]


def rule_entry(rule: Rule) -> tuple[tuple[str, str], ...]:
    """The facts of a rule, in reading order."""
    return (
        ("about", f"every {rule.about}"),
        ("severity", SEVERITIES[rule.severity]),
        ("advice", rule.advice),
        *((f"limit {limit.name}", f"{limit.default:g} ({limit.source})") for limit in rule.limits),
        ("reference", rule.reference),
        *((("erratum", f"{rule.erratum} (docs/errata.md)"),) if rule.erratum else ()),
        ("ignore", f"--ignore {rule.code}, ignore={rule.code!r}"),
    )


# How tightly an operator binds, and how it is written between its operands.
BINDING: Mapping[str, tuple[int, str]] = {"+": (1, " + "), "-": (1, " − "), "*": (2, " · "), "/": (3, " / ")}
ATOM = 9


def put_in(expression: Expression, numbers: Mapping[str, float]) -> str:
    """The expression with its numbers put in, as a person would write it.

    >>> put_in(("/", "tp", ("+", "tp", "fn")), {"tp": 165, "fn": 119})
    '165 / (165 + 119)'
    """
    return worded(
        expression, {name: f"({count(value)})" if value < 0 else count(value) for name, value in numbers.items()}
    )


def worded(expression: Expression, words: Mapping[str, str]) -> str:
    """The expression with these words for its names.

    >>> worded(("/", "tp", ("+", "tp", "fn")), {"tp": "TP", "fn": "FN"})
    'TP / (TP + FN)'
    """
    return _written(expression, words)[0]


def _written(expression: Expression, words: Mapping[str, str]) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    if isinstance(expression, str):
        return words[expression], ATOM
    if not isinstance(expression, tuple | list):
        return f"{float(expression):g}", ATOM
    operator, *operands = expression
    if operator not in BINDING:
        inside = ", ".join(_written(part, words)[0] for part in operands)
        return (f"−{_bracketed(operands[0], words, ATOM)}", 2) if operator == "neg" else (f"{operator}({inside})", ATOM)
    strength, sign = BINDING[operator]
    left, right = operands
    # What is divided is bracketed unless it is a single number, on both sides: a slash on one line misleads easily.
    first = _bracketed(left, words, ATOM if operator == "/" else strength)
    second = _bracketed(right, words, {"/": ATOM, "-": strength + 1}.get(operator, strength))
    return f"{first}{sign}{second}", strength


def _bracketed(expression: Expression, words: Mapping[str, str], least: int) -> str:
    text, strength = _written(expression, words)
    return text if strength >= least else f"({text})"


# Rows of single classes in one section.
SHOWN_CLASSES = 40
# What the rest of a method's name means, of which a number stands for itself.
QUALIFIERS: Mapping[str, str] = {
    "over folds": "For the mean over folds, from what each fold tells.",
    "effective n": "With as many cases as would tell as much if all had the same weight.",
    "n/": "As with so many times fewer cases, because the models depend on each other.",
    "threshold shift": "Still fewer, because with another training set a model calls each class more or less readily.",
    "groups": "Whole groups are taken as the cases.",
    "bins": "It holds for every order of the scores inside the bins.",
    "at most": "How the classes vary together is not known, so it is as wide as that could make it.",
    "half of the error": "One half of the error is left for other directions than the one along which the limits go.",
}


def section_name(measure: str) -> str:
    """The name of the section that says how a measure was made, for links.

    >>> section_name("f0.5"), section_name("f_score(beta=3)")
    ('how-f0.5', 'how-f_score-beta-3')
    """
    return "how-" + re.sub(r"[^a-z0-9._]+", "-", measure.casefold()).strip("-")


def how_sections(evaluation: Evaluation, estimates: Sequence[Estimate]) -> list[Section]:
    """One folded section for each measure among the estimates, in their order."""
    by_measure: dict[str, list[Estimate]] = {}
    for e in estimates:
        by_measure.setdefault(e.measure, []).append(e)
    return [_section(evaluation, measure, of_measure) for measure, of_measure in by_measure.items()]


def _section(evaluation: Evaluation, name: str, estimates: Sequence[Estimate]) -> Section:
    bound = find(name, costs=evaluation.costs)
    measure = bound.measure
    kept = {"formula", "parameters", "range", "undefined", "also called", "reference"}
    facts = [(key, text) for key, text in entry(measure) if key in kept]
    facts += [("interval", method_words(method)) for method in dict.fromkeys(e.method for e in estimates)]
    shown = [e for e in estimates if e.class_ is None]
    classes = [e for e in estimates if e.class_ is not None]
    blocks: list[Block] = [Prose(measure.summary), Facts(tuple(facts))]
    blocks.append(_table(evaluation, bound, [*shown, *classes[:SHOWN_CLASSES]]))
    if len(classes) > SHOWN_CLASSES:
        blocks.append(Prose(f"{SHOWN_CLASSES} of {len(classes):,} classes."))
    blocks += [Note(f"{e.name}: {e.note}.") for e in shown if e.note]
    rules = dict.fromkeys((e.rule, e.reason, e.reference) for e in estimates if isinstance(e, FoldEstimate))
    blocks += [Note(f"Over folds: {rule}, {reason} ({source}).") for rule, reason, source in rules]
    return Section(bound.title, tuple(blocks), section_name(name), folded=True)


def method_words(method: str) -> str:
    """The name of an interval method, what it does and where it comes from.

    >>> method_words("wilson")
    'wilson: Inverts the score test of a proportion. (Wilson (1927))'
    """
    whole, *rest = method.split(", ")
    name = whole.removesuffix(" over folds")
    if name in METHODS:
        summary, reference = METHODS[name].summary, METHODS[name].reference
    elif name in FOLD_METHODS:
        summary, reference = FOLD_METHODS[name].summary, FOLD_METHODS[name].reference
    else:
        summary, reference = explain_method(name)
    words = [summary, *map(explain_qualifier, ["over folds", *rest] if name != whole else rest)]
    return " ".join(filter(None, [method + (":" if summary else ""), *words, f"({reference})" if reference else ""]))


def explain_qualifier(text: str) -> str:
    """What follows the name of a method, such as "n/1.5", in words; empty where nothing is known of it."""
    return QUALIFIERS.get("n/" if text.startswith("n/") else text, "")


def _table(evaluation: Evaluation, bound: Bound, estimates: Sequence[Estimate]) -> Table:
    counted = bound.measure.name in COUNTED
    rows: list[tuple[Cell, ...]] = [
        (
            _of(e),
            counts_put_in(evaluation.confusion, bound, e) if counted else _behind(evaluation, e),
            *estimate_cells(e)[:2],
            Number(float(e.n), "count"),
        )
        for e in estimates
    ]
    columns = head_columns("of", Column("counts put in", wrap=True), ">value", head_interval(evaluation.level), ">n")
    return Table(columns, tuple(rows))


def _of(e: Estimate) -> str:
    if e.class_ is not None:
        return shorten(visible(str(e.class_)), 60)
    return f"{e.average} average" if e.average else "all cases"


def counts_put_in(confusion: Confusion, bound: Bound, e: Estimate) -> str:
    """The formula with the counts of an estimate put in: "165 / (165 + 119)"."""
    if e.average in ("macro", "weighted"):
        weighted = ", each by its cases" if e.average == "weighted" else ""
        return f"mean over {confusion.n_classes:,} classes{weighted}"
    if WHOLE_TABLE in bound.measure.cells:
        return "the whole table"
    if e.class_ is None and e.average is None and bound.measure.overall:
        return f"mean {find(bound.measure.overall).title} over {confusion.n_classes:,} classes"
    if e.class_ is not None:
        numbers = class_cells(*confusion.corners[confusion.index(e.class_)].tolist())
    elif e.average == "micro":
        numbers = micro_cells(float(confusion.hits.sum()), confusion.wrong, confusion.n_classes)
    else:
        numbers = class_cells(0, 0, 0, 0)
        numbers.update(evidence_cells(bound.measure, confusion, bound.costs))
    try:
        expression = traced(bound, {name: Symbol(name) for name in bound.measure.cells})
    except OptionError:
        return ", ".join(f"{name} = {count(float(numbers[name]))}" for name in bound.measure.cells)
    return put_in(expression, {name: float(numbers[name]) for name in bound.measure.cells})


def _behind(evaluation: Evaluation, e: Estimate) -> str:
    """What a measure of scores or of the cases was made from."""
    if find(e.measure).measure.scope == "cases":
        return f"{count(evaluation.confusion.n_cases)} cases"
    if e.class_ is None or e.class_ not in evaluation.confusion.labels:
        return f"the scores of {count(evaluation.confusion.n_cases)} cases"
    index = evaluation.confusion.index(e.class_)
    positives = float(evaluation.confusion.truth_totals[index])
    return (
        f"the scores of {count(positives)} positives and {count(float(evaluation.confusion.n) - positives)} negatives"
    )


NET: Expression = net_formula(*map(Symbol, ("tp", "fp", N, POSITION))).expression
NET_SECTION, COST_SECTION = "how-net-benefit", "how-cost-per-case"
# One for every error, as long as nobody said what errors cost.
UNIT_COSTS = ((0.0, 1.0), (1.0, 0.0))
# Names as a reader knows them.
READ = {"tp": "TP", "fn": "FN", "fp": "FP", "tn": "TN", N: "n", POSITION: "t"}
READ |= {COST_MISS: "cost of a miss", COST_ALARM: "cost of a false alarm"}


def explorer_sections(evaluation: Evaluation) -> list[Section]:
    """The sections that the explorer's own figures lead to."""
    sections = [_cost()] if evaluation.costs is None else []
    if evaluation.scores is not None and evaluation.scores.evidence.probabilities is not None:
        sections.append(_net_benefit())
    return sections


def _net_benefit() -> Section:
    facts = (
        ("formula", f"{worded(NET, READ)}, t the threshold"),
        ("range", "-∞ to 1, higher is better; 0 is acting on nobody"),
        ("interval", "the band of the decision curve"),
        ("reference", "Vickers & Elkin (2006), Decision curve analysis"),
    )
    meaning = "True positives per case, less false positives weighed as the threshold weighs them."
    return Section("net benefit", (Prose(meaning), Facts(facts)), NET_SECTION, folded=True)


def _cost() -> Section:
    facts = (
        ("formula", worded(cost_per_case(0, UNIT_COSTS), READ)),
        ("range", "0 to ∞, lower is better"),
        ("reference", CATALOGUE["expected_cost"].reference),
    )
    meaning = (
        "Mean cost of a case. No costs were given: an error counts 1 until you change it, a right prediction nothing."
    )
    return Section("cost per case", (Prose(meaning), Facts(facts)), COST_SECTION, folded=True)
