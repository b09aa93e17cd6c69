"""From evidence to estimates: which interval method a quantity gets, and running it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.intervals.cluster_errors import effective_scale, kish_worth
from heldout.intervals.dependence import Dependence, refuse_independent_rows
from heldout.intervals.draws import DRAWN_LEVEL, Draws, can_draw_tables
from heldout.intervals.estimate import NO_INTERVAL, ONE_GROUP, ClassEstimates, Estimate, join_notes, round_cases
from heldout.intervals.methods import METHODS, Method, find_method, hold, settle_wilson
from heldout.intervals.target import Axis, Subject
from heldout.intervals.threshold_shift import shift_ratio
from heldout.measures.catalogue import find
from heldout.measures.declare import Kind, Measure
from heldout.measures.quantity import Bound, Quantity, note_class_order, per_class, settle_averages, settle_classes
from heldout.show.blocks import Style
from heldout.show.escape import visible
from heldout.show.text_width import shorten
from heldout.threads import cached_property
from heldout.values import state_of

# With this many cases behind each of TP, FN, FP and TN the posterior is as good as normal: its limits and those of the
# closed form differ by less than the draws' own error.
PLENTY = 400


@dataclass(frozen=True)
class Estimator:
    """Makes estimates from one body of evidence, all at one level and from one seed.

    `plan` says how the predictions depend on each other where they were made by the models of a resampling plan. Where
    `one_sided`, each end of a default interval keeps the level by itself, as gates need it.

    >>> seen = Confusion.of([[10, 1], [2, 35]], ["+", "-"])
    >>> print(Estimator(seen).ask(Quantity(find("accuracy"))))
    accuracy .938 [.832 – .979] (0.95 wilson, n = 48)
    """

    confusion: Confusion
    level: float = 0.95
    seed: int = 0
    replicates: int = 2000
    method: Method | None = None
    plan: Dependence | None = None
    one_sided: bool = False

    __getstate__ = state_of

    @cached_property
    def _draws(self) -> dict[float, Draws]:
        return {}

    @cached_property
    def _of_classes(self) -> dict[tuple[str, str], ClassEstimates]:
        return {}

    def drawn(self, scale: Any = 1.0) -> Draws:
        """Random tables that all quantities of one scale share."""
        draws = self._draws.get(scale) if isinstance(scale, float) else None
        if draws is None:
            draws = Draws(self.confusion, self.seed, self.replicates, scale=scale, level=self.level)
            if isinstance(scale, float):
                self._draws[scale] = draws
        return draws

    def default(self, subject: Subject) -> Method:
        """The method that kept its promise best for this kind of quantity in simulation."""
        grouped = self.confusion.clusters is not None
        default = METHODS["cluster-logit" if grouped else _default_name(subject, self.level)]
        if not (self.one_sided and default.one_sided):
            return default
        guarded = METHODS[default.one_sided]
        # Tables of very many classes are not drawn.
        if guarded.applies(subject) or not subject.bound.measure.bounded:
            return guarded if guarded.applies(subject) else default
        return METHODS["effective-clopper-pearson"]

    def chosen(self, subject: Subject) -> Method:
        """The method asked for where it applies, otherwise the default."""
        asked = self.method
        if asked is not None and asked.applies(subject) and (asked.groups or self.confusion.clusters is None):
            return asked
        return self.default(subject)

    def ask(self, quantity: Quantity, method: str | None = None) -> Estimate:
        """One estimate; a method named here must apply."""
        subject = self.subject(quantity)
        used = self.chosen(subject) if method is None else find_method(method)
        if method is not None:
            self._must_apply(used, subject)
        if quantity.class_ is not None:
            return self._each(subject, used)[self.confusion.index(quantity.class_)]
        return self.estimates(subject, used, quantity.bound)[0]

    def settle(self, bounds: Sequence[Bound]) -> None:
        """Work out together what will be asked for of many measures one by one, which of few classes is quicker."""
        of_class = [bound for bound in bounds if bound.measure.averages or bound.measure.per_class]
        settle_classes(of_class, self.confusion)
        for average in ("macro", "weighted"):
            settle_averages((bound for bound in of_class if bound.measure.averages), average, self.confusion)
        as_they_are = self.plan is None and not self.confusion.weighted and self.confusion.clusters is None
        if self.method is None and as_they_are:
            rates = (bound for bound in of_class if default_count_method(bound.measure) == "wilson")
            settle_wilson(rates, self.confusion, self.level)

    def _each(self, subject: Subject, method: Method) -> ClassEstimates:
        """The estimates of all classes, found once: whoever asks for one class asks for others too."""
        key = subject.bound.name, method.name
        if key not in self._of_classes:
            estimates = self.estimates(subject, method, subject.bound)
            if not isinstance(estimates, ClassEstimates):
                message = "the classes are asked for on the axis of classes"
                raise TypeError(message)
            self._of_classes[key] = estimates
        return self._of_classes[key]

    def _must_apply(self, method: Method, subject: Subject) -> None:
        grouped = self.confusion.clusters is not None
        if not method.applies(subject):
            fitting = [m.name for m in METHODS.values() if m.applies(subject) and (m.groups or not grouped)]
            raise OptionError(
                f"The method {method.name!r} does not apply to {_called(subject)}.",
                hint=f"use one of: {listing(fitting, most=20)}.",
            )
        if grouped and not method.groups:
            raise refuse_independent_rows(
                method.name, "use 'cluster-logit' or 'cluster-bootstrap', or leave out group."
            )

    def subject(self, quantity: Quantity) -> Subject:
        """The quantity as methods see it."""
        axis: Axis = "class" if quantity.class_ is not None else (quantity.average or "table")
        bound = quantity.bound
        if bound.measure.total:
            return Subject(find(bound.measure.total, costs=bound.costs), self.confusion, "table")
        if axis == "table" and bound.measure.overall:
            return Subject(find(bound.measure.overall), self.confusion, "macro", strict=True)
        return Subject(bound, self.confusion, axis)

    def classes(
        self, bound: Bound, method: str | None = None, among: NDArray[np.int64] | None = None
    ) -> list[Estimate]:
        """One estimate per class, or of the classes at the places `among`; a method named here must apply."""
        subject = Subject(bound, self.confusion, "class")
        used = self.chosen(subject) if method is None else find_method(method)
        if method is not None:
            self._must_apply(used, subject)
        estimates = self._each(subject, used)
        return list(estimates) if among is None else estimates.taken(among)

    def check(self) -> None:
        """Refuse a method that takes rows as independent where they come in groups, or needs groups without any."""
        grouped = self.confusion.clusters is not None
        if self.method is not None and self.method.groups != grouped:
            raise OptionError(
                f"The method {self.method.name!r} is for {'grouped' if self.method.groups else 'independent'} rows, "
                f"and the cases {'come in groups' if grouped else 'have no groups'}.",
                hint="use 'cluster-logit' or 'cluster-bootstrap' with group, any other method without.",
            )

    def estimates(self, subject: Subject, method: Method, bound: Bound) -> Sequence[Estimate]:
        """Run a method: one estimate, or one per class on the axis of classes."""
        name = method.name
        trials = subject.trials
        if trials is not None and self.confusion.weighted:
            # As many as there are rows behind the denominator, whatever they weigh.
            trials = replace(subject, confusion=self.confusion.of_rows).trials
        note = self._note(subject)
        scale: Any = 1.0
        if self.confusion.weighted and not method.groups:
            scale, name = effective_scale(subject), f"{name}, effective n"
        if self.plan is not None and self.plan.factor != 1:
            shared = self.plan.scale(bound.measure, subject.axis)
            scale, name = scale * shared, f"{name}, n/{1 / shared:g}"
            if self.plan.shifts(bound.measure, subject.axis):
                scale, name = scale / (1 + shift_ratio(subject)), f"{name}, threshold shift"
        if name != method.name:
            subject = subject.scaled(scale)
        low, high = method.find(subject, self.level, self.drawn(scale))
        if self.plan is not None and self.plan.refused:
            low, high, name = np.full(np.shape(low), np.nan), np.full(np.shape(high), np.nan), NO_INTERVAL
        size: Any = trials[1] if trials is not None else self.confusion.n_cases
        style: Style = "share" if bound.measure.bounded else "plain"
        if subject.axis != "class":
            return [self._whole(subject, bound, (float(low), float(high)), name, round_cases(size), note, style)]
        values = np.asarray(subject.value, dtype=np.float64)
        if name != NO_INTERVAL:
            # Scaled counts give the value but for rounding, which must not put it outside; fmin passes over nan.
            low, high = np.fmin(low, values), np.fmax(high, values)
        sizes = size if np.ndim(size) else np.full(len(values), size)
        return ClassEstimates(
            bound.name, self.confusion.labels, values, np.asarray(low), np.asarray(high), sizes, self.level, name,
            bound.measure.undefined, note, style,
        )  # fmt: skip

    def _whole(
        self, subject: Subject, bound: Bound, ends: tuple[float, float], name: str, size: float, note: str, style: Style
    ) -> Estimate:
        """The estimate of one number."""
        value = float(subject.value)
        low, high = ends if name == NO_INTERVAL else hold(value, *ends)
        if bound.measure.total:
            # The number of cases is given, so the total is that many times the mean.
            value, low, high = (part * self.confusion.n for part in (value, low, high))
        undefined = bound.measure.undefined if math.isnan(value) else ""
        average = None if bound.measure.overall or subject.axis == "table" else subject.axis
        return Estimate(bound.name, None, average, value, low, high, self.level, name, size, undefined, note, style)

    def _note(self, subject: Subject) -> str:
        clusters = self.confusion.clusters
        lonely = ONE_GROUP if clusters is not None and clusters.number < 2 else ""
        refused = "" if self.plan is None else self.plan.refused
        order = note_class_order(subject.bound.measure, self.confusion.labels)
        return join_notes(_left_out(subject), lonely, refused, order)


# The default of each kind of measure, of one class or of all cases; averages have their own below.
DEFAULTS: dict[Kind, str] = {
    "proportion": "wilson",
    "f": "score",
    "ratio": "score",
    "odds": "score",
    "cost": "score",
    "agreement": "dirichlet",
}


def default_count_method(measure: Measure) -> str:
    """What the default interval of a measure of counts is called, of one class or of all cases.

    >>> from heldout.measures.catalogue import find
    >>> default_count_method(find("recall").measure), default_count_method(find("no_information_rate").measure)
    ('wilson', 'largest-share')
    """
    return "largest-share" if measure.of_commonest else DEFAULTS[measure.kind]


def _default_name(subject: Subject, level: float) -> str:
    kind, usual = subject.bound.measure.kind, default_count_method(subject.bound.measure)
    if usual == "largest-share":
        return usual
    if subject.axis == "micro" or (kind == "proportion" and subject.trials is not None):
        return "wilson"
    if subject.axis in ("class", "table") and kind != "agreement":
        return usual
    if subject.confusion.n_classes != 2 and METHODS["stratified-wilson"].applies(subject):
        return "stratified-wilson"
    # A measure without bounds (a user's own formula may have none) gets the delta method in closed form.
    closed = "effective-wilson" if subject.bound.measure.bounded else "logit"
    if subject.confusion.n_classes == 1 and subject.axis != "class":
        # A table of one cell has no spread to draw; its one class has.
        return closed
    is_class = subject.axis == "class"
    drawn = level <= DRAWN_LEVEL if is_class else can_draw_tables(subject.confusion.n_classes, level)
    return "dirichlet" if drawn and not _plenty(subject.confusion) else closed


def _plenty(confusion: Confusion) -> bool:
    """Whether every class has so many cases of each of the four outcomes that the closed form needs no draws."""
    memo = confusion.memo
    if "plenty" not in memo:
        # Weights count as the equally weighted cases that they are worth, whatever their unit.
        memo["plenty"] = bool(confusion.corners.min() * kish_worth(confusion) >= PLENTY)
    plenty: bool = memo["plenty"]
    return plenty


def _left_out(subject: Subject) -> str:
    """A sentence where an average leaves out classes."""
    if subject.axis not in ("macro", "weighted") or subject.strict:
        return ""
    values = per_class(subject.bound, subject.confusion)
    absent = np.flatnonzero(np.isnan(values))
    if subject.axis == "weighted":
        absent = absent[subject.confusion.truth_totals[absent] > 0]
    if not len(absent):
        return ""
    # Only those that are shown are made fit to be shown: there may be a million.
    shown = [shorten(visible(str(subject.confusion.labels[i])), 40) for i in absent[:3].tolist()]
    names = listing([*shown, *absent[3:].tolist()], most=3)
    return (
        f"averaged over {len(values) - len(absent):,} of {len(values):,} classes; "
        f"left out, because {subject.bound.measure.undefined}: {names}"
    )


def _called(subject: Subject) -> str:
    name = subject.bound.name
    return name if subject.axis in ("class", "table") else f"{subject.axis} {name}"
