"""The report of a plan: the answer, what it rests on, and what fewer or more cases would come to."""

from __future__ import annotations

import math

from heldout.arguments import capitalize
from heldout.result import Form
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
    provenance_section,
)
from heldout.show.chart import Axis, Chart, Dots, Stroke
from heldout.show.numbers import number
from heldout.studies.study_plan import StudyPlan

NAMES = {"width": "mean width", "power": "power", "assurance": "assurance"}


def render_study_plan(plan: StudyPlan, form: Form) -> list[Block]:
    """The report on a screen or as a page."""
    blocks: list[Block] = [
        Title(f"Plan of a test set for {plan.what}"),
        Prose(plan.sentence, "Plan"),
        Facts(tuple((name.replace("_", " "), number(value, "plain")) for name, value in plan.assumed.items())),
    ]
    if form != "page":
        return [*blocks, _table(plan), *(Note(note) for note in plan.notes)]
    facts = (("level", f"{plan.level:g}"), ("method", plan.method), ("goal", plan.goal))
    around = Section("What fewer or more cases come to", (draw_study_plan(plan), _table(plan)), "around")
    return [*blocks, around, *(Note(note) for note in plan.notes), provenance_section(facts)]


def _table(plan: StudyPlan) -> Table:
    share = None if plan.positives is None else plan.positives / plan.n
    size = None if plan.groups is None else plan.n / plan.groups
    columns = [Column("", "left"), Column("cases", "right")]
    columns += [] if share is None else [Column("positives", "right")]
    columns += [] if size is None else [Column("groups", "right")]
    columns.append(Column(NAMES[plan.goal], "right"))
    rows: list[tuple[Cell, ...]] = []
    for n, reached in plan.curve:
        cells: list[Cell] = ["→" if n == plan.n else "", n]
        cells += [] if share is None else [round(n * share)]
        cells += [] if size is None else [math.ceil(n / size)]
        rows.append((*cells, Number(reached)))
    return Table(tuple(columns), tuple(rows))


def draw_study_plan(plan: StudyPlan) -> Chart:
    """What is reached over the number of cases."""
    sizes, reached = [float(n) for n, _ in plan.curve], [one for _, one in plan.curve]
    places = tuple(math.log10(size) for size in sizes)
    ceiling = 1.0 if plan.goal != "width" else 1.08 * max(reached)
    ticks = tuple((at, f"{int(size):,}") for at, size in zip(places, sizes, strict=True))
    name = NAMES[plan.goal]
    target = Stroke((places[0], places[-1]), (plan.target, plan.target), "asked for", "quiet", dashed=True)
    return Chart(
        f"{capitalize(name)} over the number of cases",
        f"The {name} for {plan.what} goes from {number(reached[0])} with {int(sizes[0]):,} cases to "
        f"{number(reached[-1])} with {int(sizes[-1]):,}. {plan.sentence}",
        Axis("Cases", places[0], places[-1], ticks),
        Axis(capitalize(name), 0.0, ceiling),
        (Stroke(places, tuple(reached), name), *(() if math.isnan(plan.target) else (target,))),
        (),
        (Dots((math.log10(plan.n),), (plan.reached,)),),
        "",
        "wide",
        None,
        ("cases", name),
        tuple(plan.curve),
    )
