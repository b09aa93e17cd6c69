"""How the figures are made that only the moved threshold shows: net benefit, and a cost where none was given."""

from __future__ import annotations

from heldout.curves.decision import net_formula
from heldout.measures.catalogue import CATALOGUE
from heldout.measures.moved_names import COST_ALARM, COST_MISS, N
from heldout.measures.traced import Symbol, cost_per_case
from heldout.report.page_view import PageView
from heldout.show.blocks import Facts, Prose, Section
from heldout.show.explorer import POSITION, Expression
from heldout.show.formula_words import worded

NET: Expression = net_formula(*map(Symbol, ("tp", "fp", N, POSITION))).expression
NET_SECTION, COST_SECTION = "how-net-benefit", "how-cost-per-case"
# One for every error, as long as nobody said what errors cost.
UNIT_COSTS = ((0.0, 1.0), (1.0, 0.0))
# Names as a reader knows them.
READ = {"tp": "TP", "fn": "FN", "fp": "FP", "tn": "TN", N: "n", POSITION: "t"}
READ |= {COST_MISS: "cost of a miss", COST_ALARM: "cost of a false alarm"}


def explorer_sections(view: PageView) -> list[Section]:
    """The sections that the explorer's own figures lead to."""
    sections = [_cost()] if view.costs is None else []
    if view.scores is not None and view.scores.evidence.probabilities is not None:
        sections.append(_net_benefit())
    return sections


def _net_benefit() -> Section:
    facts = (
        ("formula", f"{worded(NET, READ)}, t the threshold"),
        ("range", "-∞ to 1, higher is better; 0 is acting on nobody"),
        ("interval", "the band of the decision curve"),
        ("reference", "Vickers & Elkin (2006), Decision curve analysis"),
    )
    said = "True positives per case, less false positives weighed as the threshold weighs them."
    return Section("net benefit", (Prose(said), Facts(facts)), NET_SECTION, folded=True)


def _cost() -> Section:
    facts = (
        ("formula", worded(cost_per_case(0, UNIT_COSTS), READ)),
        ("range", "0 to ∞, lower is better"),
        ("reference", CATALOGUE["expected_cost"].reference),
    )
    said = "Mean cost of a case. No costs were given: an error counts 1 until you change it, a right answer nothing."
    return Section("cost per case", (Prose(said), Facts(facts)), COST_SECTION, folded=True)
